"""What programs did to a copy is in the layer as if the kernel had put it there, after one program, after two, and after a kill."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from plugins.sandbox.tests.conftest import Place
from plugins.sandbox.tests.test_exactness import changed_by, described, programs

from wink.errors import MergeConflict
from wink_sandbox import (
    CopyLost,
    CopyOfTry,
    Overlay,
    differences,
    forget_copies,
    is_unsettled,
    merge,
    remove_tree,
    walk_tree,
)


@contextmanager
def began(place: Place, overlay: Overlay) -> Iterator[CopyOfTry]:
    """A program's copy, until it has ended."""
    overlay.open()
    try:
        copy = CopyOfTry(overlay)
        copy.begin()
        yield copy
        copy.end()
    finally:
        overlay.close()


def accept(place: Place, overlay: Overlay) -> None:
    """Make it all the workspace's."""
    part = place.files.begin()
    place.files.turns.acquire(10)
    try:
        merge(differences(overlay), part, keep=True)
        part.prepare()
        part.publish()
    except BaseException:
        part.undo()
        raise
    finally:
        place.files.turns.release()


def seen_in(copy: CopyOfTry) -> Path:
    return Path(copy.shown.upper)


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs, programs, programs)
def test_it_leaves_what_plain_runs_would_have_left(before: list[Any], first: list[Any], second: list[Any]) -> None:
    """For any tree and any two programs of one try; nothing of it is in the workspace before it is accepted."""
    before, first, second = ([step for step in steps if step[0] != "link"] for steps in (before, first, second))
    with tempfile.TemporaryDirectory() as directory:
        root, plain = Path(directory, "workspace"), Path(directory, "plain")
        root.mkdir()
        changed_by(before, root)
        shutil.copytree(root, plain, symlinks=True)
        place, original = Place(root), described(root)
        overlay = place.overlay()
        for program in (first, second):
            with began(place, overlay) as copy:
                assert described(seen_in(copy)) == described(plain)
                changed_by(program, seen_in(copy))
            changed_by(program, plain)
            assert described(root) == original
        accept(place, overlay)
        assert described(root) == described(plain)
        # The next program of the same try sees what there is.
        with began(place, overlay) as copy:
            assert described(seen_in(copy)) == described(plain)
        place.files.close()


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs, programs)
def test_looking_again_after_a_kill_changes_nothing(before: list[Any], program: list[Any]) -> None:
    """Wink may die at any time between a program's end and the last thing that it did to the layer."""
    before, program = ([step for step in steps if step[0] != "link"] for steps in (before, program))
    with tempfile.TemporaryDirectory() as directory:
        root, plain = Path(directory, "workspace"), Path(directory, "plain")
        root.mkdir()
        changed_by(before, root)
        shutil.copytree(root, plain, symlinks=True)
        place = Place(root)
        overlay = place.overlay()
        with began(place, overlay) as copy:
            changed_by(program, seen_in(copy))
            kept = {name: Path(copy.shown.directory, name).read_bytes() for name in ("index.json", "runs")}
            copy.end()
            for name, content in kept.items():
                Path(copy.shown.directory, name).write_bytes(content)
            assert is_unsettled(overlay)
        changed_by(program, plain)
        assert not is_unsettled(overlay)
        accept(place, overlay)
        assert described(root) == described(plain)
        place.files.close()


def test_only_what_has_changed_is_copied_again(place: Place) -> None:
    """By inodes and times in the copy: a file that is copied gets others."""
    for name in ("same", "theirs", "mine", "gone"):
        (place.root / name).write_text("one\n")
    overlay = place.overlay()
    with began(place, overlay) as copy:
        (seen_in(copy) / "mine").write_text("two\n")
        (seen_in(copy) / "new").write_text("new\n")
        (seen_in(copy) / "gone").unlink()
        before = {name: os.stat(seen_in(copy) / name) for name in os.listdir(seen_in(copy))}
    (place.root / "theirs").write_text("theirs\n")
    with began(place, overlay) as copy:
        after = {name: os.stat(seen_in(copy) / name) for name in os.listdir(seen_in(copy))}
        assert {name for name in before if before[name].st_ctime_ns == after[name].st_ctime_ns} == {
            "same",
            "mine",
            "new",
        }
        assert (seen_in(copy) / "theirs").read_text() == "theirs\n"


def test_what_somebody_else_did_meanwhile_is_a_conflict(place: Place) -> None:
    """A change, a deletion, a new file of the same name, and a file in a directory that the program has deleted."""
    (place.root / "old").mkdir()
    for name in ("a", "b", "old/c", "d"):
        (place.root / name).write_text("one\n")
    overlay = place.overlay()
    with began(place, overlay) as copy:
        for name in ("a", "b", "new"):
            (seen_in(copy) / name).write_text("mine\n")
        shutil.rmtree(seen_in(copy) / "old")
    (place.root / "a").write_text("theirs\n")
    (place.root / "b").unlink()
    (place.root / "new").write_text("theirs\n")
    (place.root / "old/theirs").write_text("theirs\n")
    (place.root / "d").write_text("theirs\n")
    with pytest.raises(MergeConflict) as caught:
        accept(place, overlay)
    assert {"a", "b", "new", "old/theirs"} <= set(caught.value.paths)
    assert "d" not in caught.value.paths


def test_a_large_file_with_holes_takes_no_room(place: Place) -> None:
    """Neither in the copy nor in the layer."""
    with (place.root / "large").open("wb") as file:
        file.truncate(1 << 30)
    overlay = place.overlay()
    with began(place, overlay) as copy:
        large = seen_in(copy) / "large"
        assert (large.stat().st_size, large.stat().st_blocks) < (1 << 30, 1 << 14)
        with large.open("r+b") as file:
            file.seek(1 << 29)
            file.write(b"x")
    made = Path(overlay.upper, "large").stat()
    assert made.st_size == 1 << 30
    assert made.st_blocks * 512 < 1 << 20


def test_what_a_program_says_with_the_kernels_marks_is_not_believed(place: Place) -> None:
    """They would delete, or hide, what the workspace has."""
    (place.root / "kept").mkdir()
    (place.root / "kept/a").write_text("one\n")
    overlay = place.overlay()
    with began(place, overlay) as copy:
        (seen_in(copy) / "kept").chmod(0o711)
    with began(place, overlay) as copy:
        assert os.listxattr(seen_in(copy) / "kept") == []
        os.setxattr(seen_in(copy) / "kept", "user.overlay.opaque", b"y")
        (seen_in(copy) / "kept/new").write_text("")
        os.setxattr(seen_in(copy) / "kept/new", "user.overlay.whiteout", b"y")
    assert {change.path: change.kind for change in differences(overlay).changes()} == {
        "kept": "modified",
        "kept/new": "created",
    }


def test_a_link_in_the_place_of_the_way_to_the_copy_is_not_followed(place: Place) -> None:
    """Neither when it is looked at what the program did, nor when the copy is removed."""
    (place.root / "a").write_text("one\n")
    overlay = place.overlay()
    overlay.open()
    copy = CopyOfTry(overlay, moved=True)
    copy.begin()
    chain = seen_in(copy).parents
    mine = place.root.parent / "mine"
    shutil.copytree(chain[3], mine)
    shutil.rmtree(chain[3])
    chain[3].symlink_to(mine)
    before = described(mine)
    with pytest.raises(CopyLost):
        copy.end()
    forget_copies(overlay.directory)
    overlay.close()
    assert (seen_in(copy) / "a").exists()
    assert described(mine) == before
    shutil.rmtree(chain[9])


@pytest.mark.parametrize("name", ["index.json", "runs"])
@pytest.mark.parametrize("damage", ["text", "link", "FIFO", "gone"])
def test_damaged_notes_are_said_and_lose_nothing(place: Place, name: str, damage: str) -> None:
    """Without them nobody knows what was deleted."""
    (place.root / "a").write_text("one\n")
    overlay = place.overlay()
    with pytest.raises(CopyLost, match="wink drop"), began(place, overlay) as copy:
        (seen_in(copy) / "new").write_text("new\n")
        noted = Path(copy.shown.directory, name)
        noted.rename(noted.with_suffix(".old"))
        if damage == "text":
            noted.write_text('{"a": 1}')
        elif damage == "link":
            noted.symlink_to(noted.with_suffix(".old"))
        elif damage == "FIFO":
            os.mkfifo(noted)
    assert is_unsettled(overlay) == (name != "runs" or damage != "gone")
    assert (seen_in(copy) / "new").read_text() == "new\n"


@pytest.mark.parametrize(
    "way",
    [
        *("absolute", "outside", "link", "shared", "unclear", "shared unclear"),
        *("work tree", "work tree above", "refs", "objects", "objects/pack", "refs/heads", "logs/refs/heads"),
    ],
)
def test_a_git_directory_elsewhere_is_not_in_a_copy_at_another_path(place: Place, way: str) -> None:
    """Git would change it at once, and no accepting would be asked for."""
    git, there = place.root / ".git", place.root.parent / "there.git"
    there.mkdir()
    if way == "link":
        git.symlink_to(there)
    elif "shared" in way:
        git.mkdir()
        (git / "commondir").write_text(f"{there}\n" if way == "shared" else f"{there}\n\0")
    elif way in ("work tree", "work tree above"):
        git.mkdir()
        named = f'"{place.root}"' if way == "work tree" else "../../there.git"
        (git / "config").write_text(f"[core]\n\tbare = false\n\tWorkTree = {named}\n")
    elif way.startswith(("refs", "objects", "logs")):
        (git / way).parent.mkdir(parents=True)
        above = "../" * (way.count("/") + 2)
        (git / way).symlink_to(f"{place.root}/{way}" if way.startswith("refs") else f"{above}there.git")
    elif way == "unclear":
        git.write_text(f"gitdir: {there}\n\0")
    else:
        git.write_text(f"gitdir: {there if way == 'absolute' else '../there.git'}\n")
    (place.root / "lib").mkdir()
    (place.root / "lib/.git").write_text("gitdir: ../modules/lib\n")
    (place.root / "modules/lib").mkdir(parents=True)
    (place.root / "modules/lib/config").write_text("[core]\n\tworktree = ../../lib\n")
    (place.root / "modules/lib/HEAD").symlink_to("refs/heads/main")
    overlay = place.overlay()
    overlay.open()
    copy = CopyOfTry(overlay, moved=True)
    copy.begin()
    assert [path for path, _ in copy.left_out] == [".git"]
    assert sorted(os.listdir(seen_in(copy))) == ["lib", "modules"]
    assert (seen_in(copy) / "lib/.git").exists()
    copy.end()
    overlay.close()
    assert not differences(overlay)


@pytest.mark.parametrize("setting", ["gitdir: /nowhere/there.git\n", "[core]\n\tworktree = /nowhere\n"])
def test_a_git_directory_elsewhere_that_an_earlier_program_has_made_is_in_no_copy_either(
    place: Place, setting: str
) -> None:
    """That one was confined, and the next one is not."""
    overlay = place.overlay()
    with began(place, overlay) as copy:
        git = seen_in(copy) / ".git"
        if setting.startswith("["):
            git.mkdir()
            git = git / "config"
        git.write_text(setting)
    overlay.open()
    moved = CopyOfTry(overlay, moved=True)
    moved.begin()
    assert os.listdir(seen_in(moved)) == []
    assert [path for path, _ in moved.left_out] == [".git"]
    moved.end()
    overlay.close()
    assert next(change.path for change in differences(overlay).changes()) == ".git"


class Killed(CopyOfTry):
    """Is broken off in the middle of the end, before or after the copy's notes are written."""

    when = ""

    def _store(self) -> None:
        if self.when == "before":
            raise InterruptedError
        super()._store()
        if self.when == "after":
            raise InterruptedError


def make_deep(above: Path) -> None:
    """Make the file `deep` so far below a directory that it has no path."""
    at = os.open(above, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("n" * 250, dir_fd=at)
        inner = os.open("n" * 250, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(os.open("deep", os.O_CREAT | os.O_WRONLY, dir_fd=at))
    os.close(at)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("moved", [False, True], ids=["confined", "unconfined"])
def test_a_kill_around_the_writing_of_the_notes_loses_nothing(place: Place, when: str, moved: bool) -> None:
    """What was too deep to be copied has left the copy by then, and everything else is in the layer already."""
    (place.root / "a").write_text("one\n")
    overlay = place.overlay()
    overlay.open()
    copy = Killed(overlay, moved=moved)
    copy.begin()
    (seen_in(copy) / "a").unlink()
    (seen_in(copy) / "new/er").mkdir(parents=True)
    (seen_in(copy) / "new/er/b").write_text("b\n")
    make_deep(seen_in(copy) / "new")
    copy.when = when
    with pytest.raises(InterruptedError):
        copy.end()
    assert is_unsettled(overlay)
    CopyOfTry(overlay, moved=moved).end()
    assert not is_unsettled(overlay)
    kinds = {change.path: change.kind for change in differences(overlay).changes() if "nnn" not in change.path}
    assert kinds == {"a": "deleted", "new": "created", "new/er": "created", "new/er/b": "created"}
    assert sum(path.endswith("/deep") for path, _ in walk_tree(overlay.upper)) == 1
    with_more = CopyOfTry(overlay, moved=moved)
    with_more.begin()
    (seen_in(with_more) / "new/er/c").write_text("c\n")
    with_more.end()
    assert sum(path.endswith("/deep") for path, _ in walk_tree(overlay.upper)) == 1
    forget_copies(overlay.directory)
    overlay.close()


def test_what_is_too_deep_stays_beside_a_copy_on_another_filesystem(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cannot be renamed from there into the layer, nor copied by its path."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        assert os.stat(directory).st_dev != os.stat(place.root).st_dev
        overlay = place.overlay()
        overlay.open()
        monkeypatch.setenv("XDG_STATE_HOME", directory)
        copy = CopyOfTry(overlay, moved=True)
        copy.begin()
        (seen_in(copy) / "new").mkdir()
        make_deep(seen_in(copy) / "new")
        copy.end()
        (beside,) = copy.strays
        assert [path.rpartition("/")[2] for path, _ in walk_tree(beside)][-1] == "deep"
        assert "new" in [change.path for change in differences(overlay).changes()]
        forget_copies(overlay.directory)
        assert os.path.isdir(beside)
        remove_tree(beside)
        overlay.close()
