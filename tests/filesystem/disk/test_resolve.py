"""Nothing leads out of the root, and the kernel and the walk agree about everything else."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.states import state_of

from wink.errors import PathRefused, RecordCorrupt
from wink.filesystem.disk._store import DiskStore
from wink.filesystem.disk._syscalls import has_openat2


@pytest.fixture
def outside(tmp_path: Path, tree: Path) -> Path:
    """A directory that must stay as it is, with links to it from everywhere."""
    secret = tmp_path / "outside"
    secret.mkdir()
    (secret / "secret.txt").write_bytes(b"secret")
    (tree / "up").symlink_to("../outside")
    (tree / "up-file").symlink_to("../outside/secret.txt")
    (tree / "absolute").symlink_to(secret)
    (tree / "absolute-inside").symlink_to(tree / "src")
    (tree / "src/deep").symlink_to("../../outside")
    (tree / "chain").symlink_to("src/deep")
    (tree / "dangling").symlink_to("src/nothing")
    (tree / "loop").symlink_to("loop")
    (tree / "loop-one").symlink_to("loop-two")
    (tree / "loop-two").symlink_to("loop-one")
    (tree / "inside").symlink_to("src/../src/./a/")
    (tree / "src/root").symlink_to("..")
    return secret


@pytest.mark.parametrize(
    "path",
    [
        "up/secret.txt", "up-file", "absolute/secret.txt", "absolute-inside/a/1.txt", "src/deep/secret.txt",
        "chain/secret.txt", "loop", "loop-one", "loop/x", "src/root/up/secret.txt", "src/root/../outside",
    ],
)  # fmt: skip
def test_links_that_lead_out_are_refused(store: DiskStore, outside: Path, path: str) -> None:
    """For reading, looking and writing, at the end of a path and on the way."""
    change_set = store.begin("tx")
    for attempt in (
        lambda: store.open(path),
        lambda: store.node(path),
        lambda: change_set.put(path, b"x"),
        lambda: change_set.chmod(path, 0o777),
        lambda: list(store.scan(path)),
    ):
        with pytest.raises(PathRefused) as refused:
            attempt()
        assert refused.value.path == refused.value.filename == path

    assert [p.name for p in outside.iterdir()] == ["secret.txt"]
    assert (outside / "secret.txt").read_bytes() == b"secret"
    assert change_set.position == 0


def test_links_that_stay_inside_are_followed(store: DiskStore, outside: Path, tree: Path) -> None:
    """Writing through a link changes its target and leaves the link."""
    change_set = store.begin("tx")
    stream, _ = store.open("inside/1.txt")
    with stream:
        assert stream.read() == b"1 " * 45
    assert store.read("src/root/link")[0] == b"1 " * 45
    assert sorted(store.scan("inside")) == sorted(store.scan("src/a"))

    change_set.put("src/root/link", b"through")
    change_set.put("inside/new.txt", b"new")

    assert (tree / "src/a/1.txt").read_bytes() == b"through"
    assert (tree / "link").is_symlink()
    assert [change.path for change in change_set.changes()] == ["src/a/1.txt", "src/a/new.txt"]


def test_a_dangling_link_is_not_written_through(store: DiskStore, outside: Path, tree: Path) -> None:
    """It would make a file somewhere that nobody named."""
    change_set = store.begin("tx")
    with pytest.raises(PathRefused, match="leads to nothing"):
        change_set.put("dangling", b"x")
    with pytest.raises(FileExistsError):
        change_set.put("dangling", b"x", exclusive=True)
    with pytest.raises(FileNotFoundError):
        store.node("dangling")
    assert store.node("dangling", follow=False).target == "src/nothing"

    change_set.delete("dangling")
    change_set.delete("up")
    assert not (tree / "up").is_symlink()
    assert (outside / "secret.txt").exists()


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("nothing", FileNotFoundError), ("nothing/below", FileNotFoundError), ("top.txt/below", NotADirectoryError),
        ("src", IsADirectoryError), ("", IsADirectoryError), ("n" * 256, OSError),
    ],
)  # fmt: skip
def test_errors_are_pythons_own_and_name_the_workspaces_path(store: DiskStore, path: str, error: type) -> None:
    """No path of the host is told to a model."""
    with pytest.raises(error) as told:
        store.open(path)
    assert told.value.filename == (path or ".")
    assert told.value.filename2 is None


def test_special_files_are_refused_without_waiting(store: DiskStore, tree: Path) -> None:
    """A FIFO without a writer would block for ever."""
    os.mkfifo(tree / "fifo")
    server = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    try:
        os.chdir(tree)
        server.bind("socket")
    finally:
        os.chdir(here)
    change_set = store.begin("tx")

    for name in ("fifo", "socket"):
        with pytest.raises(PathRefused, match="not a regular file"):
            store.open(name)
        with pytest.raises(PathRefused, match="not a regular file"):
            change_set.put(name, b"x")
        assert store.node(name).kind == "other"
    server.close()


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/pre-commit", ".GIT/config", "src/.git", "git~1/config", ".wink/wal/x", "src/.wink", ".git /x",
        "alias/hooks/pre-commit", "alias", "src/alias/hooks",
    ],
)  # fmt: skip
def test_protected_places_are_not_written_by_any_name(store: DiskStore, tree: Path, path: str) -> None:
    """A planted hook is run by the next git command, so it counts where a path really leads."""
    (tree / ".git/hooks").mkdir(parents=True)
    (tree / "src/alias").symlink_to("../.git")
    (tree / "alias").symlink_to(".git")
    change_set = store.begin("tx")

    attempts: list[Callable[[], object]] = [lambda: change_set.put(path, b"x"), lambda: change_set.chmod(path, 0o777)]
    if path != "alias":
        attempts += [
            lambda: change_set.mkdir(path),
            lambda: change_set.symlink(path, "x"),
            lambda: change_set.delete(path, recursive=True),
            lambda: change_set.move("top.txt", path, overwrite=True),
            lambda: change_set.move(path, "taken"),
        ]
    for attempt in attempts:
        with pytest.raises(PathRefused):
            attempt()
    assert change_set.position == 0
    assert list((tree / ".git").rglob("*")) == [tree / ".git/hooks"]


def test_the_root_and_what_holds_protected_places_are_not_removed(store: DiskStore, tree: Path) -> None:
    """Deleting a directory must not take somebody's repository with it."""
    (tree / "src/a/vendored/.git").mkdir(parents=True)
    change_set = store.begin("tx")

    for path in ("", "src", "src/a/vendored"):
        with pytest.raises(PathRefused):
            change_set.delete(path, recursive=True)
    with pytest.raises(PathRefused):
        change_set.move("", "elsewhere")

    assert (tree / "src/a/vendored/.git").is_dir()


def test_the_state_is_hidden_wherever_it_lies(tree: Path, variant: dict[str, Any], open_store: Any) -> None:
    """A state directory of another name in the workspace is protected like `.wink`."""
    store = open_store(tree, state=str(tree / "src/own/state"), **variant)
    change_set = store.begin("tx")
    change_set.put("top.txt", b"x")

    assert ("state", "directory") not in list(store.scan("src/own"))
    assert (tree / "src/own/state/wal/journal").exists()
    for attempt in (
        lambda: store.open("src/own/state/wal/journal"),
        lambda: change_set.put("src/own/state/wal/journal", b""),
        lambda: change_set.delete("src/own", recursive=True),
        lambda: change_set.move("src", "elsewhere"),
    ):
        with pytest.raises(PathRefused):
            attempt()
    change_set.undo(0)


def test_the_state_in_the_root_is_hidden(store: DiskStore, tree: Path) -> None:
    """Tools see the workspace as if wink were not there."""
    (tree / "state-link").symlink_to(".wink/.gitignore")
    change_set = store.begin("tx")
    change_set.put("top.txt", b"x")

    assert ".wink" not in dict(store.scan(""))
    assert (state_of(tree) / ".gitignore").read_text() == "*\n"
    for path in (".wink/.gitignore", "state-link"):
        with pytest.raises(PathRefused, match="wink's own"):
            store.open(path)


@pytest.mark.parametrize("is_given", [False, True])
def test_a_state_that_is_a_link_is_not_followed(tree: Path, tmp_path: Path, open_store: Any, is_given: bool) -> None:
    """A workspace may come with a link of that name; that the place is given, as workspaces do, makes it no safer."""
    (tmp_path / "outside").mkdir()
    (tree / ".wink").symlink_to("../outside")

    with pytest.raises((OSError, RecordCorrupt), match="link"):
        open_store(tree, **({"state": str(tree / ".wink")} if is_given else {})).begin("tx").put("top.txt", b"x")

    assert list((tmp_path / "outside").iterdir()) == []
    assert (tree / "top.txt").read_bytes() == b"top\r\n"


def test_the_running_pythons_packages_are_not_written(
    tree: Path, open_store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code planted there would run in the next interpreter."""
    (tree / "venv/lib/site-packages").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tree / "venv/lib/site-packages")])
    change_set = open_store(tree).begin("tx")

    with pytest.raises(PathRefused):
        change_set.put("venv/lib/site-packages/evil.pth", b"import evil")
    with pytest.raises(PathRefused):
        change_set.delete("venv", recursive=True)


def test_swapping_directories_for_links_never_leads_out(store: DiskStore, tree: Path, tmp_path: Path) -> None:
    """The race that beats every check of a path before it is opened."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "1.txt").write_bytes(b"secret")
    (tree / "trap").symlink_to("../outside")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            (tree / "src/a").rename(tree / "src/aside")
            (tree / "trap").rename(tree / "src/a")
            (tree / "src/a").rename(tree / "trap")
            (tree / "src/aside").rename(tree / "src/a")

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for number in range(300):
            try:
                assert store.read("src/a/1.txt")[0] != b"secret"
                change_set = store.begin(f"tx{number}")
                change_set.put("src/a/1.txt", b"by the tool")
                change_set.publish()
            except OSError:
                pass
    finally:
        stop.set()
        swapper.join()

    assert (outside / "1.txt").read_bytes() == b"secret"
    assert [p.name for p in outside.iterdir()] == ["1.txt"]


def test_the_level_in_force_is_told(tree: Path, open_store: Any) -> None:
    """A policy can require one."""
    assert open_store(tree, resolver="walk").level == "walk"
    assert open_store(tree).level == ("openat2" if has_openat2() else "walk")


def test_a_walk_is_not_limited_in_depth(tree: Path, variant: dict[str, Any], open_store: Any) -> None:
    """Deep trees are read, changed and removed without running out of descriptors or stack."""
    deep = "/".join(["d"] * 400)
    os.makedirs(tree / deep)
    (tree / deep / "leaf.txt").write_bytes(b"leaf")
    (tree / "deep-link").symlink_to("d/" * 200)
    store = open_store(tree, **variant)

    assert store.read(f"{deep}/leaf.txt")[0] == b"leaf"
    assert store.node("deep-link").kind == "directory"
    change_set = store.begin("tx")
    change_set.put(f"{deep}/leaf.txt", b"changed")
    change_set.delete("d", recursive=True)
    assert len(change_set.changes()) == 401
    change_set.publish()
    store.discard_preimages("tx")
    assert os.listdir(state_of(tree) / "staged") == []
