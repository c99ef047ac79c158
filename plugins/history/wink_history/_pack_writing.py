"""Write objects into one pack with its index, as git reads them.

The formats are those of git's `gitformat-pack` page: version 2 of both. Objects are whole, never deltas, so that writing
is one pass. A pack that is not finished has no name that git would look at, and `git gc` clears it away.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO, Final

from wink_history._objects import Kind, object_id

TYPES: Final[dict[Kind, int]] = {"commit": 1, "tree": 2, "blob": 3}

UNUSED: Final = "tmp_unused_"
"""How the index is called of a pack that is not in use yet, or not any more; its name follows."""
_HEADER: Final = b"PACK" + (2).to_bytes(4, "big")
_CHUNK: Final = 1 << 20
_SAMPLE: Final = 1 << 14
_WORTH_TRYING: Final = 256
"""Content below this size is compressed without a look at whether that helps."""
_SHORT: Final = 1 << 10
"""Content of so few bytes needs no larger window; to make the usual one ready costs more than to compress."""
_LARGE_OFFSET: Final = 1 << 31


class PackWriter:
    """Collects objects in the directory `pack` of a repository; `has` tells which are there already."""

    __slots__ = ("_at", "_entries", "_fd", "_has", "_name", "_pack", "_waiting")

    def __init__(self, pack: int, has: Callable[[bytes], bool]) -> None:
        self._pack, self._has = pack, has
        self._entries: dict[bytes, tuple[int, int]] = {}
        self._waiting = bytearray()
        self._at = len(_HEADER) + 4
        self._fd, self._name = -1, ""

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, oid: bytes) -> bool:
        return oid in self._entries

    @property
    def size(self) -> int:
        """How many bytes the pack has so far."""
        return self._at

    def add(self, kind: Kind, content: bytes) -> bytes:
        """Take an object in, unless it is there; gives its id."""
        oid = object_id(kind, content)
        if oid not in self._entries and not self._has(oid):
            self._put(oid, _head(kind, len(content)) + _compressed(content))
        return oid

    def add_stream(self, stream: BinaryIO, size: int) -> tuple[bytes, str] | None:
        """Take a blob of `size` bytes in, in pieces; gives its id and the SHA-256 of its content.

        None where the stream does not have just so many bytes.
        """
        if size <= _CHUNK:
            content = stream.read(size + 1)
            while 0 < len(content) <= size and (more := stream.read(size + 1 - len(content))):
                content += more
            if len(content) != size:
                return None
            return self.add("blob", content), hashlib.sha256(content).hexdigest()
        return self._add_large(stream, size)

    def copy(self, oid: bytes, entry: bytes) -> None:
        """Take an object in as it stands in another pack, where it is whole."""
        if oid not in self._entries:
            self._put(oid, entry)

    def finish(self, *, durable: bool) -> str | None:
        """Give the pack its name; None when there is nothing in it. With `durable` it survives a cut of power."""
        if not self._entries:
            self.abandon()
            return None
        try:
            self._spill()
            os.pwrite(self._fd, _HEADER + len(self._entries).to_bytes(4, "big"), 0)
            checksum = _checksum(self._fd)
            _write(self._fd, checksum)
            os.fchmod(self._fd, 0o444)
            index = _index_name(self._name)
            fd = os.open(index, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444, dir_fd=self._pack)
            try:
                _write(fd, _index(self._entries, checksum))
                if durable:
                    os.fsync(self._fd)
                    os.fsync(fd)
            finally:
                os.close(fd)
            name = f"pack-{checksum.hex()}"
            # Whoever sees an index expects its pack; a pack that never gets one is known by the draft.
            self._move(index, UNUSED + name)
            self._move(self._name, f"{name}.pack")
            self._move(UNUSED + name, f"{name}.idx")
            if durable:
                os.fsync(self._pack)
        finally:
            self.abandon()
        return name

    def _move(self, old: str, new: str) -> None:
        os.rename(old, new, src_dir_fd=self._pack, dst_dir_fd=self._pack)

    def abandon(self) -> None:
        """Leave nothing behind; harmless when the pack is finished."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            for name in (self._name, _index_name(self._name)):
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=self._pack)

    def _put(self, oid: bytes, entry: bytes) -> None:
        self._entries[oid] = self._at, zlib.crc32(entry)
        self._waiting += entry
        self._at += len(entry)
        if len(self._waiting) > _CHUNK:
            self._spill()

    def _add_large(self, stream: BinaryIO, size: int) -> tuple[bytes, str] | None:
        self._spill()
        begin, crc, left = self._at, 0, size
        sha1 = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        sha256 = hashlib.sha256()
        press = None
        piece = _head("blob", size)
        while left >= 0:
            crc = zlib.crc32(piece, crc)
            _write(self._fd, piece)
            self._at += len(piece)
            chunk = stream.read(min(_CHUNK, left + 1))
            if not chunk:
                break
            left -= len(chunk)
            sha1.update(chunk)
            sha256.update(chunk)
            press = press or zlib.compressobj(_level(chunk))
            piece = press.compress(chunk)
        oid = sha1.digest()
        if left == 0 and press is not None and oid not in self._entries and not self._has(oid):
            piece = press.flush()
            _write(self._fd, piece)
            self._at += len(piece)
            self._entries[oid] = begin, zlib.crc32(piece, crc)
        else:
            os.ftruncate(self._fd, begin)
            os.lseek(self._fd, begin, os.SEEK_SET)
            self._at = begin
        return (oid, sha256.hexdigest()) if left == 0 else None

    def _spill(self) -> None:
        if self._fd < 0:
            self._name = f"tmp_pack_{os.getpid()}_{os.urandom(6).hex()}"
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._fd = os.open(self._name, flags, 0o600, dir_fd=self._pack)
            os.lseek(self._fd, len(_HEADER) + 4, os.SEEK_SET)
        _write(self._fd, self._waiting)
        self._waiting = bytearray()


def _index_name(pack: str) -> str:
    return pack.replace("pack", "idx")


def _head(kind: Kind, size: int) -> bytes:
    byte = TYPES[kind] << 4 | size & 15
    size >>= 4
    head = bytearray()
    while size:
        head.append(byte | 0x80)
        byte = size & 0x7F
        size >>= 7
    head.append(byte)
    return bytes(head)


def _compressed(content: bytes) -> bytes:
    if len(content) > _SHORT:
        return zlib.compress(content, _level(content))
    press = zlib.compressobj(1, zlib.DEFLATED, 10, 2)
    return press.compress(content) + press.flush()


def _level(content: bytes) -> int:
    """How hard to try: not at all with what is compressed already, which would cost the most time for nothing."""
    if len(content) < _WORTH_TRYING:
        return 1
    # From the middle: many formats begin with a header that can be compressed well.
    middle = max(len(content) // 2 - _SAMPLE // 2, 0)
    sample = content[middle : middle + min(_SAMPLE, len(content))]
    return 1 if len(content) <= _SAMPLE or len(zlib.compress(sample, 1)) < 0.95 * len(sample) else 0


def _write(fd: int, data: bytes | bytearray) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _checksum(fd: int) -> bytes:
    sha1 = hashlib.sha1(usedforsecurity=False)
    at = 0
    while chunk := os.pread(fd, _CHUNK, at):
        sha1.update(chunk)
        at += len(chunk)
    return sha1.digest()


def _index(entries: dict[bytes, tuple[int, int]], checksum: bytes) -> bytes:
    oids = sorted(entries)
    counts = [0] * 256
    for oid in oids:
        counts[oid[0]] += 1
    total = 0
    out = bytearray(b"\377tOc" + (2).to_bytes(4, "big"))
    for count in counts:
        total += count
        out += total.to_bytes(4, "big")
    out += b"".join(oids)
    for oid in oids:
        out += entries[oid][1].to_bytes(4, "big")
    large: list[int] = []
    for oid in oids:
        offset = entries[oid][0]
        if offset >= _LARGE_OFFSET:
            large.append(offset)
            offset = _LARGE_OFFSET | len(large) - 1
        out += offset.to_bytes(4, "big")
    for offset in large:
        out += offset.to_bytes(8, "big")
    out += checksum
    return bytes(out + hashlib.sha1(out, usedforsecurity=False).digest())
