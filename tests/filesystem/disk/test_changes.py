"""What a transaction did is told path by path, without a look at anything that it did not touch."""

from __future__ import annotations

from pathlib import Path

import pytest

from wink.filesystem._change import FileChange
from wink.filesystem.disk._change_set import DiskChangeSet
from wink.filesystem.disk._store import DiskStore


def told(change_set: DiskChangeSet, since: int = 0) -> list[tuple[str, str, str | None]]:
    """Kind, path and origin of each change."""
    return [(change.kind, change.path, change.moved_from) for change in change_set.changes(since)]


def by_path(change_set: DiskChangeSet) -> dict[str, FileChange]:
    """The changes by their paths."""
    return {change.path: change for change in change_set.changes()}


def test_the_net_change_is_told(store: DiskStore) -> None:
    """Not each step: what came and went again is no change."""
    change_set = store.begin("tx")
    change_set.put("top.txt", b"one")
    change_set.put("top.txt", b"two")
    change_set.put("src/new.txt", b"new")
    change_set.put("src/gone.txt", b"gone")
    change_set.delete("src/gone.txt")
    change_set.put("tool.sh", b"other")
    change_set.put("tool.sh", b"#!/bin/sh\n")
    change_set.delete("src/a/0.txt")
    change_set.chmod("big.bin", 0o600)

    assert told(change_set) == [
        ("modified", "top.txt", None),
        ("created", "src/new.txt", None),
        ("deleted", "src/a/0.txt", None),
        ("modified", "big.bin", None),
    ]
    changes = by_path(change_set)
    assert (changes["top.txt"].before.content(), changes["top.txt"].after.content()) == (b"top\r\n", b"two")
    assert (changes["big.bin"].before.mode, changes["big.bin"].after.mode) == (0o644, 0o600)
    assert changes["big.bin"].before.content() == b"B" * 300_000


@pytest.mark.parametrize("ending", ["undo", "publish"])
def test_a_diff_can_be_shown_after_the_end(store: DiskStore, ending: str) -> None:
    """Of what was rolled back as well: people want to know what a failed call would have done."""
    change_set = store.begin("tx")
    change_set.put("src/a/1.txt", b"now\n")
    change_set.delete("src/a/0.txt")
    change_set.put("new.txt", b"new\n")
    change_set.move("src/b/2.txt", "moved.txt")
    change_set.put("one-name.txt", b"in place\n")
    change_set.delete("src/b", recursive=True)
    changes = by_path(change_set)

    if ending == "undo":
        change_set.undo(0)
    else:
        change_set.publish()

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
    change_set = store.begin("tx")
    change_set.put("src/a/1.txt", b"changed first")
    change_set.move("src/a", "moved")
    change_set.put("moved/new.txt", b"new")
    change_set.delete("moved/2.txt")
    change_set.delete("src/b", recursive=True)

    assert sorted(told(change_set), key=lambda change: change[1]) == [
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
    assert by_path(change_set)["src/a/1.txt"].before.content() == b"1 " * 45


def test_a_way_there_and_back_is_no_change(store: DiskStore) -> None:
    """Even of a large file, which is not compared: it is still the same one."""
    change_set = store.begin("tx")
    change_set.move("big.bin", "x")
    change_set.move("x", "y")
    assert told(change_set) == [("deleted", "big.bin", None), ("created", "y", "big.bin")]
    change_set.move("y", "big.bin")
    change_set.move("src/a", "src/c")
    change_set.move("src/c", "src/a")
    change_set.chmod("tool.sh", 0o700)
    change_set.chmod("tool.sh", 0o750)
    large = change_set.stage()
    large.write(b"B" * 300_000)
    change_set.put("big.bin", large)
    change_set.delete("link")
    change_set.symlink("link", "src/a/1.txt")

    assert told(change_set) == []


def test_changes_since_a_savepoint(store: DiskStore) -> None:
    """A nested call's own."""
    change_set = store.begin("tx")
    change_set.put("top.txt", b"outer")
    position = change_set.position
    change_set.put("top.txt", b"inner")
    change_set.mkdir("made")

    assert told(change_set, position) == [("modified", "top.txt", None), ("created", "made", None)]
    (change, _) = change_set.changes(position)
    assert change.before.content() == b"outer"


def test_links_are_told_by_what_they_say(store: DiskStore, tree: Path) -> None:
    """Their content is a path."""
    change_set = store.begin("tx")
    change_set.delete("link")
    change_set.symlink("link", "top.txt")
    change_set.delete("dir-link")
    change_set.move("tool.sh", "src/tool.sh")
    changes = by_path(change_set)

    assert (changes["link"].before.target, changes["link"].after.target) == ("src/a/1.txt", "top.txt")
    assert changes["dir-link"].before.target == "src/a"
    assert changes["dir-link"].before.kind == "link"
