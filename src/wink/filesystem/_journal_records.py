"""Write down what a transaction is about to do to files, so that it can be taken back after any crash.

A journal is a header and records, each with its length and checksum. A record is written before the operation that it
describes; one that is cut short describes an operation that was never begun. A compensation says that everything from
some record on has been taken back (as in ARIES, Mohan et al. 1992), so that an interrupted rollback goes on where it
stopped.

Files of ended journals are used again without emptying them (ext4 writes a file that was emptied to the disk at once,
which takes milliseconds). So the header is wiped first, and every journal has its own salt in its header, with which all
its checksums begin: records of an earlier journal, further back in the file, are no records.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Mapping
from itertools import chain
from typing import Final, Literal, NamedTuple

Kind = Literal["X", "C", "D", "N", "M", "T", "P", "W", "K", "E"]
"""What a record is about.

====  =======================================================================================================
X     overwrite: the new content and the old file change places, and staging holds the old file
C     create: a file or link comes from staging; `note` is a link's body
D     delete: whatever it is goes to staging, a directory with all that is in it
N     rename; `note` is the new path
M     make a directory
T     remove an empty directory that staging cannot hold
P     change permission bits; `note` is the new ones
W     write in place: staging holds a copy of the old content and, with `~` after its name, of the new
K     create in place: staging holds a copy of the new content (`~`); `note` is a link's body
E     delete by copy: staging holds a copy; `note` is a link's body
====  =======================================================================================================
"""

MAGIC: Final = b"WINKWAL\x01"
HEADER_BYTES: Final = len(MAGIC) + 8
_FRAME: Final = struct.Struct("<II")
_COMPENSATION: Final = "U"


class Mark(NamedTuple):
    """By what a file is known again: a rename changes none of it, and whoever saves the file changes some of it."""

    ino: int
    size: int
    modified_ns: int
    mode: int

    def fits(self, found: os.stat_result) -> bool:
        """Whether `found` is this file, and nobody wrote to it."""
        return found.st_ino == self.ino and found.st_size == self.size and found.st_mtime_ns == self.modified_ns


def mark(found: os.stat_result) -> Mark:
    """The mark of a file as it is now."""
    return Mark(found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode)


class Record(NamedTuple):
    """One operation. `path` is real and relative to the root; `staged` is the pre-image's name in staging.

    `old` is what is at the path before, `new` what comes there; `times` are the access and modification times of the
    directory before the operation, and for a rename those of the other directory after them.
    """

    seq: int
    kind: Kind
    path: str
    staged: str
    old: Mark | None
    new: Mark | None
    times: tuple[int, ...]
    note: str = ""


def header(salt: bytes) -> bytes:
    """How a journal begins; `salt` is 8 bytes that no other journal has."""
    return MAGIC + salt


def encoded(record: Record, salt: bytes) -> bytes:
    """A record as it is appended to a journal."""
    seq, kind, path, staged, old, new, times, note = record
    return _framed(
        f"{seq}\0{kind}\0{path}\0{staged}\0{_numbers(old)}\0{_numbers(new)}\0{_numbers(times)}\0{note}", salt
    )


def compensation(seq: int, renumbered: Mapping[int, int], salt: bytes) -> bytes:
    """The news that everything from record `seq` on has been taken back, and which inodes came back as others."""
    return _framed(f"{seq}\0{_COMPENSATION}\0{_numbers(tuple(chain.from_iterable(renumbered.items())))}", salt)


class Standing(NamedTuple):
    """What a journal says: the records that were not taken back, and by which inodes restored copies go now.

    `size` is how many of its bytes are whole.
    """

    records: list[Record]
    renumbered: dict[int, int]
    size: int


def standing(journal: bytes) -> Standing:
    """Read a journal.

    >>> one = Record(1, "M", "src", "", None, None, (0, 0))
    >>> two = one._replace(seq=2, path="src/new")
    >>> salt = b"8 bytes!"
    >>> journal = header(salt) + encoded(one, salt) + encoded(two, salt) + compensation(2, {}, salt)
    >>> standing(journal + b"torn").records == [one]
    True
    >>> standing(journal + encoded(two, b"another.")).records == [one]
    True
    """
    records: list[Record] = []
    renumbered: dict[int, int] = {}
    at = HEADER_BYTES
    seed = zlib.crc32(journal[len(MAGIC) : HEADER_BYTES])
    while at + _FRAME.size <= len(journal):
        length, checksum = _FRAME.unpack_from(journal, at)
        body = journal[at + _FRAME.size : at + _FRAME.size + length]
        if len(body) < length or zlib.crc32(body, seed) != checksum:
            break
        fields = body.decode("utf-8", "surrogateescape").split("\0")
        if fields[1] == _COMPENSATION:
            seq = int(fields[0])
            while records and records[-1].seq >= seq:
                records.pop()
            numbers = list(map(int, fields[2].split()))
            renumbered = dict(zip(numbers[::2], numbers[1::2], strict=True))
        else:
            records.append(_record(fields))
        at += _FRAME.size + length
    return Standing(records, renumbered, at)


def beginning(journal: bytes, seq: int) -> int:
    """Where record `seq` begins in a whole journal.

    >>> one, salt = Record(1, "M", "src", "", None, None, (0, 0)), b"8 bytes!"
    >>> beginning(header(salt) + encoded(one, salt) + encoded(one._replace(seq=2), salt), 2) == HEADER_BYTES + len(encoded(one, salt))
    True
    """
    at = HEADER_BYTES
    while at < len(journal):
        length, _ = _FRAME.unpack_from(journal, at)
        found, kind = journal[at + _FRAME.size : at + _FRAME.size + length].split(b"\0", 2)[:2]
        if int(found) == seq and kind.decode() != _COMPENSATION:
            return at
        at += _FRAME.size + length
    return at


def _framed(text: str, salt: bytes) -> bytes:
    body = text.encode("utf-8", "surrogateescape")
    return _FRAME.pack(len(body), zlib.crc32(body, zlib.crc32(salt))) + body


def _numbers(values: tuple[int, ...] | None) -> str:
    return " ".join(map(str, values)) if values else ""


def _record(fields: list[str]) -> Record:
    seq, kind, path, staged, old, new, times, note = fields
    return Record(int(seq), kind, path, staged, _mark(old), _mark(new), tuple(map(int, times.split())), note)  # type: ignore[arg-type]


def _mark(text: str) -> Mark | None:
    return Mark(*map(int, text.split())) if text else None
