"""Run one program to its end: feed it, hear it, and end it when its time is over."""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, Protocol

from wink.dataclass import dataclass, field
from wink.errors import ProgramNotStarted
from wink_sandbox.network import Traffic
from wink_sandbox.programs._output import Keeper, Output

_CHUNK: Final = 65536
_BEAT: Final = 0.2
"""How often it is looked whether a program wrote too much, and that it is alive is told, in seconds."""

Reason = Literal["exited", "timed out", "cancelled", "wrote too much", "died"]
"""Why a program is over; `died` is for the sandbox around it."""

OnOutput = Callable[[Literal["stdout", "stderr"], bytes], object]
"""Is told of output as it comes, with the stream that it came from."""


@dataclass(frozen=True, slots=True)
class Command:
    """A program to be run: `cwd` is relative to the workspace, `env` all of its environment."""

    argv: tuple[str, ...]
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    stdin: bytes = b""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended. `status` is None unless it exited by itself; 128 + n tells of signal n, as in a shell.

    `traffic` is what it reached, where its profile lists hosts.
    """

    reason: Reason
    status: int | None
    duration: float
    stdout: Output
    stderr: Output
    traffic: Traffic | None = None


class Stop:
    """Ends a program from another thread."""

    __slots__ = ("_fd", "fd")

    def __init__(self) -> None:
        self.fd, self._fd = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def __call__(self) -> None:
        """End it now; once is enough."""
        try:
            os.write(self._fd, b"x")
        except (BlockingIOError, BrokenPipeError, OSError):
            pass

    def close(self) -> None:
        """Let go of the descriptors."""
        fds, self.fd, self._fd = (self.fd, self._fd), -1, -1
        for fd in fds:
            if fd >= 0:
                os.close(fd)


class Channel(Protocol):
    """What is told of a program that runs."""

    def fileno(self) -> int:
        """To be polled: readable when there is something to `read`."""
        ...

    def read(self) -> tuple[dict[str, Any], ...] | None:
        """What was told since (`failed` with `text`, `ended` with `code`); None when there is no more to come."""
        ...

    def kill(self) -> None:
        """End every process of the program."""
        ...

    def close(self) -> None:
        """Let go of the program, which is ended if it still runs."""
        ...


class Streams:
    """The pipes of a program that is not interactive: ours, and those that the launcher gets."""

    def __init__(self) -> None:
        self.stdin, self.feed = os.pipe2(os.O_CLOEXEC)
        self.out, self.stdout = os.pipe2(os.O_CLOEXEC)
        self.err, self.stderr = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.feed, False)

    @property
    def theirs(self) -> tuple[int, int, int]:
        """What the program reads from and writes to."""
        return self.stdin, self.stdout, self.stderr

    def close_theirs(self) -> None:
        """The program has them now."""
        for fd in self.theirs:
            os.close(fd)

    def close(self, *fds: int) -> None:
        """Close ours."""
        for fd in fds:
            os.close(fd)


def watch(
    program: str,
    channel: Channel,
    streams: Streams,
    stdin: bytes,
    *,
    seconds: float | None,
    output_bytes: int,
    stop: Stop | None = None,
    on_output: OnOutput | None = None,
    beat: Callable[[], str | None] = lambda: None,
) -> Ended:
    """Wait until no process of the program is left; raises `ProgramNotStarted`.

    `beat` is called a few times a second; when it gives a reason, the program is ended.
    """
    started = time.monotonic()
    keepers = {streams.out: Keeper(output_bytes), streams.err: Keeper(output_bytes)}
    reason: Reason = "exited"
    ending: dict[str, object] | None = None
    failure = ""
    rest = memoryview(stdin)
    with selectors.DefaultSelector() as selector:
        selector.register(channel, selectors.EVENT_READ)
        for fd in keepers:
            selector.register(fd, selectors.EVENT_READ)
        if rest:
            selector.register(streams.feed, selectors.EVENT_WRITE)
        else:
            os.close(streams.feed)
        if stop is not None:
            selector.register(stop.fd, selectors.EVENT_READ)
        try:
            while ending is None or any(fd in selector.get_map() for fd in keepers):
                left = None if seconds is None or reason != "exited" else started + seconds - time.monotonic()
                if left is not None and left <= 0:
                    reason = "timed out"
                    channel.kill()
                    continue
                for key, _ in selector.select(_BEAT if left is None else min(left, _BEAT)):
                    if key.fd in keepers:
                        data = os.read(key.fd, _CHUNK)
                        if not data:
                            selector.unregister(key.fd)
                            continue
                        keepers[key.fd].add(data)
                        if on_output is not None:
                            on_output("stdout" if key.fd == streams.out else "stderr", data)
                    elif key.fd == streams.feed:
                        rest = _fed(selector, streams.feed, rest)
                    elif stop is not None and key.fd == stop.fd:
                        selector.unregister(stop.fd)
                        reason = "cancelled"
                        channel.kill()
                    else:
                        news = channel.read()
                        if news is None:
                            selector.unregister(channel)
                            if ending is None:
                                ending = {"code": None}
                                reason = "died" if reason == "exited" and not failure else reason
                            continue
                        for said in news:
                            if "failed" in said:
                                failure = f"{said['failed']}: {said['text']}"
                            elif "ended" in said:
                                ending = said
                if reason == "exited" and ending is None and beat():
                    reason = "wrote too much"
                    channel.kill()
        finally:
            channel.close()  # which ends whatever may still run
            if streams.feed in selector.get_map():
                os.close(streams.feed)
    outputs = [keepers[fd].output() for fd in (streams.out, streams.err)]
    status = ending["code"]
    if reason == "exited" and status is None:
        if failure or outputs[1].head.startswith(b"bwrap: "):
            raise ProgramNotStarted(program, failure or _words(outputs[1]))
        reason = "died"
    code = status if reason == "exited" and isinstance(status, int) else None
    return Ended(reason, code, time.monotonic() - started, outputs[0], outputs[1])


def _fed(selector: selectors.BaseSelector, fd: int, rest: memoryview) -> memoryview:
    try:
        rest = rest[os.write(fd, rest[:_CHUNK]) :]
    except BlockingIOError:
        return rest
    except BrokenPipeError:
        rest = rest[:0]
    if not rest:
        selector.unregister(fd)
        os.close(fd)
    return rest


def _words(error: Output) -> str:
    return error.text().removeprefix("bwrap: ").strip()
