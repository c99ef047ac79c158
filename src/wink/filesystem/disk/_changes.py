"""Tell the net change of each path from the records of a transaction, without having looked at the tree before."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from typing import Literal, NamedTuple

from wink.errors import PathRefused
from wink.filesystem._change import COMPARED_BYTES, DIFFABLE_BYTES, FileChange, FileVersion, Kept, backwards
from wink.filesystem.disk._journal import Mark, Record, mark
from wink.filesystem.disk._log import Log
from wink.filesystem.disk._root import DiskRoot, kind_of
from wink.filesystem.disk._trees import below

Where = tuple[Literal["staged", "path"], str]
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Side:
    """One path's content at one time, and where it may be now: in staging, at its path, or back where it was."""

    __slots__ = ("_is_copy", "_root", "content", "mark", "places", "target")

    def __init__(
        self,
        root: DiskRoot,
        found: Mark,
        places: tuple[Where, ...] = (),
        *,
        target: str | None = None,
        content: bytes | None = None,
        is_copy: bool = False,
    ) -> None:
        self._root, self.places, self._is_copy = root, places, is_copy
        self.mark, self.target, self.content = found, target, content

    def version(self) -> FileVersion:
        """The same as the record of a change shows it."""
        mode, kind = stat.S_IMODE(self.mark.mode), kind_of(self.mark.mode)
        if kind == "file":
            return FileVersion(kind, self.mark.size, mode, load=self.load, kept=self._kept())
        size = 0 if kind == "directory" else self.mark.size
        return FileVersion(kind, size, mode, self.target, kept=self._kept())

    def _kept(self) -> Kept:
        places = self.places
        staged = places[0][1] if places and places[0][0] == "staged" else None
        return Kept(self.mark.ino, self.mark.modified_ns, staged)

    def load(self) -> bytes | None:
        """The content, while it is still there, and can be compared."""
        if self.content is not None or self.mark.size > COMPARED_BYTES:
            return self.content
        fd = self.open()
        if fd is None:
            return None
        try:
            return os.read(fd, self.mark.size + 1)
        finally:
            os.close(fd)

    def open(self) -> int | None:
        """The file itself, if it can still be found and nobody changed it."""
        for kind, name in self.places:
            try:
                fd = open_staged(self._root, name) if kind == "staged" else _open_path(self._root, name)
            except OSError:
                continue
            found = os.fstat(fd)
            if self.mark.fits(found) or (self._is_copy and kind == "staged" and found.st_size == self.mark.size):
                return fd
            os.close(fd)
        return None

    def is_same_as(self, other: Side) -> bool:
        """Whether nobody could tell the two apart."""
        mine, theirs = self.mark, other.mark
        if mine.mode != theirs.mode or self.target != other.target:
            return False
        if not stat.S_ISREG(mine.mode) or mine[:3] == theirs[:3]:
            return True
        return mine.size == theirs.size and self._has_bytes_of(other)

    def _has_bytes_of(self, other: Side) -> bool:
        if self.mark.size <= DIFFABLE_BYTES:
            mine = self.load()
            return mine is not None and mine == other.load()
        one, two = self.open(), other.open()
        try:
            if one is None or two is None:
                return False
            while chunk := os.read(one, 1 << 20):
                if chunk != os.read(two, 1 << 20):
                    return False
            return True
        finally:
            for fd in (one, two):
                if fd is not None:
                    os.close(fd)


class Effect(NamedTuple):
    """What one record did to one path. `keeps_origin`: what is there after is still the file that was moved there."""

    path: str
    before: Side | None
    after: Side | None
    moved_from: str | None = None
    keeps_origin: bool = False


class _Net:
    __slots__ = ("after", "before", "moved_from")

    def __init__(self, before: Side | None) -> None:
        self.before = self.after = before
        self.moved_from: str | None = None


def net_changes(log: Log, since: int, until: int | None = None) -> tuple[FileChange, ...]:
    """One change for each path that is not the same at two positions, in the order of the records that touched them first.

    With `until` before `since`, what going back changes.
    """
    first, last = since, len(log.records) if until is None else until
    if last < first:
        return backwards(net_changes(log, last, first))
    groups = _Effects(log).of(log.records[first:])
    return _folded(log.root, [effect for group in groups[: last - first] for effect in group])


def _folded(root: DiskRoot, effects: list[Effect]) -> tuple[FileChange, ...]:
    net: dict[str, _Net] = {}
    for path, before, after, moved_from, keeps_origin in effects:
        entry = net.get(path)
        if entry is None:
            entry = net[path] = _Net(before)
        entry.after = after
        if moved_from is not None:
            source = net.get(moved_from)
            entry.moved_from = (source.moved_from if source is not None else None) or moved_from
        elif not keeps_origin and after is not None:
            entry.moved_from = None
    unchanged = [
        path for path, entry in net.items() if not _is_another(net, entry) and _is_same(entry.before, entry.after)
    ]
    for path in unchanged:
        entry = net[path]
        origin = net.get(entry.moved_from or "")
        if origin is None or origin.before is None or entry.before is None or entry.after is None:
            continue
        if origin.before.mark.ino == entry.after.mark.ino:
            # The file that was moved here took the place of one just like it, so nobody will look for it here; but the one
            # that it replaced is kept.
            origin.before = entry.before
    for path in unchanged:
        del net[path]
    changes: list[FileChange] = []
    for path, entry in net.items():
        before, after = entry.before, entry.after
        origin = net.get(entry.moved_from) if before is None and entry.moved_from else None
        is_move = origin is not None and origin.before is not None and origin.after is None
        changes.append(
            FileChange(
                path,
                before and before.version(),
                after and _left(root, path, after),
                entry.moved_from if is_move else None,
            )
        )
    return tuple(changes)


def _left(root: DiskRoot, path: str, side: Side) -> FileVersion:
    """What is there after, and where it is too large to be read, when anything of it changed last."""
    version = side.version()
    if version.kind == "file" and version.size > DIFFABLE_BYTES and version.kept is not None:
        with suppress(OSError, PathRefused):
            found, _ = root.beneath.status(path, follow=False)
            # One with other names is touched again when those go, as the ones of a try do.
            if side.mark.fits(found) and found.st_nlink == 1:
                version.kept.left_ns = found.st_ctime_ns
    return version


def _is_another(net: dict[str, _Net], entry: _Net) -> bool:
    """Whether a file that came from another path is here now, and something else is there: however alike, they are told apart.

    An earlier transaction whose file this was could not be taken back if nobody knew where that file went.
    """
    origin = net.get(entry.moved_from or "")
    if origin is None or origin is entry or origin.after is None or entry.before is None or entry.after is None:
        return False
    return entry.before.mark.ino != entry.after.mark.ino


def _is_same(before: Side | None, after: Side | None) -> bool:
    return before is after or (before is not None and after is not None and before.is_same_as(after))


class _Effects:
    """Goes through records from the last to the first: so what was in a moved directory can be told from what is there."""

    __slots__ = ("_later", "_log", "_root")

    def __init__(self, log: Log) -> None:
        self._log, self._root = log, log.root
        self._later: dict[str, Side | None] = {}

    def of(self, records: list[Record]) -> list[list[Effect]]:
        """The effects of each record, in the order in which they happened."""
        groups: list[list[Effect]] = []
        for record in reversed(records):
            group = list(self._effects(record))
            for effect in group:
                self._later[effect.path] = effect.before
            groups.append(group)
        return groups[::-1]

    def _effects(self, record: Record) -> Iterator[Effect]:
        path, kept, old, new = record.path, record.staged, record.old, record.new
        at_path: Where = ("path", path)
        match record.kind:
            case "X":
                assert old is not None
                assert new is not None
                before = self._kept(old, kept, at_path)
                before.content = self._log.originals.get(record.seq)
                yield Effect(path, before, self._new(record, new), keeps_origin=True)
            case "C":
                assert new is not None
                yield Effect(path, None, self._new(record, new))
            case "D" | "E":
                assert old is not None
                is_copy = record.kind == "E"
                yield Effect(path, self._kept(old, kept, at_path, is_copy=is_copy, target=record.note or None), None)
                if stat.S_ISDIR(old.mode):
                    yield from self._deleted_below(record)
            case "N":
                yield from self._moved(record)
            case "M":
                # Its mode may have been changed since, and the directory moved or deleted.
                made = self._later.get(path) or Side(self._root, self._directory_now(path))
                yield Effect(path, None, made)
            case "T":
                assert old is not None
                yield Effect(path, Side(self._root, old), None)
            case "P":
                assert old is not None
                changed = old._replace(mode=stat.S_IFMT(old.mode) | int(record.note))
                places = self._places(old, path, at_path)
                before, after = Side(self._root, old, places), Side(self._root, changed, places)
                yield Effect(path, before, after, keeps_origin=True)
            case "W":
                assert old is not None
                after_mark = self._log.rewritten.get(record.seq, old)
                after = Side(self._root, after_mark, (at_path,), content=self._log.contents.get(record.seq))
                yield Effect(path, self._kept(old, kept, at_path, is_copy=True), after, keeps_origin=True)
            case "K":
                yield Effect(path, None, self._written(record))
            case "S":
                kept_at: tuple[Where, ...] = (("staged", kept), at_path) if kept else (at_path,)
                link = self._link(kept) if old is not None and kept and stat.S_ISLNK(old.mode) else None
                yield Effect(
                    path,
                    None if old is None else Side(self._root, old, kept_at, target=link),
                    None if new is None else self._new(record, new),
                )
            case "B":
                pass  # from one name in staging to another

    def _kept(self, old: Mark, kept: str, at_path: Where, *, is_copy: bool = False, target: str | None = None) -> Side:
        if target is None and stat.S_ISLNK(old.mode):
            target = self._link(kept)
        return Side(self._root, old, (("staged", kept), at_path), target=target, is_copy=is_copy)

    def _new(self, record: Record, new: Mark) -> Side:
        content = self._log.contents.get(record.seq)
        places = self._places(new, record.path, ("path", record.path))
        return Side(self._root, new, places, target=record.note or None, content=content)

    def _written(self, record: Record) -> Side:
        known = self._later.get(record.path)
        if known is not None:
            return known
        try:
            now = mark(self._root.beneath.status(record.path, follow=False)[0])
        except OSError:
            now = Mark(0, len(record.note), 0, (stat.S_IFLNK if record.note else stat.S_IFREG) | 0o777)
        return self._new(record, now)

    def _moved(self, record: Record) -> Iterator[Effect]:
        old, source, target = record.old, record.path, record.note
        assert old is not None
        places = self._places(old, target, ("path", target), ("path", source))
        link = self._target(record) if stat.S_ISLNK(old.mode) else None
        moved = Side(self._root, old, places, target=link)
        inside = self._below(target) if stat.S_ISDIR(old.mode) else {}
        yield Effect(source, moved, None)
        yield Effect(target, None, moved, source)
        for path, side in inside.items():
            was = f"{source}/{path}"
            yield Effect(was, side, None)
            yield Effect(f"{target}/{path}", None, side, was)

    def _places(self, old: Mark, path: str, *default: Where) -> tuple[Where, ...]:
        """Where the file that is at `path` between two records is now: perhaps the later one put it into staging."""
        later = self._later.get(path)
        return default if later is None or later.mark.ino != old.ino else (*later.places, *default)

    def _below(self, directory: str) -> dict[str, Side]:
        """What was in a directory before the records that have been gone through."""
        inside: dict[str, Side] = {}
        above, _, name = directory.rpartition("/")
        try:
            fd = self._root.beneath.directory(above)
        except OSError:
            pass  # moved or deleted later, and so told by that record
        else:
            try:
                for path, found, target in below(fd, name):
                    place: Where = ("path", f"{directory}/{path}")
                    inside[path] = Side(self._root, mark(found), (place,), target=target)
            finally:
                self._root.beneath.close(fd)
        for path, side in self._later.items():
            if path.startswith(directory + "/"):
                if side is None:
                    inside.pop(path[len(directory) + 1 :], None)
                else:
                    inside[path[len(directory) + 1 :]] = side
        return dict(sorted(inside.items()))

    def _deleted_below(self, record: Record) -> Iterator[Effect]:
        for path, found, target in below(self._root.state.staged, record.staged):
            real = f"{record.path}/{path}"
            places: tuple[Where, ...] = (("staged", f"{record.staged}/{path}"), ("path", real))
            yield Effect(real, Side(self._root, mark(found), places, target=target), None)

    def _directory_now(self, path: str) -> Mark:
        try:
            found, _ = self._root.beneath.status(path, follow=False)
        except OSError:
            return Mark(0, 0, 0, stat.S_IFDIR | 0o755)
        return mark(found)

    def _link(self, staged: str) -> str | None:
        try:
            return os.readlink(staged, dir_fd=self._root.state.staged)
        except OSError:
            return None

    def _target(self, record: Record) -> str | None:
        known = self._later.get(record.note)
        if known is not None:
            return known.target
        try:
            return self._root.beneath.status(record.note, follow=False)[1]
        except OSError:
            return None


def _open_path(root: DiskRoot, path: str) -> int:
    return root.beneath.open(path, os.O_RDONLY | os.O_NOFOLLOW)


def open_staged(root: DiskRoot, path: str) -> int:
    """A file in staging, perhaps in a directory that was deleted with it, and never through a link in there."""
    with root.in_staging(path) as (fd, name):
        try:
            return os.open(name, _READ, dir_fd=fd)
        except PermissionError:
            return _open_closed(fd, name)


def _open_closed(fd: int, name: str) -> int:
    """A file of this user's by whose mode not even its owner may read it."""
    at = os.open(name, getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
    try:
        place, mode = f"/proc/self/fd/{at}", stat.S_IMODE(os.fstat(at).st_mode)
        os.chmod(place, mode | stat.S_IRUSR)
        try:
            return os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        finally:
            os.chmod(place, mode)
    finally:
        os.close(at)
