"""What a transaction did is told path by path, without a look at anything that it did not touch."""

from __future__ import annotations

from pathlib import Path

import pytest

from wink.filesystem._change import FileChange
from wink.filesystem._disk import DiskStore
from wink.filesystem._disk_frame import DiskFrame


def told(frame: DiskFrame, since: int = 0) -> list[tuple[str, str, str | None]]:
    """Kind, path and origin of each change."""
    return [(change.kind, change.path, change.moved_from) for change in frame.changes(since)]


def by_path(frame: DiskFrame) -> dict[str, FileChange]:
    """The changes by their paths."""
    return {change.path: change for change in frame.changes()}


def test_the_net_change_is_told(store: DiskStore) -> None:
    """Not each step: what came and went again is no change."""
    frame = store.begin("tx")
    frame.put("top.txt", b"one")
    frame.put("top.txt", b"two")
    frame.put("src/new.txt", b"new")
    frame.put("src/gone.txt", b"gone")
    frame.delete("src/gone.txt")
    frame.put("tool.sh", b"other")
    frame.put("tool.sh", b"#!/bin/sh\n")
    frame.delete("src/a/0.txt")
    frame.chmod("big.bin", 0o600)

    assert told(frame) == [
        ("modified", "top.txt", None),
        ("created", "src/new.txt", None),
        ("deleted", "src/a/0.txt", None),
        ("modified", "big.bin", None),
    ]
    changes = by_path(frame)
    assert (changes["top.txt"].before.content(), changes["top.txt"].after.content()) == (b"top\r\n", b"two")
    assert (changes["big.bin"].before.mode, changes["big.bin"].after.mode) == (0o644, 0o600)
    assert changes["big.bin"].before.content() is None


@pytest.mark.parametrize("ending", ["undo", "publish"])
def test_a_diff_can_be_shown_after_the_end(store: DiskStore, ending: str) -> None:
    """Of what was rolled back as well: people want to know what a failed call would have done."""
    frame = store.begin("tx")
    frame.put("src/a/1.txt", b"now\n")
    frame.delete("src/a/0.txt")
    frame.put("new.txt", b"new\n")
    frame.move("src/b/2.txt", "moved.txt")
    frame.put("one-name.txt", b"in place\n")
    frame.delete("src/b", recursive=True)
    changes = by_path(frame)

    if ending == "undo":
        frame.undo(0)
    else:
        frame.publish()

    assert changes["src/a/1.txt"].before.content() == b"1 " * 45
    assert changes["src/a/1.txt"].after.content() == b"now\n"
    assert changes["src/a/0.txt"].before.content() == b"0 " * 5
    assert changes["new.txt"].after.content() == b"new\n"
    assert changes["moved.txt"].after.content() == b"2 " * 85
    assert changes["one-name.txt"].before.content() == b"linked"
    assert changes["one-name.txt"].after.content() == b"in place\n"
    assert changes["src/b/1.txt"].before.content() == b"1 " * 45


def test_what_was_in_a_directory_is_told(store: DiskStore) -> None:
    """Deleting or moving one is one operation, and many changes."""
    frame = store.begin("tx")
    frame.put("src/a/1.txt", b"changed first")
    frame.move("src/a", "moved")
    frame.put("moved/new.txt", b"new")
    frame.delete("moved/2.txt")
    frame.delete("src/b", recursive=True)

    assert sorted(told(frame), key=lambda change: change[1]) == [
        ("created", "moved", "src/a"),
        ("created", "moved/0.txt", "src/a/0.txt"),
        ("created", "moved/1.txt", "src/a/1.txt"),
        ("created", "moved/new.txt", None),
        ("deleted", "src/a", None),
        ("deleted", "src/a/0.txt", None),
        ("deleted", "src/a/1.txt", None),
        ("deleted", "src/a/2.txt", None),
        ("deleted", "src/b", None),
        ("deleted", "src/b/0.txt", None),
        ("deleted", "src/b/1.txt", None),
        ("deleted", "src/b/2.txt", None),
    ]
    assert by_path(frame)["src/a/1.txt"].before.content() == b"1 " * 45


def test_a_way_there_and_back_is_no_change(store: DiskStore) -> None:
    """Even of a large file, which is not compared: it is still the same one."""
    frame = store.begin("tx")
    frame.move("big.bin", "x")
    frame.move("x", "y")
    assert told(frame) == [("deleted", "big.bin", None), ("created", "y", "big.bin")]
    frame.move("y", "big.bin")
    frame.move("src/a", "src/c")
    frame.move("src/c", "src/a")
    frame.chmod("tool.sh", 0o700)
    frame.chmod("tool.sh", 0o750)
    large = frame.stage()
    large.write(b"B" * 300_000)
    frame.put("big.bin", large)
    frame.delete("link")
    frame.symlink("link", "src/a/1.txt")

    assert told(frame) == []


def test_changes_since_a_savepoint(store: DiskStore) -> None:
    """A nested call's own."""
    frame = store.begin("tx")
    frame.put("top.txt", b"outer")
    position = frame.position
    frame.put("top.txt", b"inner")
    frame.mkdir("made")

    assert told(frame, position) == [("modified", "top.txt", None), ("created", "made", None)]
    (change, _) = frame.changes(position)
    assert change.before.content() == b"outer"


def test_links_are_told_by_what_they_say(store: DiskStore, tree: Path) -> None:
    """Their content is a path."""
    frame = store.begin("tx")
    frame.delete("link")
    frame.symlink("link", "top.txt")
    frame.delete("dir-link")
    frame.move("tool.sh", "src/tool.sh")
    changes = by_path(frame)

    assert (changes["link"].before.target, changes["link"].after.target) == ("src/a/1.txt", "top.txt")
    assert changes["dir-link"].before.target == "src/a"
    assert changes["dir-link"].before.kind == "link"
