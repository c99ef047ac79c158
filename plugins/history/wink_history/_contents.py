"""Turn versions of files into entries of a tree, and remember where each pre-image went."""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import sha256
from typing import BinaryIO, Final

from wink.filesystem import COPIED_BYTES, Archived, FileVersion, Places, Versions, attributes_of
from wink.record import Stored
from wink_history._objects import DIRECTORY, EXECUTABLE, FILE, LINK
from wink_history._pack_writing import PackWriter
from wink_history._sides import attributes_text
from wink_history._trees import Entry

_SMALL: Final = 1 << 20
_RENEWALS: Final = 4
"""Calls go on beside a fold; so often it looks at what they did meanwhile."""


class Contents:
    """Reads versions into a pack; `find` gives what looks for those that are not in staging, as of now.

    `learned` are digests of what programs had left, each with the position of the transaction and the path.
    """

    def __init__(self, writer: PackWriter, find: Callable[[], Versions], places: Places) -> None:
        self._writer, self._find, self._places = writer, find, places
        self._finder, self._renewed = find(), 0
        self._by_digest: dict[str, tuple[bytes, int]] = {}
        self.stored: dict[str, Stored] = {}
        self.attributes: dict[str, dict[str, str]] = {}
        self.learned: list[tuple[str, int, str]] = []

    def take_preimage(self, version: FileVersion) -> None:
        """Store what is in staging of a file, if it is what the call found."""
        kept = version.kept
        if kept is None or kept.staged is None or version.kind != "file" or version.size > COPIED_BYTES:
            return
        stream = self._places.open_preimage(kept.staged)
        if stream is None or isinstance(stream, Archived):
            return
        with stream:
            found = os.fstat(stream.fileno())
            if (found.st_size, found.st_mtime_ns) != (version.size, kept.modified_ns):
                return  # a program that had it open went on writing to it; that is not for us to free
            added = self._add(stream, version.size)
            attributes = attributes_of(stream.fileno())
        if added is None:
            return
        oid, digest = added
        self.stored[kept.staged] = Stored(oid.hex(), digest, attributes_text(attributes))
        if attributes.extended:
            self.attributes[kept.staged] = {name: value.hex() for name, value in attributes.extended}

    def before(self, version: FileVersion, path: str, position: int) -> Entry:
        """The entry of what a call found at a path."""
        kept = version.kept
        if version.kind == "file" and kept is not None and kept.staged is not None:
            stored = self.stored.get(kept.staged)
            return self._missing(version) if stored is None else (_mode(version), bytes.fromhex(stored.blob))
        return self.after(version, path, position)

    def after(self, version: FileVersion, path: str, position: int) -> Entry:
        """The entry of what a call left at a path."""
        if version.kind == "directory":
            return DIRECTORY, b""
        if version.kind == "link" and version.target is not None:
            return LINK, self._writer.add("blob", os.fsencode(version.target))
        if version.kind != "file" or version.size > COPIED_BYTES:
            return self._missing(version)
        if version.size == 0:
            return _mode(version), self._writer.add("blob", b"")
        wanted = version.kept.digest if version.kept is not None else None
        known = None if wanted is None else self._by_digest.get(wanted)
        if known is not None and known[1] == version.size:
            return _mode(version), known[0]
        added = None if wanted is None else self._present(path, version.size, wanted)
        if added is None:
            added = self._elsewhere(path, version, position, wanted)
        return self._missing(version) if added is None else (_mode(version), added)

    def _present(self, path: str, size: int, wanted: str) -> bytes | None:
        """What is at the path now, if it is what the call wrote; most files are not changed that often."""
        if size > _SMALL:
            return None
        try:
            stream, _ = self._places.open(path)
            with stream:
                content = stream.read(size + 1)
        except OSError:
            return None
        if len(content) != size or sha256(content).hexdigest() != wanted:
            return None
        oid = self._writer.add("blob", content)
        self._by_digest[wanted] = oid, size
        return oid

    def _elsewhere(self, path: str, version: FileVersion, position: int, wanted: str | None) -> bytes | None:
        """What a later call has replaced or moved, perhaps just now."""
        for _ in range(2):
            try:
                stream = self._finder.open(path, version, position)
            except OSError:
                stream = None
            if stream is not None:
                with stream:
                    added = self._add(stream, version.size)
                if added is not None and self._is_as_left(path, version):
                    self.learned.append((added[1], position, path))
                # Somebody may have written to it in place since, or just now.
                return None if added is None or (wanted is not None and added[1] != wanted) else added[0]
            again = None if wanted is None else self._written_again(path, version, position, wanted)
            if again is not None or self._renewed >= _RENEWALS:
                return again
            self._renewed += 1
            self._finder = self._find()
        return None

    def _is_as_left(self, path: str, version: FileVersion) -> bool:
        """Whether a file that the call had not read is still there, and was not touched until it was read here."""
        now = self._places.version(path)
        left = 0 if version.kept is None else version.kept.left_ns
        return bool(left) and now is not None and now.kept is not None and now.kept.changed_ns == left

    def _written_again(self, path: str, version: FileVersion, position: int, wanted: str) -> bytes | None:
        """What a later call found, if it has the same content: to write the same again is no change, but another file."""
        for later, change in self._finder.changes.get(path, ()):
            before = change.before
            if later <= position or before is None or (before.kind, before.size) != ("file", version.size):
                continue
            try:
                stream = self._finder.open(path, before, later)
            except OSError:
                continue
            if stream is not None:
                with stream:
                    added = self._add(stream, version.size)
                if added is not None and added[1] == wanted:
                    return added[0]
        return None

    def _add(self, stream: BinaryIO, size: int) -> tuple[bytes, str] | None:
        added = self._writer.add_stream(stream, size)
        if added is not None:
            self._by_digest[added[1]] = added[0], size
        return added

    def _missing(self, version: FileVersion) -> Entry:
        """A line instead of content that is not copied, so that a diff shows that something was there."""
        since = "" if version.kept is None else f", last changed at {version.kept.modified_ns} ns"
        text = f"wink keeps no copy here of this {version.kind} of {version.size} bytes{since}\n"
        return _mode(version), self._writer.add("blob", text.encode())


def _mode(version: FileVersion) -> bytes:
    return EXECUTABLE if version.mode & 0o100 else FILE
