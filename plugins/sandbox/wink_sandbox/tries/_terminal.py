"""Let a sandboxed program have this process's terminal, or its pipes, until it ends."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import stat
import struct
import sys
import termios
import threading
import tty
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import FrameType
from typing import Final

from wink.errors import ProgramNotStarted
from wink_sandbox import Channel, Command, Mount, Overlay, Request, Sandbox, Traffic, launcher, run_request
from wink_sandbox.network import proxied

_CHUNK: Final = 65536


def run_here(
    sandbox: Sandbox, command: Command, overlay: Overlay, mounts: tuple[Mount, ...] = ()
) -> tuple[int | None, Traffic | None]:
    """Run a program on this process's own streams; gives its exit status, None when it was ended from outside.

    Then what it asked of the network, where its profile lists hosts.

    Where the input is a terminal the program gets one of its own, which is passed on key by key: nothing that it does to
    it reaches this one. Raises `ProgramNotStarted` and `SandboxUnavailable`.
    """
    is_terminal = os.isatty(0)
    if is_terminal:
        # A session of its own within the sandbox: the keys that interrupt are for the program and not for what is around it.
        command = replace(command, argv=(_session_tool(), "-c", *command.argv))
    sys.stdout.flush()
    sys.stderr.flush()
    launcher.start()

    def ask() -> Request:
        request = sandbox.request(command, overlay, interactive=is_terminal)
        return replace(request, mounts=(*mounts, *request.mounts))

    def once(request: Request) -> tuple[int | None, Traffic | None]:
        with proxied(sandbox.profile.network, sandbox.people) as way:
            status = _run(request, sandbox, command, is_terminal, way.gate if way else None)
        return status, way.traffic() if way else None

    return run_request(ask, once)


def _run(request: Request, sandbox: Sandbox, command: Command, is_terminal: bool, gate: int | None) -> int | None:
    with launcher.group.limited(sandbox.profile.limits), passed((0, 1, 2)) as streams:
        if not is_terminal:
            channel = launcher.launch(request, streams, gate)
            try:
                return _waited(command, channel)
            finally:
                channel.close()
        ours, theirs = os.openpty()
        try:
            _copy_size(ours)
            first, second, third = (theirs if os.isatty(fd) else fd for fd in streams)
            try:
                channel = launcher.launch(request, (first, second, third), gate)
            finally:
                os.close(theirs)
            try:
                with _passed_on(ours) as resized:
                    return _relayed(command, channel, ours, resized)
            finally:
                channel.close()
        finally:
            os.close(ours)


def _session_tool() -> str:
    for place in ("/usr/bin/setsid", "/bin/setsid"):
        if os.access(place, os.X_OK):
            return place
    raise ProgramNotStarted("setsid", "it gives a program a terminal, and is not installed; apt-get install util-linux")


def _waited(command: Command, channel: Channel) -> int | None:
    said = _Said(command)
    with _ending_on_signals(channel, said):
        while not said.is_over:
            said.take(channel.read())
        return said.status()


def _relayed(command: Command, channel: Channel, ours: int, resized: int) -> int | None:
    """Pass on what is typed and what is shown, until the program is over and all that it showed has been passed on."""
    said, is_shown = _Said(command), False
    watched = [0, ours, resized, channel.fileno()]
    with _ending_on_signals(channel, said):
        while not (said.is_over and is_shown):
            ready, _, _ = select.select(watched, [], [], 0 if said.is_over else None)
            if said.is_over and ours not in ready:
                break
            for fd in ready:
                if fd == ours:
                    shown = _read(ours)
                    if not shown:
                        watched.remove(ours)
                        is_shown = True
                    with suppress(OSError):  # the terminal is gone, which reading from it will tell
                        _write(1, shown)
                elif fd == 0:
                    typed = _read(0)
                    if typed:
                        _write(ours, typed)
                    else:  # the terminal is gone, and nobody is there to end the program
                        watched.remove(0)
                        said.is_killed = True
                        channel.kill()
                elif fd == resized:
                    os.read(resized, _CHUNK)
                    _copy_size(ours)
                else:
                    said.take(channel.read())
                    if said.is_over:
                        watched.remove(channel.fileno())
    return said.status()


class _Said:
    """What the launcher has told of the program."""

    def __init__(self, command: Command) -> None:
        self._program, self._failure = command.argv[0], ""
        self._code: object = None
        self.is_over = self.is_killed = False

    def take(self, news: tuple[dict[str, object], ...] | None) -> None:
        """Take in the next lines; None is the launcher's own end."""
        if news is None:
            self.is_over = True
            return
        for one in news:
            if "failed" in one:
                self._failure = f"{one['failed']}: {one['text']}"
            elif "ended" in one:
                self._code, self.is_over = one["code"], True

    def status(self) -> int | None:
        """The exit status; raises `ProgramNotStarted`."""
        if isinstance(self._code, int):
            return self._code
        if self.is_killed:
            return None
        raise ProgramNotStarted(self._program, self._failure or "see the line above")


@contextmanager
def _ending_on_signals(channel: Channel, said: _Said) -> Generator[None]:
    """Kill the program, and go on to its end, when this process is told to end."""

    def kill(number: int, frame: FrameType | None) -> None:
        del number, frame
        said.is_killed = True
        channel.kill()

    kept = {number: signal.signal(number, kill) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


@contextmanager
def _passed_on(ours: int) -> Generator[int]:
    """The terminal raw, so that every key is passed on; gives a descriptor that tells when its size has changed."""
    del ours
    told, telling = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def tell(number: int, frame: FrameType | None) -> None:
        del number, frame
        try:
            os.write(telling, b"x")
        except BlockingIOError:
            pass

    attributes = termios.tcgetattr(0)
    handler = signal.signal(signal.SIGWINCH, tell)
    try:
        tty.setraw(0, termios.TCSADRAIN)
        yield told
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, attributes)
        signal.signal(signal.SIGWINCH, handler)
        os.close(told)
        os.close(telling)


def _copy_size(to: int) -> None:
    try:
        size = fcntl.ioctl(0, termios.TIOCGWINSZ, struct.pack("HHHH", 0, 0, 0, 0))
        fcntl.ioctl(to, termios.TIOCSWINSZ, size)
    except OSError:  # a terminal without a size
        pass


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, _CHUNK)
    except OSError:  # the last one that had the other end is gone
        return b""


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


@contextmanager
def passed(fds: tuple[int, int, int]) -> Generator[tuple[int, int, int]]:
    """Three streams of this process as a program may have them: pipes in the place of files.

    Whoever has a file's descriptor can open it again through /proc, to write what was only to be read, or all of what was
    only to be added to. When the block ends, all that was written has arrived. Of an input that is a file more
    may have been read than the program asked for.
    """
    theirs = list(fds)
    made: list[int] = []
    writers: list[threading.Thread] = []
    try:
        if _is_file(fds[0]):
            theirs[0], feed = os.pipe2(os.O_CLOEXEC)
            made.append(theirs[0])
            threading.Thread(target=_copy, args=(fds[0], feed, (feed,)), daemon=True).start()
        for number in (1, 2):
            if not _is_file(fds[number]):
                continue
            if number == 2 and theirs[1] != fds[1] and os.path.samestat(os.fstat(fds[1]), os.fstat(fds[2])):
                theirs[2] = theirs[1]  # one file, one order
                continue
            shown, theirs[number] = os.pipe2(os.O_CLOEXEC)
            made.append(theirs[number])
            writers.append(threading.Thread(target=_copy, args=(shown, fds[number], (shown,)), daemon=True))
            writers[-1].start()
        yield theirs[0], theirs[1], theirs[2]
    finally:
        for fd in made:
            os.close(fd)
        for writer in writers:
            writer.join()


def _is_file(fd: int) -> bool:
    mode = os.fstat(fd).st_mode
    return not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode))


def _copy(source: int, to: int, closed: tuple[int, ...]) -> None:
    # A pipe that nobody reads any more, a full disk: the program meets the same as without us, a closed pipe.
    try:
        with suppress(OSError):
            while data := os.read(source, _CHUNK):
                while data:
                    data = data[os.write(to, data) :]
    finally:
        for fd in closed:
            os.close(fd)
