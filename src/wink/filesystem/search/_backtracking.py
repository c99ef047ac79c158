"""Search for what RE2 cannot express, in a process that is killed when it takes too long.

Look-around and back-references need an engine that tries one way after the other, and nothing can interrupt Python's
while it does. So it works in a process of its own, which is started once, is given the lines, has its memory bounded,
and ends with this one.
"""

from __future__ import annotations

import atexit
import errno
import os
import select
import struct
import sys
import threading
import time
from bisect import bisect_left
from subprocess import DEVNULL, PIPE, Popen
from typing import Final

from wink.errors import PatternError
from wink.filesystem.search import _backtracking_worker as protocol

_LONGEST: Final = 1.25
"""How long one answer may take, in seconds; lines are sent in pieces that take a hundredth of that."""
_PATIENCE: Final = 0.5
"""How much longer than honest patterns one may take in all, in seconds of the processor."""
_GRACE: Final = 2e-4
_SLOW: Final = 1e-6
"""What honest patterns never take: so many seconds for one answer, and so many for each byte."""
_STARTING: Final = 20.0
_PIECE: Final = 256 * 1024
_MOST: Final = 1000

TOO_SLOW: Final = "takes too long; write it with fewer and smaller repetitions"


class Backtracking:
    """A search within single lines, as `Search` describes it, that asks the worker.

    Raises `PatternError` when it is made for what Python's engine cannot express either, and when the search takes too
    long.
    """

    __slots__ = ("_content", "_ends", "_ignores_case", "_pattern", "_starts", "_until", "_wasted")

    def __init__(self, pattern: str, *, ignore_case: bool) -> None:
        self._pattern, self._ignores_case = pattern, ignore_case
        self._wasted = 0.0
        self._content: bytes | None = None
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._until = 0
        self._ask(b"")

    def __call__(self, content: bytes, start: int) -> tuple[int, int] | None:
        if content is not self._content or start < (self._starts[0] if self._starts else self._until):
            self._content, self._until = content, start
            self._starts.clear()
            self._ends.clear()
        while True:
            at = bisect_left(self._starts, start)
            if at < len(self._starts):
                return self._starts[at], self._ends[at]
            if self._until >= len(content):
                return None
            self._search_piece(content, max(self._until, start))

    def _search_piece(self, content: bytes, start: int) -> None:
        """Have the next lines searched, as many as make up a piece or give as many matches as one answer holds."""
        stop = content.find(b"\n", start + _PIECE) + 1 or len(content)
        is_part, found = self._ask(content[start:stop])
        self._starts = [start + at for at in found[::2]]
        self._ends = [start + at for at in found[1::2]]
        self._until = (content.find(b"\n", self._ends[-1]) + 1 or len(content)) if is_part else stop

    def _ask(self, lines: bytes) -> tuple[bool, tuple[int, ...]]:
        kind, took, answer = _exchange(self._pattern, self._ignores_case, lines)
        self._wasted += max(0.0, took - _GRACE - len(lines) * _SLOW)
        if self._wasted > _PATIENCE:
            raise PatternError(self._pattern, TOO_SLOW)
        if kind == protocol.TOO_LARGE:
            raise PatternError(self._pattern, "needs too much memory; write it with fewer and smaller repetitions")
        if kind == protocol.REFUSED:
            raise PatternError(self._pattern, f"is not a regular expression ({answer.decode(errors='replace')})")
        return kind == protocol.PART, struct.unpack(f"<{len(answer) // 4}I", answer)


class _Gone(Exception):
    """The worker ended without an answer."""


class _Late(Exception):
    """The worker was still at it when its time was over."""


class _Worker:
    """The process and the two pipes to it."""

    __slots__ = ("_process", "_sink", "_source")

    def __init__(self) -> None:
        if not sys.executable or not hasattr(select, "poll"):
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        self._process: Final = Popen(
            [sys.executable, "-I", "-S", "-W", "ignore", protocol.__file__],
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            cwd="/",
            bufsize=0,
            start_new_session=True,  # an interrupt at the terminal is for us to answer
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._sink: Final = self._process.stdin.fileno()
        self._source: Final = self._process.stdout.fileno()
        os.set_blocking(self._sink, False)
        os.set_blocking(self._source, False)
        try:
            self._read(1, time.monotonic() + _STARTING)
        except BaseException:
            self.end()
            raise

    def ask(self, request: bytes) -> tuple[int, float, bytes]:
        """What kind of answer it is, how long it took in seconds of the processor, and the answer."""
        until = time.monotonic() + _LONGEST
        rest = memoryview(request)
        while rest:
            self._wait(self._sink, select.POLLOUT, until)
            try:
                rest = rest[os.write(self._sink, rest) :]
            except BrokenPipeError:
                raise _Gone from None
        kind, took, size = protocol.ANSWER.unpack(self._read(protocol.ANSWER.size, until))
        return kind, took / 1e6, self._read(size, until)

    def _read(self, size: int, until: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            self._wait(self._source, select.POLLIN, until)
            more = os.read(self._source, size - len(data))
            if not more:
                raise _Gone
            data += more
        return bytes(data)

    def _wait(self, fd: int, event: int, until: float) -> None:
        poll = select.poll()
        poll.register(fd, event)
        if not poll.poll(max(0.0, until - time.monotonic()) * 1000):
            raise _Late

    def end(self) -> None:
        """Kill it, whatever it does."""
        self._process.kill()
        self._process.wait()
        self.forget()

    def forget(self) -> None:
        """Close the pipes and claim nothing about the process, which in a forked child is the parent's."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        if self._process.returncode is None:
            self._process.returncode = 0


_lock = threading.Lock()
_worker: _Worker | None = None


def _exchange(pattern: str, ignores_case: bool, lines: bytes) -> tuple[int, float, bytes]:
    """One request and its answer; a worker that somebody has killed meanwhile is started again."""
    global _worker
    encoded = pattern.encode()
    request = protocol.REQUEST.pack(len(encoded), len(lines), ignores_case, _MOST) + encoded + lines
    with _lock:
        for is_last in (False, True):
            try:
                if _worker is None:
                    _worker = _Worker()
                return _worker.ask(request)
            except BaseException as error:
                # Whatever is left in the pipes must not be taken for the answer to the next request.
                _end()
                if isinstance(error, _Late):
                    raise PatternError(pattern, TOO_SLOW) from None
                if not isinstance(error, (_Gone, OSError)):
                    raise
                if is_last or isinstance(error, OSError):
                    why = "needs a process of its own to search for it, and none can be started or kept here"
                    raise PatternError(pattern, f"{why}; write it without look-around and back-references") from None
    raise AssertionError("the second attempt returns or raises")


def _end() -> None:
    global _worker
    worker, _worker = _worker, None
    if worker is not None:
        worker.end()


def _leave_to_parent() -> None:
    """In a forked child: the worker and the lock are the parent's."""
    global _worker, _lock
    worker, _worker, _lock = _worker, None, threading.Lock()
    if worker is not None:
        worker.forget()


atexit.register(_end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
