"""Links lead nowhere but to other places of the workspace, by whatever detour, and however they are used."""

from __future__ import annotations

import os
from typing import Any

import pytest

from wink.errors import PathRefused

OUT = {
    "up": "../outside", "up-file": "../outside/secret.txt", "dir/deep": "../../outside", "sibling": "../root-sibling",
    "twice": "chain", "chain": "dir/deep", "round": "dir/../../outside", "dotted": "./dir/.././../outside",
    "back": "../root/own.txt", "proc": "/proc/self/root/etc", "fd": "/proc/self/fd", "dev": "/dev/null",
    "loop": "loop", "one": "two", "two": "one", "inside-loop": "dir/inside-loop-2", "dir/inside-loop-2": "../inside-loop",
    "long": "dir/../" * 500 + "../outside", "slashes": "..//outside", "dot": "../outside/.",
}  # fmt: skip
"""Links of the workspace that lead out, or in circles."""

PATHS = (
    "up/secret.txt", "up-file", "dir/deep/secret.txt", "sibling/secret.txt", "twice/secret.txt", "chain/inner/secret.txt",
    "round/secret.txt", "dotted/secret.txt", "back", "proc/passwd", "fd/0", "dev", "loop", "loop/x", "one", "two/x",
    "inside-loop", "long/secret.txt", "slashes/secret.txt", "dot/secret.txt", "absolute/secret.txt", "absolute-own",
)  # fmt: skip
ON_THE_LINK_ITSELF = ("delete", "delete all", "move from", "create", "mkdir", "move to")


@pytest.fixture
def linked(disk: Any) -> Any:
    """A workspace full of such links."""
    for name, target in OUT.items():
        (disk.root / name).symlink_to(target)
    (disk.root / "absolute").symlink_to(disk.outside)
    (disk.root / "absolute-own").symlink_to(disk.root / "own.txt")
    return disk


@pytest.mark.parametrize("path", PATHS)
def test_links_that_lead_out_are_refused_for_every_use(linked: Any, watch: Any, uses: Any, path: str) -> None:
    """At the end of a path and on the way; a link at the end can be removed itself, which leaves its target alone."""
    watch()

    for name, use in uses.items():
        if "/" in path or name not in ON_THE_LINK_ITSELF:
            linked.refuses(use, path, PathRefused)
    if "/" not in path:
        linked.refuses(uses["create"], path, FileExistsError)
        linked.files.move(path, "taken")
        linked.files.delete("taken")
        assert not os.path.lexists(linked.root / path)
    assert (linked.root / "own.txt").read_text() == "mine\n"


def test_walks_and_lists_pass_over_links(linked: Any, watch: Any) -> None:
    """They show that a link is there, and never what is behind it."""
    watch()

    assert [match.path for match in linked.files.grep("secret")] == []
    found = {match.path for match in linked.files.glob("**")}
    assert found == {"own.txt", "dir", "dir/own.txt", *OUT, "absolute", "absolute-own"}
    assert linked.files.glob("up/*") == linked.files.glob("absolute/**/*.txt") == ()
    entries = {entry.name: entry for entry in linked.files.list()}
    assert all(not entries[name].is_file and not entries[name].is_directory for name in OUT if "/" not in name)


def test_dangling_links_are_not_written_through(disk: Any, watch: Any, uses: Any) -> None:
    """A write would make a file in a place that nobody named."""
    (disk.root / "dangling").symlink_to("dir/new.txt")
    (disk.root / "dangling-dir").symlink_to("nowhere")
    watch()

    for name in ("write", "append", "open_write", "copy to"):
        disk.refuses(uses[name], "dangling", (PathRefused, FileExistsError))
        disk.refuses(uses[name], "dangling-dir/x", (PathRefused, OSError))
    for name in ("read", "edit", "list", "stat", "copy from", "glob"):
        disk.refuses(uses[name], "dangling", FileNotFoundError)
    assert sorted(os.listdir(disk.root)) == [".wink", "dangling", "dangling-dir", "dir", "own.txt"]
    assert os.listdir(disk.root / "dir") == ["own.txt"]


def test_links_inside_are_followed_and_stay(disk: Any, watch: Any) -> None:
    """Honest workspaces have them; what is written goes to the target, and the link remains one."""
    (disk.root / "file").symlink_to("dir/own.txt")
    (disk.root / "directory").symlink_to("./dir/")
    (disk.root / "dir/top").symlink_to("..")
    (disk.root / "dir/hop").symlink_to("top/directory/../file")
    watch()

    assert disk.files.read("dir/top/directory/top/own.txt").content == "mine\n"
    assert disk.files.read("dir/hop").content == "mine\n"
    disk.files.write("file", "written\n")
    disk.files.edit("dir/hop", "written", "edited")
    disk.files.write("directory/new/deep.txt", "x")
    disk.files.append("dir/top/directory/new/deep.txt", "y")
    disk.files.delete("directory")

    assert (disk.root / "dir/own.txt").read_text() == "edited\n"
    assert (disk.root / "file").is_symlink()
    assert (disk.root / "dir/new/deep.txt").read_text() == "xy"


def test_deleting_a_directory_leaves_what_its_links_lead_to(linked: Any, watch: Any) -> None:
    """The links are deleted, nothing behind them; a copy of the tree through the pre-images neither."""
    watch()
    part = linked.files.begin()
    part.handle.delete("dir", recursive=True)
    part.changes()
    part.undo()
    assert os.readlink(linked.root / "dir/deep") == "../../outside"

    linked.files.delete("dir", recursive=True)

    assert not (linked.root / "dir").exists()


def test_forty_links_are_enough(disk: Any, watch: Any) -> None:
    """As on Linux itself, so that a long chain ends like a circle: with an error."""
    for number in range(60):
        (disk.root / f"l{number}").symlink_to(f"l{number + 1}" if number < 59 else "own.txt")
    watch()

    assert disk.files.read("l20").content == "mine\n"
    with pytest.raises(PathRefused, match="circles"):
        disk.files.read("l10")


def test_links_that_ask_for_millions_of_steps_are_refused(disk: Any) -> None:
    """Forty links of four kilobytes, each going down and up again, in a deep directory."""
    deep = disk.root
    for _ in range(200):
        deep /= "d"
        deep.mkdir()
    for number in range(38):
        (deep / f"l{number}").symlink_to("../d/" * 800 + f"l{number + 1}")

    with pytest.raises(PathRefused):
        disk.files.read("d/" * 200 + "l0")


def test_a_link_to_the_root_is_not_walked_for_ever(disk: Any, watch: Any) -> None:
    """Two of them would make a tree of 2**40 paths for whoever followed links."""
    (disk.root / "a").symlink_to(".")
    (disk.root / "dir/b").symlink_to("..")
    watch()

    assert len(disk.files.glob("**")) == 5
    assert len(disk.files.grep("mine")) == 2
    assert disk.files.fs.find("") == ["a", "dir/b", "dir/own.txt", "own.txt"]
    assert disk.files.read("a/dir/b/a/own.txt").content == "mine\n"


def test_a_hard_link_leads_nowhere(disk: Any, watch: Any) -> None:
    """Its other names may be outside, in a store that many projects share: they keep content, mode and times."""
    before = (disk.outside / "secret.txt").stat()
    os.link(disk.outside / "secret.txt", disk.root / "linked.txt")
    watch()
    part = disk.files.begin()
    part.handle.write("linked.txt", "new\n")
    part.undo()
    assert (disk.root / "linked.txt").samefile(disk.outside / "secret.txt")

    disk.files.append("linked.txt", "more\n")

    after = (disk.outside / "secret.txt").stat()
    assert (after.st_mode, after.st_size, after.st_mtime_ns) == (before.st_mode, before.st_size, before.st_mtime_ns)
    assert (disk.root / "linked.txt").read_text() == "secret\nmore\n"
    disk.files.close()
    disk.seal()


def test_names_inside_part_ways_when_one_is_written(disk: Any) -> None:
    """Nobody can tell whether all names are inside, so it is the same for those."""
    os.link(disk.root / "own.txt", disk.root / "dir/other.txt")
    part = disk.files.begin()
    part.handle.write("own.txt", "new\n")
    assert (disk.root / "dir/other.txt").read_text() == "mine\n"
    part.undo()
    assert (disk.root / "dir/other.txt").samefile(disk.root / "own.txt")

    disk.files.delete("dir/other.txt")

    assert (disk.root / "own.txt").read_text() == "mine\n"


def test_swapping_the_root_swaps_nothing(disk: Any, watch: Any) -> None:
    """The descriptor of the root was taken once; whatever its path means afterwards."""
    moved = disk.root.with_name("outside") / "moved"
    before = disk.outside.stat().st_mtime_ns
    watch()
    disk.root.rename(moved)
    disk.root.symlink_to("outside")

    assert disk.files.read("own.txt").content == "mine\n"
    disk.files.write("secret.txt", "mine too")
    disk.files.delete("dir", recursive=True)
    part = disk.files.begin()
    part.handle.write("own.txt", "new")
    part.undo()

    assert (disk.outside / "secret.txt").read_text() == "secret\n"
    assert sorted(os.listdir(moved)) == [".wink", "own.txt", "secret.txt"]
    disk.root.unlink()
    moved.rename(disk.root)
    assert before
    disk.seal()
