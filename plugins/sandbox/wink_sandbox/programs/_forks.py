"""Keep the fork servers of this process, each as long as its module, the workspace's place and this machine stay as they are.

A server imports while calls run without it, as they do where no fork can be as a process that imports the module itself.
"""

from __future__ import annotations

import json
import logging
import os
import select
import socket
import struct
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, Self

from wink.errors import SandboxUnavailable
from wink_sandbox.programs._imports import Stamp, stamp_of
from wink_sandbox.programs._launch import Channel, Mount, Request, launcher
from wink_sandbox.programs._settings import MIB, Profile
from wink_sandbox.programs._view import PRIVATE, SYSTEM

_IDLE_SECONDS: Final = 300.0
"""After which a server ends that nobody asks for anything; it may have a hundred megabytes."""
BOOT: Final = (
    "import json, os, socket, struct, sys; control = socket.socket(fileno=os.dup(0)); "
    "size, = struct.unpack('<I', control.recv(4, socket.MSG_WAITALL)); "
    "setup = json.loads(control.recv(size, socket.MSG_WAITALL)); "
    "sys.path += [one for one in setup['path'] if one not in sys.path]; "
    "from wink_sandbox.programs._forked import main; main(control, setup)"
)
_MOST: Final = 4
"""How many there are at once; the one that was used least recently goes."""
_PATIENCE: Final = 8.0
_AROUND: Final = 8
"""How many processes a server has besides those of its calls."""
_SAFE_THREADS: Final = frozenset({"jemalloc_bg_thd"})
"""Threads of libraries that see to it themselves that a fork finds their locks free."""
_CREDENTIALS: Final = struct.Struct("3i")


class Wanted(NamedTuple):
    """What a call wants of a server: what makes its namespaces, and what is imported, JSON as `load_isolated` takes it."""

    asked: Request
    profile: Profile
    module: bytes
    root: str


class ForkServer:
    """One process, and what it was asked for and has read; `unfit` says why no call runs in a fork of it, empty if calls do."""

    def __init__(self, wanted: Wanted, host: object, idle_seconds: float) -> None:
        module: dict[str, Any] = json.loads(wanted.module)
        self.wanted, self.host, self.name = wanted, host, module["module"]
        self.unfit: str | None = None
        self.is_busy = False
        self._said, self.process = b"", 0
        self._stamps: dict[str, Stamp | None] = {}
        self._owner = os.getpid()
        self._is_closed = self._has_run = False
        self._link: socket.socket | None = None
        self._pid = 0
        profile = wanted.profile
        limits = profile.limits
        private = [*PRIVATE, *((profile.home,) if profile.home else ())]
        server = {
            "private": private,
            "import_seconds": min(limits.wall_seconds or _IDLE_SECONDS, _IDLE_SECONDS),
            "idle_seconds": idle_seconds,
        }
        launcher.group.reserve(self, limits.memory_bytes or 0, (limits.processes or 0) + _AROUND)
        self._control, theirs = socket.socketpair()
        try:
            with theirs, open(os.devnull, "r+b") as null:
                self._control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
                streams = (theirs.fileno(), null.fileno(), null.fileno())
                self._channel = launcher.ask({**wanted.asked.fields(), "server": server}, streams)
        except BaseException:
            self._control.close()
            launcher.group.reserve(self, 0, 0)
            raise
        body = json.dumps({**module, "root": wanted.root, "private": private}).encode()
        with suppress(OSError):  # it has ended already, which shows when it is waited for
            self._control.sendall(struct.pack("<I", len(body)) + body)
        self._control.setblocking(False)

    def is_current(self, wanted: Wanted, host: object) -> bool:
        """Whether one that is started now would come to be the same, and this one still runs if it is of use."""
        return (
            self._owner == os.getpid()
            and (bool(self.unfit) or not self._is_closed)
            and (self.wanted, self.host) == (wanted, host)
            and (bool(self.unfit) or not self._has_ended() or self._is_unfit())
            and all(stamp_of(path) == stamp for path, stamp in self._stamps.items())
        )

    def _has_ended(self) -> bool:
        while _has_news(self._channel.fileno()):
            news = self._channel.read()
            for said in news or ():
                self._pid = said.get("started", self._pid)
                if "failed" in said:
                    self.give_up(f"{said['failed']}: {said['text']}")
            if news is None or any("ended" in said for said in news):
                return True
        return False

    def is_ready(self) -> bool:
        """Whether a call can run in a fork of it, by now."""
        if self.unfit is None and self._has_told():
            reason = self._told() or _left(self.process) or self._settled()
            if not reason:
                launcher.group.reserve(self, _memory_of(self.process) + 64 * MIB, _AROUND)
            self.give_up(reason)
            if not reason:
                self.prepare()
        return self.unfit == ""

    def _is_unfit(self) -> bool:
        """Whether it said why no call runs in a fork of it, before it ended."""
        if self.unfit is None and self._has_told() and (reason := self._told()):
            self.give_up(reason)
        return bool(self.unfit)

    def _told(self) -> str:
        told = json.loads(self._said)
        self._stamps = {path: None if stamp is None else tuple(stamp) for path, stamp in told["stamps"].items()}
        return told["unfit"]

    def _has_told(self) -> bool:
        while not self._said.endswith(b"\n"):
            try:
                if not self.process:
                    self.process = _sender(self._control)
                    continue
                more = self._control.recv(1 << 20)
            except BlockingIOError:
                return False
            except OSError:
                more = b""
            if not more:
                self.give_up("the process that imports it has ended")
                return False
            self._said += more
        return True

    def _settled(self) -> str:
        """Why what the import left is not what each call may find."""
        with _Asked(launcher.ask({"call": self._pid, "mounts": [], "places": []}, ())) as asked:
            return asked.first("settled")

    def give_up(self, reason: str) -> None:
        """Note, and say once, why calls do without; there may be no reason to."""
        self.unfit = reason
        if reason:
            words = "each call of an isolated function of %r starts Python and imports it again: %s"
            logging.getLogger("wink.sandbox").warning(words, self.name, reason)
            self.close()

    def prepare(self) -> None:
        """Have it fork what waits for the next call."""
        ours, theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._link = ours
        with theirs, suppress(OSError):  # it has ended, which will show
            socket.send_fds(self._control, [b"f"], [theirs.fileno()])

    def launch(self, mount: Mount, places: Sequence[str], streams: tuple[int, int, int]) -> Forked | None:
        """Run the next call; None where it has not begun, and will not."""
        link, self._link = self._link, None
        if link is None:
            return None
        try:
            link.settimeout(_PATIENCE)
            process = os.pidfd_open(_sender(link))
        except OSError:
            link.close()
            return None
        try:
            body = {"call": self._pid, "mounts": [mount.fields()], "places": list(places)}
            channel = launcher.ask(body, (process,))
        finally:
            os.close(process)
        asked = _Asked(channel)
        if reason := asked.first("started"):
            asked.close()
            link.close()
            if not self._has_run:  # as on a kernel that is too old for it; others would end no better
                self.give_up(reason)
            return None
        self._has_run = True
        with suppress(OSError):  # it has ended, which its channel tells
            socket.send_fds(link, [b"c"], streams)
        return Forked(self, channel, link)

    def close(self) -> None:
        """End it; in a fork of the process that started it, let go of it."""
        self._is_closed = True
        self._control.close()
        self._channel.close()
        if self._link is not None:
            self._link.close()
        launcher.group.reserve(self, 0, 0)


class Forked:
    """What is told of a call that runs in a fork; closing it ends the call."""

    def __init__(self, server: ForkServer, channel: Channel, link: socket.socket) -> None:
        self._server, self._channel, self._link = server, channel, link
        self._has_ended = False

    def fileno(self) -> int:
        """To be polled: readable when there is something to `read`."""
        return self._channel.fileno()

    def read(self) -> tuple[dict[str, Any], ...] | None:
        """What was told since; None when the launcher itself has died."""
        news = self._channel.read()
        for said in news or ():
            if "ended" in said:
                self._has_ended = True
                said["code"] = self._code()
                self._server.prepare()
        return news

    def _code(self) -> int | None:
        try:
            code = int(self._link.makefile("rb").readline())
        except (OSError, ValueError):
            return None
        return code if code >= 0 else 128 - code

    def kill(self) -> None:
        """End every process of the call."""
        self._channel.kill()

    def close(self) -> None:
        """Let go of the call, which is killed if it still runs."""
        self._channel.close()
        self._link.close()
        self._server.is_busy = False
        if not self._has_ended:
            self._server.close()


class _Asked:
    """What the launcher says to what was asked of a server."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def first(self, wanted: str) -> str:
        """Wait for one thing to be told; empty, or what was told instead of it."""
        until = time.monotonic() + _PATIENCE
        while (left := until - time.monotonic()) > 0:
            waiting = select.poll()
            waiting.register(self._channel.fileno(), select.POLLIN)
            if not waiting.poll(left * 1000):
                continue
            for said in (news := self._channel.read()) or ():
                if wanted in said:
                    return ""
                if "failed" in said:
                    return str(said["text"])
            if news is None:
                return "the launcher has ended"
        return "it takes too long"

    def close(self) -> None:
        """Listen no more, which ends a call that runs."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ForkServers:
    """Those of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[tuple[str, bytes], ForkServer] = {}
        self.idle_seconds = _IDLE_SECONDS

    def launch(
        self,
        wanted: Wanted,
        mount: Mount,
        places: Sequence[str],
        streams: tuple[int, int, int],
    ) -> Forked | None:
        """Run a call in a fork of what has imported its module; None where that is not to be had, or not yet."""
        with self._lock:
            try:
                server = self._taken(wanted)
            except (OSError, SandboxUnavailable):
                return None
            if server is None:
                return None
            server.is_busy = True
        call = None
        try:
            call = server.launch(mount, places, streams)
        finally:
            if call is None:
                server.close()
                server.is_busy = False
        return call

    def opened(self) -> Mapping[tuple[str, bytes], ForkServer]:
        """Those that there are, by workspace and what they were asked to import."""
        with self._lock:
            return dict(self._open)

    def close(self) -> None:
        """End all of them."""
        with self._lock:
            for key in [*self._open]:
                self._open.pop(key).close()

    def _taken(self, wanted: Wanted) -> ForkServer | None:
        key = (wanted.root, wanted.module)
        host = _host((*SYSTEM, *wanted.profile.readable))
        server = self._open.get(key)
        if server is not None and server.is_busy:
            return None
        if server is None or not server.is_current(wanted, host):
            if server is not None:
                self._open.pop(key).close()
            self._open[key] = ForkServer(wanted, host, self.idle_seconds)
            for old in [one for one in self._open if not self._open[one].is_busy][:-1]:
                if len(self._open) > _MOST:
                    self._open.pop(old).close()
            return None
        self._open[key] = self._open.pop(key)  # as the last one that was used
        return server if server.is_ready() else None


def _sender(link: socket.socket) -> int:
    """The number of the process that has sent the next byte, as the kernel says it."""
    data, found, _, _ = link.recvmsg(1, socket.CMSG_SPACE(_CREDENTIALS.size))
    for level, kind, content in found:
        if data and level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
            return _CREDENTIALS.unpack(content[: _CREDENTIALS.size])[0]
    raise OSError("nobody is there")


def _left(process: int) -> str:
    """Why forks of a process would not be as the process itself, as far as the kernel tells; empty if they are."""
    try:
        for task in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{task}/comm") as file:
                name = file.read().rstrip("\n")
            if int(task) != process and name not in _SAFE_THREADS:
                return f"it leaves a thread running ({name})"
        # Its three streams, and what it is asked over.
        return "" if len(os.listdir(f"/proc/{process}/fd")) == 4 else "it leaves files open"
    except OSError as error:
        return str(error)


def _memory_of(process: int) -> int:
    """How much of the memory is a process's own, in bytes."""
    with suppress(OSError), open(f"/proc/{process}/status") as lines:
        for line in lines:
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    return 0


def _has_news(fd: int) -> bool:
    waiting = select.poll()
    waiting.register(fd, select.POLLIN)
    return bool(waiting.poll(0))


def _host(shown: Sequence[str]) -> object:
    """What of this machine a process that goes on running would not see, when it has changed."""
    found: list[object] = []
    for place in shown:
        with suppress(OSError):
            status = os.stat(place)
            found.append((place, status.st_dev, status.st_ino))
    with open("/proc/self/mountinfo", "rb") as mounts:
        return found, mounts.read()


fork_servers: Final = ForkServers()
"""Those of this process."""
