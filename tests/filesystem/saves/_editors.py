"""Save files in the ways in which people's programs do it, and remember every byte that was saved."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Final

SIZE: Final = 2048
"""Of the file that everybody works on: its first line belongs to the calls, the rest to the person."""

_PLACES: Final = range(64, SIZE - 64, 32)
_numbers = count()


class NotSaved(Exception):
    """The program was told that it could not save, and so is the person who sits before it."""


@dataclass
class Editor:
    """A person with a program that has a file open, or not; `saved` are the marks that must be found again.

    `begin` is done before the call, `strike` at some step of it, `later` a few steps after that, and `end` when it is over.
    """

    path: Path
    fd: int = -1
    mapping: mmap.mmap | None = None
    saved: list[bytes] = field(default_factory=list)
    place: int = 0

    def begin(self) -> None:
        """Before the call."""

    def strike(self) -> None:
        """At the chosen step."""

    def later(self) -> None:
        """Some steps later."""

    def end(self) -> None:
        """The call is over; the program goes on for a while, and is closed."""

    # -- what they do

    def mark(self) -> bytes:
        """Something that nobody has written before."""
        return b"<saved %012d>" % next(_numbers)

    def whole(self, mark: bytes) -> bytes:
        """A whole file of the usual size with a mark in it."""
        return b"one line\n" + b"%-*b" % (SIZE - 10, mark) + b"\n"

    def open(self, flags: int) -> None:
        """Open the file, or learn that it cannot be opened."""
        try:
            self.fd = os.open(self.path, flags | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise NotSaved from error

    def write(self, data: bytes, mark: bytes) -> None:
        """Write at the descriptor's position."""
        self._require_open()
        os.write(self.fd, data)
        self.saved.append(mark)

    def patch(self) -> None:
        """Write a mark into the middle of the file, whose size stays the same."""
        self._require_open()
        mark = self.mark()
        os.pwrite(self.fd, mark, self._next())
        self.saved.append(mark)

    def map(self) -> None:
        """Map the file, to be written through memory; the descriptor is not needed any more."""
        self.open(os.O_RDWR)
        try:
            self.mapping = mmap.mmap(self.fd, SIZE)
        except (OSError, ValueError) as error:
            raise NotSaved from error  # it is shorter than that by now
        finally:
            self.close()

    def store(self, *, sync: bool = False) -> None:
        """Write a mark through memory."""
        if self.mapping is not None:
            mark, at = self.mark(), self._next()
            self.mapping[at : at + len(mark)] = mark
            self.saved.append(mark)
            if sync:
                self.mapping.flush()

    def close(self) -> None:
        """Close the file."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def unmap(self) -> None:
        """Close the mapping."""
        if self.mapping is not None:
            self.mapping.close()
            self.mapping = None

    def _require_open(self) -> None:
        if self.fd < 0:
            raise NotSaved  # it could not be opened before

    def _next(self) -> int:
        self.place += 1
        return _PLACES[self.place % len(_PLACES)]


class InPlace(Editor):
    """Truncate and write, as nano does."""

    def strike(self) -> None:
        mark = self.mark()
        self.open(os.O_WRONLY | os.O_TRUNC | os.O_CREAT)
        self.write(self.whole(mark), mark)
        self.close()


class InPlaceSlowly(Editor):
    """Truncate and write the first half, and the second one some steps later."""

    def strike(self) -> None:
        self.mine = self.mark()
        self.open(os.O_WRONLY | os.O_TRUNC | os.O_CREAT)
        self.write(b"one line\n" + self.mine, self.mine)

    def later(self) -> None:
        if self.fd >= 0:
            mark = self.mark()
            self.write(mark + b"\n", mark)

    def end(self) -> None:
        self.later()
        self.close()


class SameSize(Editor):
    """Change some bytes in the middle, as a database or a hex editor does."""

    def strike(self) -> None:
        self.open(os.O_RDWR)
        self.patch()
        self.close()


class OpenedBefore(Editor):
    """A descriptor from before the call, through which is written at the step, later, and when all is over."""

    def begin(self) -> None:
        self.open(os.O_RDWR)

    def strike(self) -> None:
        self.patch()

    later = strike

    def end(self) -> None:
        self.patch()
        self.close()


class OpenedAtTheStep(Editor):
    """Opened at the step, and first written to when all is over."""

    def strike(self) -> None:
        self.open(os.O_RDWR)

    def end(self) -> None:
        if self.fd >= 0:
            self.patch()
            self.close()


class ClosedAtTheStep(Editor):
    """Opened before the call, written to and closed at the step."""

    def begin(self) -> None:
        self.open(os.O_RDWR)

    def strike(self) -> None:
        self.patch()
        self.close()

    def end(self) -> None:
        self.close()


class ByRename(Editor):
    """Write beside it and rename over it, as most editors do."""

    def strike(self) -> None:
        mark = self.mark()
        beside = self.path.with_name(f".{self.path.name}.swp")
        try:
            beside.write_bytes(self.whole(mark))
            os.rename(beside, self.path)
        except OSError as error:
            raise NotSaved from error
        self.saved.append(mark)


class WithBackup(Editor):
    """Rename the old one to a backup and write a new one, as vim does."""

    def strike(self) -> None:
        backup, mark = self.path.with_name(self.path.name + "~"), self.mark()
        try:
            os.rename(self.path, backup)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise NotSaved from error
        self.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        self.write(self.whole(mark), mark)
        self.close()


class WithLinkedBackup(Editor):
    """Give the old one a second name and rename a new one over it, as some do so that the name never is missing."""

    def strike(self) -> None:
        try:
            os.link(self.path, self.path.with_name(self.path.name + "~"))
        except OSError as error:
            raise NotSaved from error
        ByRename.strike(self)  # type: ignore[arg-type]


class ByAppend(Editor):
    """Open, append a line, close."""

    def strike(self) -> None:
        mark = self.mark()
        self.open(os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.write(mark + b"\n", mark)
        self.close()


class ALog(Editor):
    """A log that was open all the time, and gets a line at the step, one later, and one when all is over."""

    def begin(self) -> None:
        self.open(os.O_WRONLY | os.O_APPEND)

    def strike(self) -> None:
        mark = self.mark()
        self.write(mark + b"\n", mark)

    later = strike

    def end(self) -> None:
        ALog.strike(self)
        self.close()


class Mapped(Editor):
    """A mapping from before the call that has been written to: what is stored now changes no time of the file."""

    def begin(self) -> None:
        self.map()
        self.store()

    def strike(self) -> None:
        self.store()

    later = strike

    def end(self) -> None:
        self.store()
        self.unmap()


class MappedAndSynced(Mapped):
    """The same, with what was stored sent to the disk each time."""

    def strike(self) -> None:
        self.store(sync=True)

    later = strike


class MappedAndClosed(Mapped):
    """The same, closed at the step."""

    def strike(self) -> None:
        self.store()
        self.unmap()


class MappedAtTheStep(Editor):
    """Mapped and stored to at the step, again later, and again when all is over."""

    def strike(self) -> None:
        self.map()
        self.store()

    def later(self) -> None:
        self.store()

    def end(self) -> None:
        self.store()
        self.unmap()


WAYS: Final[dict[str, Callable[[Path], Editor]]] = {
    "in place": InPlace,
    "in place, slowly": InPlaceSlowly,
    "in place, same size": SameSize,
    "through a descriptor from before": OpenedBefore,
    "the same, closed at the step": ClosedAtTheStep,
    "opened at the step, written at the end": OpenedAtTheStep,
    "by rename": ByRename,
    "by rename, old one to a backup": WithBackup,
    "by rename, old one linked to a backup": WithLinkedBackup,
    "by append": ByAppend,
    "by append, open all the time": ALog,
    "by mmap from before": Mapped,
    "the same, with msync": MappedAndSynced,
    "the same, unmapped at the step": MappedAndClosed,
    "by mmap at the step": MappedAtTheStep,
}
