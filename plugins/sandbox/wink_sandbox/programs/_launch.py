"""Ask the launcher process for programs, starting it when it is first needed."""

from __future__ import annotations

import atexit
import json
import os
import socket
import struct
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from wink.dataclass import dataclass
from wink.errors import SandboxUnavailable
from wink_sandbox.programs._cgroups import Group
from wink_sandbox.programs._ids import commands

_CONTROL: Final = 3


@dataclass(frozen=True, slots=True)
class Mount:
    """One overlay: the lower directories, uppermost first, what is written goes to `upper`, and it is seen at `target`.

    `identity` is device and inode of the last lower directory: it must be that one still. Without `upper` and `work` it is
    read-only; with `upper` alone that directory itself is seen, as a copy is.
    """

    target: str
    lower: tuple[str, ...]
    upper: str
    work: str
    identity: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """All that the launcher has to know of one program.

    `view` are bubblewrap's options, `limits` RLIMIT names, `filter` is what `filter_of_calls` gives, in hexadecimal, and
    `places` are paths that must be what they are called, once all is mounted: no links that lead elsewhere. `covered` are
    files that are not to be seen, and may be gone by then. `hidden` are directories with paths in them over which an empty file or
    directory is laid, for which `blank` is a directory that the program does not see; in those of `pinned` what holds one keeps its name.
    `port` is where a proxy listens in a network namespace that has no other way out; 0 where there is none.
    """

    bwrap: str
    argv: Sequence[str]
    view: Sequence[str]
    mounts: Sequence[Mount]
    limits: Mapping[str, int]
    terminal: bool = False
    filter: str = ""
    places: Sequence[str] = ()
    covered: Sequence[str] = ()
    port: int = 0
    hidden: Sequence[tuple[str, Sequence[str]]] = ()
    blank: str = ""
    pinned: Sequence[str] = ()


class Channel:
    """What the launcher tells of one program; closing it ends the program."""

    __slots__ = ("_news", "_socket")

    def __init__(self, channel: socket.socket) -> None:
        self._socket, self._news = channel, b""

    def fileno(self) -> int:
        """To be polled: readable when there is something to `read`."""
        return self._socket.fileno()

    def read(self) -> tuple[dict[str, Any], ...] | None:
        """What was told since; None when the launcher itself has died."""
        try:
            data = self._socket.recv(65536)
        except ConnectionResetError:
            data = b""
        if not data:
            return None
        *lines, self._news = (self._news + data).split(b"\n")
        return tuple(json.loads(line) for line in lines)

    def kill(self) -> None:
        """End every process of the program; `ended` is told when none is left."""
        with suppress(OSError):
            self._socket.send(b"k")

    def close(self) -> None:
        """Let go of the program, which is killed if it still runs."""
        self._socket.close()


class Launcher:
    """The process that starts programs; one serves all threads of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._pid = self._owner = 0
        self.group: Final = Group()
        """What holds all of its programs to their limits together, where the host lets us."""

    def launch(self, request: Request, streams: tuple[int, int, int], gate: int | None = None) -> Channel:
        """Start a program on three descriptors, which stay the caller's, as does `gate`, over which what listens at the request's `port` is handed."""
        ours, theirs = socket.socketpair()
        with theirs:
            fds = [theirs.fileno(), *streams, *(() if gate is None else (gate,))]
            body = json.dumps({**_fields(request), "mounts": [_fields(mount) for mount in request.mounts]}).encode()
            message = struct.pack("<I", len(body)) + body
            with self._lock:
                for attempt in (1, 2):
                    control = self._ready()
                    try:
                        sent = socket.send_fds(control, [message], fds)
                        control.sendall(message[sent:])
                        break
                    except OSError:  # it had nothing to do for long, and has ended
                        self._stop()
                        if attempt == 2:
                            ours.close()
                            raise
        return Channel(ours)

    def start(self) -> None:
        """Start it now, so that the first program need not wait for it; raises `SandboxUnavailable`."""
        with self._lock:
            self._ready()

    @property
    def pid(self) -> int:
        """Its process id; 0 while there is none."""
        return self._pid

    def stop(self) -> None:
        """End it, with all programs that it has started."""
        with self._lock:
            self._stop()

    def _ready(self) -> socket.socket:
        if self._control is not None and self._owner == os.getpid():
            return self._control
        if self._control is not None:  # a fork of the process that started it; that one goes on using it
            self._control.close()
            self._control, self._pid = None, 0
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                self._pid = _spawn(theirs.fileno())
            self._owner = os.getpid()
            self.group.join(self._pid)
            line = ours.makefile("rb").readline()
        except BaseException:
            ours.close()
            raise
        said: dict[str, Any] = json.loads(line) if line else {"refused": "start", "text": "it ended at once"}
        if "refused" in said:
            ours.close()
            self._reap()
            raise SandboxUnavailable(
                "overlay", (f"{said['refused']}: {said['text']}; `wink doctor` says how to get it",)
            )
        self._control = ours
        atexit.register(self.stop)  # once more does no harm
        return ours

    def _stop(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
            if self._owner == os.getpid():
                self._reap()

    def _reap(self) -> None:
        pid, self._pid = self._pid, 0
        if pid:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)
            self.group.leave()


def _fields(value: Request | Mount) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}


def _spawn(control: int) -> int:
    """Start the launcher: isolated from the environment, and from what lies around."""
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        actions = [
            (os.POSIX_SPAWN_DUP2, control, _CONTROL),
            *((os.POSIX_SPAWN_DUP2, null, stream) for stream in range(3)),
        ]
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_launcher.py")
        words = [sys.executable, "-I", "-S", "-B", script, str(_CONTROL), str(os.getpid()), json.dumps(commands())]
        # A Python whose library lies somewhere else does not start without it.
        kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
        return os.posix_spawn(sys.executable, words, kept, file_actions=actions)
    finally:
        os.close(null)


launcher: Final = Launcher()
"""The one of this process."""
