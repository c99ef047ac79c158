"""A file of JSON lines that is only added to, and is whole again after any crash."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from wink_batch._errors import BatchBusy, BatchDamaged

_PIECE: Final = 1 << 20


class Lines:
    """Rows in a file; the last one, if a crash has cut it off, never was.

    One that is `shared` may have been somebody's before, or be meant for several batches: raises `BatchBusy` while another
    one has it open, and takes a last line that is whole but for its end for a row.
    """

    def __init__(self, path: str, *, shared: bool = False) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            if shared:
                self._lock()
            self.rows, end = _whole(path, self._fd)
            """What was there when it was opened."""
            os.lseek(self._fd, end, os.SEEK_SET)
            rest = os.read(self._fd, os.fstat(self._fd).st_size - end) if shared else b""
            if (last := _row(rest)) is not None:  # what was cut off is never whole
                self.rows.append(last)
                if not rest.endswith(b"\n"):
                    os.write(self._fd, b"\n")
            else:
                os.ftruncate(self._fd, end)
                os.lseek(self._fd, end, os.SEEK_SET)
        except BaseException:
            os.close(self._fd)
            raise

    def _lock(self) -> None:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BatchBusy(self.path) from None

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add rows; they survive the end of the machine when this returns."""
        data = b"".join(json.dumps(row, ensure_ascii=True, default=str).encode() + b"\n" for row in rows)
        if not data:
            return
        start = os.lseek(self._fd, 0, os.SEEK_CUR)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._fd, rest) :]
            os.fsync(self._fd)
        except OSError:
            # A full disk: what is there of the row must not stand before the next one.
            os.ftruncate(self._fd, start)
            os.lseek(self._fd, start, os.SEEK_SET)
            raise

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)


def read_lines(path: str) -> list[dict[str, Any]]:
    """The rows of a file that somebody may be adding to, without changing it; none where there is no file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return []
    try:
        return _whole(path, fd)[0]
    finally:
        os.close(fd)


def _row(line: bytes) -> dict[str, Any] | None:
    """A line as a row; None for what is none."""
    try:
        row: object = json.loads(line)
    except ValueError:
        return None
    return cast("dict[str, Any]", row) if isinstance(row, dict) else None


def _whole(path: str, fd: int) -> tuple[list[dict[str, Any]], int]:
    """The rows, and where the last whole one ends."""
    data = bytearray()
    while piece := os.read(fd, _PIECE):
        data += piece
    end = data.rfind(b"\n") + 1
    rows: list[dict[str, Any]] = []
    lines = bytes(data[:end]).split(b"\n")[:-1]
    at = 0
    for number, line in enumerate(lines, 1):
        try:
            row: object = json.loads(line)
        except ValueError as error:
            if number == len(lines):  # written in two pieces, of which the second came first
                return rows, at
            raise BatchDamaged(path, f"line {number} is not JSON: {error}") from None
        if not isinstance(row, dict):
            raise BatchDamaged(path, f"line {number} is no object")
        rows.append(cast("dict[str, Any]", row))
        at += len(line) + 1
    return rows, end
