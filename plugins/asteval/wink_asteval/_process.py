"""One process that evaluates one script, held to its time and its length from outside."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable
from typing import Final

READY: Final = b"ready\n"
START_SECONDS: Final = 60.0
"""How long a process may take to start, on a machine that is busy with other things."""

MOST_COMPLAINTS: Final = 4096
PIECE: Final = 1 << 16
BEAT_SECONDS: Final = 1.0


class TimedOut(Exception):
    """The script was stopped because its time was over."""


class TooLong(Exception):
    """The answer was longer than any that a script within its limits can have."""


class Ended(Exception):
    """The process ended without an answer; `reason` says how."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class Worker:
    """A started process. `evaluate` can be called once; `close` ends it, whatever it is doing."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._complaints = b""

    @property
    def is_alive(self) -> bool:
        """Whether it can still be given a job."""
        return self._process.poll() is None

    def evaluate(self, job: bytes, *, seconds: float, most: int, beat: Callable[[], None]) -> bytes:
        """Hand the job over and give the answer, of at most `most` bytes.

        `seconds` count from when the process has started. Raises `TimedOut`, `TooLong` or `Ended`; the process is gone
        in any case when this returns. `beat` is called about once a second.
        """
        try:
            ready = self._talk(b"", time.monotonic() + START_SECONDS, len(READY), beat, until=READY)
            if ready != READY:
                raise Ended(self._reason())
            frame = b"%d\n%b" % (len(job), job)
            answer = self._talk(frame, time.monotonic() + seconds, most, beat)
            if not answer:
                raise Ended(self._reason())
            return answer
        finally:
            self.close()

    def close(self) -> None:
        """Kill the process, wait for it, close the pipes."""
        process = self._process
        if process.returncode is None:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _talk(self, text: bytes, until_time: float, most: int, beat: Callable[[], None], until: bytes = b"") -> bytes:
        """Write `text` and read until the process closes its output, or has said `until`."""
        process, pieces, length, rest = self._process, list[bytes](), 0, memoryview(text)
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        source, sink, complaints = process.stdout.fileno(), process.stdin.fileno(), process.stderr.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(source, selectors.EVENT_READ)
            selector.register(complaints, selectors.EVENT_READ)
            if rest:
                os.set_blocking(sink, False)
                selector.register(sink, selectors.EVENT_WRITE)
            while True:
                left = until_time - time.monotonic()
                if left <= 0:
                    raise TimedOut
                for key, _ in selector.select(min(left, BEAT_SECONDS)):
                    if key.fd == sink:
                        rest = self._feed(sink, rest)
                        if not rest:
                            selector.unregister(sink)
                    elif key.fd == complaints:
                        if not self._hear(complaints):
                            selector.unregister(complaints)
                    else:
                        piece = os.read(source, PIECE if not until else len(until) - length)
                        pieces.append(piece)
                        length += len(piece)
                        if length > most:
                            raise TooLong
                        if not piece or length == len(until):
                            return b"".join(pieces)
                beat()

    @staticmethod
    def _feed(sink: int, rest: memoryview) -> memoryview:
        try:
            return rest[os.write(sink, rest[:PIECE]) :]
        except BlockingIOError:
            return rest
        except BrokenPipeError:
            return rest[:0]  # it ended; reading says how

    def _hear(self, complaints: int) -> bool:
        piece = os.read(complaints, PIECE)
        self._complaints = (self._complaints + piece)[-MOST_COMPLAINTS:]
        return bool(piece)

    def _reason(self) -> str:
        """How the process ended, for somebody who reads logs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        code = self._process.returncode
        if code is not None and code < 0:
            with contextlib.suppress(ValueError):
                return f"it was ended by {signal.Signals(-code).name}"
        said = self._complaints.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return f"it ended with status {code}" + (f": {said}" if said else "")
