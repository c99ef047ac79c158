"""See exactly what is in a workspace: every file as the disk has it, and all that its session holds."""

from __future__ import annotations

import os
import shutil
import stat
import zlib
from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

from wink.filesystem import Stamp
from wink.session import Session
from wink.workspace import Workspace

from ._tries import shown

PROBE = "probe"
"""The directory that only the probing calls write to; nobody looks into it."""

_LARGE = 4096


class Entry(NamedTuple):
    """One name of the tree. `body` is a file's content, the digest of a large one, or where a link leads."""

    mode: int
    links: int
    body: bytes | str | None
    attributes: tuple[tuple[str, bytes], ...]
    inode: int
    modified_ns: int

    @property
    def content(self) -> tuple[object, ...]:
        """What does not depend on when and where it was written."""
        return self[:4]


Files = dict[str, Entry]


@dataclass(frozen=True, slots=True)
class State:
    """A workspace at one time: its files, and what its session says."""

    files: Files
    notes: tuple[str, ...]
    stamps: tuple[Any, ...]
    calls: tuple[Any, ...]
    tries: tuple[Any, ...]

    @property
    def told(self) -> tuple[Any, ...]:
        """All but the files."""
        return self.notes, self.stamps, self.calls, self.tries


def files_of(tree: str) -> Files:
    """Everything below `tree` but wink's own, and the tree itself."""
    found = {".": _entry(tree, os.lstat(tree))}
    waiting = [""]
    while waiting:
        inside = waiting.pop()
        for name in os.listdir(f"{tree}/{inside}"):
            path = inside + name
            if path not in (".wink", PROBE):
                status = os.lstat(f"{tree}/{path}")
                found[path] = _entry(f"{tree}/{path}", status)
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(path + "/")
    # Names in the tree alone: what a call replaced may go on having one among what is kept for taking it back.
    names = Counter(entry.inode for entry in found.values())
    return {path: entry._replace(links=names[entry.inode]) for path, entry in found.items()}


def _entry(path: str, found: os.stat_result) -> Entry:
    body: bytes | str | None = None
    attributes: tuple[tuple[str, bytes], ...] = ()
    if stat.S_ISLNK(found.st_mode):
        body = os.readlink(path)
    elif stat.S_ISREG(found.st_mode):
        fd = os.open(path, os.O_RDONLY)
        body = os.read(fd, found.st_size + 1)
        attributes = tuple((name, os.getxattr(fd, name)) for name in sorted(os.listxattr(fd)))
        os.close(fd)
        if len(body) > _LARGE:
            body = f"{len(body)} bytes, {zlib.crc32(body):08x}"
    return Entry(found.st_mode, 0, body, attributes, found.st_ino, found.st_mtime_ns)


def told(workspace: Workspace, session: Session, note: type[Any]) -> tuple[Any, Any, Any, Any]:
    """Notes, stamps and committed calls, without those of the probing calls, and what tries and runs show."""
    notes = tuple(item.text for item in session[note].all() if item.text != PROBE)
    stamps = tuple(sorted(_stamp(item) for item in session[Stamp].all() if not item.path.startswith(PROBE)))
    calls = tuple(
        (row.tool, row.outcome, tuple(sorted(change.path for change in row.changes)))
        for row in workspace.calls()
        if row.committed and row.tool != PROBE
    )
    runs = workspace.record.runs
    going = (
        (row.number, row.state, row.fork, tuple(one.number for one in runs.turns(row.number))) for row in runs.rows()
    )
    return notes, stamps, calls, (*shown(workspace), *going)


def _stamp(stamp: Stamp) -> tuple[Any, ...]:
    return stamp.path, stamp.digest, stamp.size, stamp.ranges, stamp.complete, stamp.origin


def differences(one: Files, other: Files, *, exact: bool = True, new_inodes: frozenset[str] = frozenset()) -> list[str]:
    """The paths that differ; `exact` means inodes and times too, but for the inodes of some, which may be copies.

    A copy has no second name either.
    """
    found: list[str] = []
    for path in sorted(one.keys() | other.keys()):
        mine, theirs = one.get(path), other.get(path)
        same = mine == theirs
        if mine is not None and theirs is not None and not same:
            if not exact:
                same = mine.content == theirs.content or (
                    path in new_inodes and mine._replace(links=0).content == theirs._replace(links=0).content
                )
            elif path in new_inodes:
                same = mine._replace(inode=0) == theirs._replace(inode=0)
        if not same:
            found.append(f"{path}: {_short(mine)} / {_short(theirs)}")
    return found


def _short(entry: Entry | None) -> str:
    if entry is None:
        return "absent"
    return (
        f"{entry.mode:o} {entry.links} {entry.body!r:.40} {dict(entry.attributes)} #{entry.inode} @{entry.modified_ns}"
    )


def copy_tree(source: str, target: str) -> None:
    """The same tree again: modes, times, links, hard links and extended attributes too."""
    os.mkdir(target)
    names: dict[int, str] = {}
    for entry in sorted(os.scandir(source), key=lambda entry: entry.name):
        to, found = f"{target}/{entry.name}", entry.stat(follow_symlinks=False)
        if entry.is_dir(follow_symlinks=False):
            copy_tree(entry.path, to)
        elif found.st_ino in names:
            os.link(names[found.st_ino], to)
        else:
            shutil.copy2(entry.path, to, follow_symlinks=False)
            if found.st_nlink > 1:
                names[found.st_ino] = to
    shutil.copystat(source, target)
