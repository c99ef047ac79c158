"""Find what a file was after or before some transaction: in staging, at its path, or where a later one put it."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable
from dataclasses import replace
from functools import cached_property
from io import BytesIO
from typing import Any, BinaryIO, Protocol

from wink.errors import HistoryDamaged, PathRefused
from wink.filesystem._change import (
    COMPARED_BYTES,
    DIFFABLE_BYTES,
    DIGESTED_BYTES,
    FileChange,
    FileVersion,
    stream_digest,
    with_load,
)
from wink.filesystem.disk import Attributes

_MOST_MOVES = 100
_MOST_SAID = 1 << 24
_MOST_NAMES = 100_000
_MOST_HELD = 16 << 20
"""So many bytes of what was read are held: to take something back, each content is compared, shown, and put to its place."""

Committed = Callable[[], Iterable[tuple[int, FileChange]]]
"""Gives what transactions changed, oldest first, each with the position of its transaction."""


class Places(Protocol):
    """Where files may be: the tree on the disk, and what its transactions keep."""

    def version(self, path: str) -> FileVersion | None:
        """What is at this very path, following no link; None where there is nothing."""
        ...

    def open(self, path: str) -> tuple[BinaryIO, Any]:
        """A stream over a regular file."""
        ...

    def open_preimage(self, staged: str) -> BinaryIO | None:
        """A stream over what a transaction replaced; None when it is not there any more."""
        ...

    def names(self, path: str, most: int) -> list[str]:
        """At most so many of the names in a directory, in no order."""
        ...

    def preimage_attributes(self, staged: str) -> Attributes | None:
        """What a deleted directory had besides what was in it; None when it is not there any more."""
        ...

    def obstacle(self, path: str, wanted: FileVersion | None, *, is_replaced: bool) -> str | None:
        """Why a path could not become what is wanted, as far as that shows without a change.

        `is_replaced` unless only the mode of what is there changes.
        """
        ...

    def room(self) -> int:
        """How many bytes can be written yet."""
        ...


class Archived(BytesIO):
    """Content out of an archive, which has checked it, with what else the file had if that is known."""

    def __init__(self, content: bytes, attributes: Attributes | None) -> None:
        super().__init__(content)
        self.attributes = attributes


class Versions:
    """Looks for versions as they are now; made for one question, since files and record go on changing.

    `committed` is asked once, for the transactions whose versions are wanted and for all later ones.
    """

    def __init__(self, places: Places, committed: Committed) -> None:
        self._places, self._committed = places, committed
        self._read: dict[object, str | None] = {}
        self._archived: dict[str, Archived] = {}
        self._seen: dict[object, bytes] = {}
        self._held = 0

    @cached_property
    def changes(self) -> dict[str, list[tuple[int, FileChange]]]:
        """Every committed change of each path, oldest first, with the position of its transaction."""
        found: dict[str, list[tuple[int, FileChange]]] = {}
        for position, change in self._committed():
            found.setdefault(change.path, []).append((position, change))
        return found

    def present(self, path: str) -> FileVersion | None:
        """What is at a path now."""
        return self._places.version(path)

    def obstacle(self, path: str, wanted: FileVersion | None, *, is_replaced: bool) -> str | None:
        """Why a path could not become what is wanted, as far as that shows without a change."""
        return self._places.obstacle(path, wanted, is_replaced=is_replaced)

    def room(self) -> int:
        """How many bytes can be written yet."""
        return self._places.room()

    def stays(self, path: str, leaving: Container[str]) -> bool:
        """Whether something is in a directory that is not `leaving` it."""
        names = self._places.names(path, _MOST_NAMES)
        return len(names) == _MOST_NAMES or any(f"{path}/{name}" not in leaving for name in names)

    def digest(self, path: str, version: FileVersion, position: int) -> str | None:
        """The digest of a file's version; None when it cannot be found any more.

        What is `present` is always read: inode, size and time are the same after a save that keeps the time (`cp -p`).
        """
        kept = version.kept
        if kept is not None and kept.digest is not None:
            return kept.digest
        if kept is not None and kept.changed_ns:
            return self.present_digest(path, version)
        known = self._known.get(_mark(version))
        if known is not None:
            return known
        stream = self.open(path, version, position)
        if stream is None:
            return None
        with stream:
            digest = stream_digest(stream)
        if kept is not None:
            kept.digest = digest
        return digest

    def meaning(self, path: str, version: FileVersion, position: int) -> str | None:
        """What a git index says, as text to compare; None for what is none, or cannot be found any more."""
        from wink.filesystem._git_data import MOST, git_index_meaning, is_git_index

        if not is_git_index(path) or version.kind != "file" or version.kept is None:
            return None
        if version.kept.meaning is None and version.size <= MOST:
            stream = self.open(path, version, position)
            if stream is not None:
                with stream:
                    version.kept.meaning = git_index_meaning(stream.read(MOST + 1))
        return version.kept.meaning

    def says(self, path: str) -> bytes:
        """How the file at a path begins; nothing where none can be read."""
        try:
            stream, _ = self._places.open(path)
        except (OSError, PathRefused):
            return b""
        with stream:
            return stream.read(_MOST_SAID)

    def present_digest(self, path: str, now: FileVersion) -> str | None:
        """The digest of what is at a path `now`, always read: a time that somebody set says nothing about content."""
        try:
            stream, _ = self._places.open(path)
        except (OSError, PathRefused):
            return None
        with stream:
            start = stream.read(DIFFABLE_BYTES)
            digest = stream_digest(stream, start)
        if len(start) == now.size and self._held + now.size <= _MOST_HELD:
            self._held += now.size
            self._seen[_sight(path, now)] = start
        if now.kept is not None:
            now.kept.digest = digest
        return digest

    def open(self, path: str, version: FileVersion, position: int) -> BinaryIO | None:
        """The content of a version of a path that a transaction at `position`, or somebody after it, left or found."""
        found = self._find(path, version, position)
        return None if found is None else found[0]

    def stored(self, path: str, version: FileVersion, position: int) -> str | None:
        """The name in staging of such a version; None for one that is somewhere else."""
        found = self._find(path, version, position)
        if found is None:
            return None
        stream, staged = found
        stream.close()
        return None if isinstance(stream, Archived) else staged

    def _find(self, path: str, version: FileVersion, position: int) -> tuple[BinaryIO, str | None] | None:
        for _ in range(_MOST_MOVES):
            kept = version.kept
            if version.kind != "file" or kept is None:
                return None
            if kept.staged is not None:
                stream = self._preimage(version, kept.staged, kept.modified_ns)
                if stream is not None:
                    return stream, kept.staged
                came_back = self._came_back(version, position)
                if came_back is None:
                    return None
                path, version, position = came_back
                continue
            now = self._places.version(path)
            if now is not None and now.kind == "file" and has_mark_of(version, now):
                return self._opened(path) if self._has_content_of(path, version, now) else None
            after = self._next(path, version, position)
            if after is None:
                is_there = now is not None and self._is_copy(path, version, now, position)
                return self._opened(path) if is_there else None
            path, version, position = after
        return None

    def _opened(self, path: str) -> tuple[BinaryIO, None] | None:
        try:
            return self._places.open(path)[0], None
        except PermissionError:
            return None  # what its owner has closed is known by its mark alone

    def attributes(self, version: FileVersion) -> Attributes | None:
        """What a directory that was deleted had besides what was in it, as far as that is kept."""
        staged = None if version.kept is None else version.kept.staged
        return None if staged is None else self._places.preimage_attributes(staged)

    def with_content(self, position: int, change: FileChange) -> FileChange:
        """The change with content that can be shown, as far as it is still known."""
        before, after, path = change.before, change.after, change.path
        return FileChange(
            path,
            before and self.loading(path, before, position),
            after and self.loading(path, after, position),
            change.moved_from,
        )

    def _preimage(self, version: FileVersion, staged: str, modified_ns: int) -> BinaryIO | None:
        held = self._archived.get(staged)
        if held is not None:
            return Archived(held.getvalue(), held.attributes)
        stream = self._places.open_preimage(staged)
        if isinstance(stream, Archived):
            if self._held + version.size <= _MOST_HELD:
                self._archived[staged] = Archived(stream.getvalue(), stream.attributes)
                self._held += len(stream.getvalue())
        elif stream is not None:
            found = os.fstat(stream.fileno())
            if (found.st_size, found.st_mtime_ns) != (version.size, modified_ns):
                # A program that had the old file open went on writing to it: this is not what the call found.
                stream.close()
                return None
        return stream

    def _has_content_of(self, path: str, version: FileVersion, now: FileVersion) -> bool:
        """Whether what bears a version's mark has its content too, as far as that is known."""
        kept = version.kept
        known = (kept and kept.digest) or self._known.get(_mark(version))
        if known is None or kept is now.kept or now.kept is None:
            return self.is_as_left(version, now)
        place = _sight(path, now)
        if place not in self._read:
            self._read[place] = self.present_digest(path, now)
        return self._read[place] == known

    def is_as_left(self, version: FileVersion, now: FileVersion) -> bool:
        """Whether nothing of a file has changed since a call left it, or wink itself moved it, as far as anybody has noted.

        Both have the same mark, which a save that sets the time of content does not change.
        """
        kept, there = version.kept, now.kept
        if kept is None or there is None or not kept.left_ns or not there.changed_ns:
            return True
        return there.changed_ns == kept.left_ns or there.changed_ns in self._left.get(_mark(now), ())

    def _is_copy(self, path: str, version: FileVersion, other: FileVersion, position: int) -> bool:
        """Whether the content of a version was written once more over itself, which is no change that would be recorded."""
        kept = other.kept
        if other.kind != "file" or other.size != version.size or kept is None:
            return False
        known = self._known.get(_mark(version)) or (version.kept and version.kept.digest)
        if known is None:
            return False
        if kept.staged is not None:
            return known == self.digest(path, other, position)
        theirs = self._known.get(_mark(other)) or kept.digest
        if theirs is not None:
            return known == theirs
        now = self._places.version(path)
        if now is None or not has_mark_of(other, now):
            return False  # it has gone elsewhere, and what is here now says nothing about it
        return known == self.present_digest(path, now)

    def _next(self, path: str, version: FileVersion, position: int) -> tuple[str, FileVersion, int] | None:
        """Where a later transaction, or this one itself, put the version: into staging, or to another path."""
        for later, change in self.changes.get(path, ()):
            before = change.before
            if later < position or before is None:
                continue
            if not has_mark_of(version, before) and not self._is_copy(path, version, before, later):
                continue
            if before.kept is not None and before.kept.staged is not None:
                return path, before, later
            for target, made in self.arrived(version, later):
                return target, made, later
        return None

    def arrived(self, version: FileVersion, position: int) -> tuple[tuple[str, FileVersion], ...]:
        """Where a transaction put this very file, with its version there: a rename keeps all that a file is known by."""
        return tuple((path, made) for at, path, made in self._arrivals.get(_mark(version), ()) if at == position)

    def _came_back(self, version: FileVersion, position: int) -> tuple[str, FileVersion, int] | None:
        """Where an undo has put the very file of a version that is not in staging any more."""
        found = [one for one in self._arrivals.get(_mark(version), ()) if one[0] > position]
        return min(((path, made, at) for at, path, made in found), key=lambda one: one[2], default=None)

    @cached_property
    def _known(self) -> dict[object, str]:
        """Digests that calls knew of what they left."""
        left = [change.after for made in self.changes.values() for _, change in made]
        return {_mark(one): one.kept.digest for one in left if one and one.kept and one.kept.digest is not None}

    @cached_property
    def _left(self) -> dict[object, set[int]]:
        """When each file that was not read had been changed last, whenever a transaction had left it."""
        found: dict[object, set[int]] = {}
        for made in self.changes.values():
            for _, change in made:
                if change.after is not None and change.after.kept is not None and change.after.kept.left_ns:
                    found.setdefault(_mark(change.after), set()).add(change.after.kept.left_ns)
        return found

    @cached_property
    def _arrivals(self) -> dict[object, list[tuple[int, str, FileVersion]]]:
        found: dict[object, list[tuple[int, str, FileVersion]]] = {}
        for path, made in self.changes.items():
            for position, change in made:
                after, before = change.after, change.before
                if after is None or after.kept is None or after.kind != "file":
                    continue
                if before is None or not has_mark_of(before, after):
                    found.setdefault(_mark(after), []).append((position, path, after))
        return found

    def loading(self, path: str, version: FileVersion, position: int) -> FileVersion:
        """The version with content that can be shown, as far as it is still known."""
        if version.kind != "file":
            return version
        if version.size > DIGESTED_BYTES or version.find_digest is not None:
            return version
        if version.size > COMPARED_BYTES:
            return replace(version, find_digest=lambda: self.digest(path, version, position))

        def load() -> bytes | None:
            # The transaction itself may still know; later ones may have put the content elsewhere since.
            known = self._seen.get(_sight(path, version)) or version.content()
            if known is not None:
                return known
            try:
                stream = self.open(path, version, position)
            except HistoryDamaged:
                return None  # to look at a change is no reason to fail
            if stream is None:
                return None
            with stream:
                return stream.read(version.size + 1)

        return with_load(version, load)


def has_mark_of(one: FileVersion, other: FileVersion) -> bool:
    """Whether two versions are the same file, and nobody wrote to it in between."""
    mine, theirs = one.kept, other.kept
    if mine is None or theirs is None or one.kind != other.kind or one.size != other.size:
        return False
    return (mine.inode, mine.modified_ns) == (theirs.inode, theirs.modified_ns)


def _sight(path: str, now: FileVersion) -> object:
    """By what it is known that nothing at all of a file has changed since it was looked at; versions of calls have no such time."""
    return path, _mark(now), now.kept and now.kept.changed_ns


def _mark(version: FileVersion) -> object:
    kept = version.kept
    return None if kept is None else (kept.inode, kept.modified_ns, version.size)
