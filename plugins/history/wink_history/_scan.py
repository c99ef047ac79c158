"""Look at everything in a workspace, and take in what is there.

Links are not followed, special files are not opened, and what lies in `.git` is left to git. A file that did not change
since it was last read, by its inode and times, is not read again.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Final, Protocol

from wink.errors import PathRefused
from wink.filesystem import COPIED_BYTES, FileVersion, Places, attributes_of, protected_as
from wink_history._listing import Item
from wink_history._pack_writing import PackWriter
from wink_history._sides import attributes_text

Ignored = Callable[[str, bool], bool]
"""Whether a path, which is a directory or not, is ignored."""
Known = Callable[[str], Item | None]
"""A path as it was the last time, if its content is stored."""
Progress = Callable[[int, str], object]
"""Told how many paths have been looked at, and which is the last one."""

TOO_LARGE: Final = "is larger than 64 MiB"
OVER_BUDGET: Final = "is ignored, and there was no room for it"
_SPECIAL: Final = "is neither a file, a directory nor a link"
_UNREADABLE: Final = "could not be read"
_UNSTEADY: Final = "was being written to"
_TRIES: Final = 3


class Tree(Places, Protocol):
    """A tree on the disk that can be listed."""

    def scan(self, path: str) -> Iterator[tuple[str, Any]]:
        """The names in a directory, with their kinds."""
        ...


def scan(tree: Tree, writer: PackWriter, known: Known, ignored: Ignored, budget: int, progress: Progress) -> list[Item]:
    """Every path, by name, with its content in `writer`, or in the store already if `known` gives it.

    `budget` is how many bytes of ignored files to take in.
    """
    items: list[Item] = []
    extra: list[tuple[int, str]] = []
    for path, version, is_ignored in _walk(tree, ignored):
        progress(len(items) + len(extra), path)
        if version.kind == "file" and is_ignored:
            extra.append((version.size, path))
        elif version.kind == "file":
            items.append(_file(tree, writer, path, version, known(path)))
        else:
            items.append(_other(path, version))
    # The small ones first: so most of them fit.
    for size, path in sorted(extra):
        version = tree.version(path)
        if version is None or version.kind != "file":
            continue
        if size > budget:
            items.append(Item(path, "file", version.mode, version.size, missing=OVER_BUDGET))
            continue
        budget -= size
        items.append(_file(tree, writer, path, version, known(path)))
    return sorted(items, key=lambda item: item.path)


def _walk(tree: Tree, ignored: Ignored) -> Iterator[tuple[str, FileVersion, bool]]:
    waiting = [("", False)]
    while waiting:
        above, is_inside = waiting.pop()
        try:
            names = sorted(name for name, _ in tree.scan(above))
        except OSError:
            continue  # its mode is listed; there is no way to look into it
        for name in names:
            if protected_as(name) is not None:
                continue
            path = f"{above}/{name}" if above else name
            version = tree.version(path)
            if version is None:
                continue  # gone meanwhile
            is_directory = version.kind == "directory"
            is_ignored = is_inside or ignored(path, is_directory)
            yield path, version, is_ignored
            if is_directory:
                waiting.append((path, is_ignored))


def _other(path: str, version: FileVersion) -> Item:
    missing = _SPECIAL if version.kind == "other" else ""
    marks = (version.kept.inode, version.kept.modified_ns, 0, 0) if version.kept else (0, 0, 0, 0)
    return Item(path, version.kind, version.mode, version.size, target=version.target, marks=marks, missing=missing)


def _file(tree: Tree, writer: PackWriter, path: str, version: FileVersion, known: Item | None) -> Item:
    missing = _UNSTEADY
    for _ in range(_TRIES):
        now = time.time_ns()
        try:
            stream, _node = tree.open(path)
        except (OSError, PathRefused):
            missing = _UNREADABLE
            break
        with stream:
            found = os.fstat(stream.fileno())
            marks = (found.st_ino, found.st_mtime_ns, found.st_ctime_ns, now)
            if not stat.S_ISREG(found.st_mode):
                break
            if known is not None and known.blob and known.is_still(*marks[:3]):
                return known
            if found.st_size > COPIED_BYTES:
                missing = TOO_LARGE
                break
            item = _read(writer, path, stream, found, marks)
            if item is not None:
                return item
    return Item(path, "file", version.mode, version.size, missing=missing)


def _read(
    writer: PackWriter, path: str, stream: BinaryIO, found: os.stat_result, marks: tuple[int, int, int, int]
) -> Item | None:
    added = writer.add_stream(stream, found.st_size)
    attributes = attributes_of(stream.fileno())
    after = os.fstat(stream.fileno())
    if added is None or (after.st_size, after.st_mtime_ns, after.st_ctime_ns) != (found.st_size, *marks[1:3]):
        return None
    oid, digest = added
    mode = stat.S_IMODE(found.st_mode)
    return Item(path, "file", mode, found.st_size, oid.hex(), digest, None, attributes_text(attributes), marks)
