"""Read objects out of a pack that anybody may have written.

Nothing in a pack is trusted: lengths are bounded before anything of that length is made, offsets are looked up in the file
and nowhere else, and whoever asks for an object gets that very one or `Malformed`. Packs of git have deltas, ours do not.
"""

from __future__ import annotations

import os
import stat
import struct
import zlib
from typing import Final, NamedTuple

from wink_history._objects import ID_BYTES, Kind, Malformed, object_id
from wink_history._pack_writing import TYPES

MOST_BYTES: Final = 1 << 28
"""No object of wink's is larger; see `wink_history._contents`."""

_KINDS: Final[dict[int, Kind]] = {number: kind for kind, number in TYPES.items()}
_BY_OFFSET, _BY_ID = 6, 7
_DELTAS: Final = (_BY_OFFSET, _BY_ID)
_FANOUT: Final = 8
_NAMES: Final = _FANOUT + 256 * 4
_FEW: Final = 20_000
"""The names of so many objects are held in memory."""
_PIECE: Final = 1 << 16
_HEAD: Final = 64
_DEEPEST: Final = 4095
"""Git makes no longer chains of deltas."""
_LARGE: Final = 1 << 31
_MOST_KEPT: Final = 4 << 20
"""So many bytes of what deltas were applied to, or made, are kept for the next object: versions of files share their bases."""


class _Entry(NamedTuple):
    type: int
    size: int
    base: int | bytes
    data: int
    """Where the compressed bytes begin."""


class Pack:
    """One pack in the directory `directory`, by its name without an ending; close it after use."""

    __slots__ = ("_all", "_bases", "_count", "_fanout", "_index", "_kept", "_pack", "name")

    def __init__(self, directory: int, name: str) -> None:
        self.name = name
        self._bases: dict[int, tuple[Kind, bytes]] = {}
        self._kept = 0
        self._pack = -1
        self._index = open_plain(directory, f"{name}.idx")
        try:
            self._pack = open_plain(directory, f"{name}.pack")
            head = os.pread(self._index, _NAMES, 0)
            if len(head) != _NAMES or head[:_FANOUT] != b"\377tOc\0\0\0\2":
                raise Malformed(f"{name}.idx is no index")
            self._fanout = struct.unpack_from(">256I", head, _FANOUT)
            self._count = self._fanout[-1]
            if self._count * 28 > os.fstat(self._index).st_size or list(self._fanout) != sorted(self._fanout):
                raise Malformed(f"{name}.idx counts more objects than it has")
            self._all = self._read_names(0, self._count) if self._count <= _FEW else b""
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close its files."""
        for fd in (self._index, self._pack):
            if fd >= 0:
                os.close(fd)
        self._index = self._pack = -1

    @property
    def size(self) -> int:
        """In bytes, without its index."""
        return os.fstat(self._pack).st_size

    def ids(self) -> list[bytes]:
        """All objects in it."""
        names = self._names(0, self._count)
        return [names[at : at + ID_BYTES] for at in range(0, len(names), ID_BYTES)]

    def find(self, oid: bytes) -> int | None:
        """Where an object begins, or None."""
        first, fanout = oid[0], self._fanout
        low, high = fanout[first - 1] if first else 0, fanout[first]
        if low == high:
            return None
        names = self._names(low, high)
        at = names.find(oid)
        while at >= 0 and at % ID_BYTES:
            at = names.find(oid, at + 1)
        return None if at < 0 else self._offset(low + at // ID_BYTES)

    def read(self, oid: bytes, offset: int) -> tuple[Kind, bytes]:
        """The object that begins at `offset`, which must be `oid`; raises `Malformed`."""
        deltas: list[tuple[int, _Entry]] = []
        while (known := self._bases.get(offset)) is None:
            entry = self._entry(offset)
            if entry.type not in _DELTAS:
                if entry.type not in _KINDS:
                    raise Malformed(f"there is no object of type {entry.type}")
                known = _KINDS[entry.type], self._inflate(entry)[0]
                break
            deltas.append((offset, entry))
            if len(deltas) > _DEEPEST:
                raise Malformed("a chain of deltas never ends")
            base = entry.base if isinstance(entry.base, int) else self.find(entry.base)
            if base is None or (isinstance(entry.base, int) and base >= offset):
                raise Malformed("a delta lacks its base")
            offset = base
        kind, content = known
        for at, delta in reversed(deltas):
            self._keep(offset, kind, content)
            offset, content = at, _applied(self._inflate(delta)[0], content)
        if object_id(kind, content) != oid:
            raise Malformed(f"what is stored as {oid.hex()} is something else")
        return kind, content

    def _keep(self, offset: int, kind: Kind, base: bytes) -> None:
        """Remember what is at an offset, and forget what was remembered first."""
        if offset not in self._bases and len(base) <= _MOST_KEPT:
            self._bases[offset] = kind, base
            self._kept += len(base)
            while self._kept > _MOST_KEPT:
                self._kept -= len(self._bases.pop(next(iter(self._bases)))[1])

    def raw(self, oid: bytes, offset: int) -> bytes | None:
        """The bytes of an object as they stand here, once checked; None for a delta."""
        entry = self._entry(offset)
        kind = _KINDS.get(entry.type)
        if kind is None:
            return None
        content, end = self._inflate(entry)
        if object_id(kind, content) != oid:
            raise Malformed(f"what is stored as {oid.hex()} is something else")
        return os.pread(self._pack, end - offset, offset)

    def _names(self, low: int, high: int) -> bytes:
        return self._all[low * ID_BYTES : high * ID_BYTES] if self._all else self._read_names(low, high)

    def _read_names(self, low: int, high: int) -> bytes:
        names = os.pread(self._index, (high - low) * ID_BYTES, _NAMES + low * ID_BYTES)
        if len(names) != (high - low) * ID_BYTES:
            raise Malformed(f"{self.name}.idx ends too early")
        return names

    def _offset(self, number: int) -> int:
        offsets = _NAMES + self._count * (ID_BYTES + 4)
        offset = self._number(offsets + number * 4, 4)
        if offset & _LARGE:
            offset = self._number(offsets + self._count * 4 + (offset & ~_LARGE) * 8, 8)
        return offset

    def _number(self, at: int, length: int) -> int:
        found = os.pread(self._index, length, at)
        if len(found) != length:
            raise Malformed(f"{self.name}.idx ends too early")
        return int.from_bytes(found, "big")

    def _entry(self, offset: int) -> _Entry:
        if not 12 <= offset < 1 << 62:
            raise Malformed("an object begins outside of its pack")
        head = os.pread(self._pack, _HEAD, offset)
        size, at = _varint(head, 0, first=4)
        kind = head[0] >> 4 & 7
        if size > MOST_BYTES:
            raise Malformed(f"an object claims {size} bytes")
        base: int | bytes = 0
        if kind == _BY_OFFSET:
            back, at = _back(head, at)
            base = offset - back
        elif kind == _BY_ID:
            base = head[at : at + ID_BYTES]
            at += ID_BYTES
            if len(base) != ID_BYTES:
                raise Malformed("a delta names no base")
        return _Entry(kind, size, base, offset + at)

    def _inflate(self, entry: _Entry) -> tuple[bytes, int]:
        """The content, and where its compressed bytes end."""
        at, pieces, length = entry.data, list[bytes](), 0
        most = min(entry.size + _HEAD, _PIECE)  # hardly anything is longer when it is compressed
        inflate = zlib.decompressobj()
        try:
            while not inflate.eof:
                piece = os.pread(self._pack, most, at)
                if not piece:
                    raise Malformed("a pack ends in the middle of an object")
                at += len(piece)
                made = inflate.decompress(piece, entry.size + 1 - length)
                pieces.append(made)
                length += len(made)
                if length > entry.size or inflate.unconsumed_tail:
                    raise Malformed("an object is longer than it says")
        except zlib.error as error:
            raise Malformed(f"an object cannot be read: {error}") from None
        if length != entry.size:
            raise Malformed("an object is shorter than it says")
        return b"".join(pieces), at - len(inflate.unused_data)


def open_plain(directory: int, name: str) -> int:
    """A plain file that is no link, for reading; raises `Malformed` for anything else that has the name."""
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise Malformed(f"{name} is not a plain file")
    return fd


def _varint(data: bytes, at: int, *, first: int = 7) -> tuple[int, int]:
    """A number in pieces of 7 bits, the lowest first; the first piece may have fewer."""
    value, shift = 0, 0
    bits = first
    while at < len(data) and shift < 63:
        byte = data[at]
        at += 1
        value |= (byte & (1 << bits) - 1) << shift
        shift, bits = shift + bits, 7
        if not byte & 0x80:
            return value, at
    raise Malformed("a number never ends")


def _back(data: bytes, at: int) -> tuple[int, int]:
    """How far back the base of a delta lies, in git's other way of writing numbers."""
    value = -1
    while at < len(data) and value < 1 << 56:
        byte = data[at]
        at += 1
        value = value + 1 << 7 | byte & 0x7F
        if not byte & 0x80:
            return value, at
    raise Malformed("a number never ends")


def _applied(delta: bytes, base: bytes) -> bytes:
    """What a delta makes of its base."""
    length, at = _varint(delta, 0)
    size, at = _varint(delta, at)
    if length != len(base) or size > MOST_BYTES:
        raise Malformed("a delta is for something else")
    made = bytearray()
    while at < len(delta):
        op = delta[at]
        at += 1
        if op & 0x80:
            numbers = [0, 0, 0, 0, 0, 0, 0]
            for bit in range(7):
                if op >> bit & 1:
                    if at == len(delta):
                        raise Malformed("a delta ends too early")
                    numbers[bit] = delta[at]
                    at += 1
            begin = int.from_bytes(bytes(numbers[:4]), "little")
            count = int.from_bytes(bytes(numbers[4:]), "little") or 0x10000
            piece = base[begin : begin + count]
        else:
            count = op
            piece = delta[at : at + count]
            at += count
        if not op or len(piece) != count or len(made) + count > size:
            raise Malformed("a delta copies what is not there")
        made += piece
    if len(made) != size:
        raise Malformed("a delta makes something shorter than it says")
    return bytes(made)
