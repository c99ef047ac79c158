"""Keep the fork servers of this process, each as long as its module and its workspace stay as they are."""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from wink_sandbox.forkserver._imports import Stamp, stamp_of
from wink_sandbox.programs import (
    PRIVATE,
    ROOT_MAY,
    SYSTEM,
    Channel,
    Command,
    Request,
    Stop,
    covered_in_proc,
    filter_of_calls,
    launcher,
)

if TYPE_CHECKING:
    from wink_sandbox import Overlay, Sandbox

IDLE_SECONDS = 300
"""After which a server ends that nobody asks for anything; it may have a hundred megabytes."""
_BOOT: Final = (
    "import json, os, socket, struct, sys; control = socket.socket(fileno=os.dup(0)); "
    "size, = struct.unpack('<I', control.recv(4, socket.MSG_WAITALL)); "
    "setup = json.loads(control.recv(size, socket.MSG_WAITALL)); "
    "sys.path += [one for one in setup['path'] if one not in sys.path]; "
    "from wink_sandbox.forkserver._process import main; main(control, setup)"
)
_MOST: Final = 4
"""How many there are at once; the one that was used least recently goes."""
_BEAT: Final = 0.2
_NODEV, _NOEXEC = 4, 8
_STARTED: Final = b'{"started"'

Beat = Callable[[], object]


class Server:
    """One process, and what it was asked for and has read; `unfit` says why no call runs in a fork of it, empty if calls do."""

    def __init__(self, asked: Request, host: object, setup: Mapping[str, Any]) -> None:
        self._asked, self._host, self._module = asked, host, setup["module"]
        self._lock = threading.Lock()
        self.unfit: str | None = None
        self.calls = 0
        self.is_retired = False
        self._said = b""
        self._stamps: dict[str, Stamp | None] = {}
        self._owner = os.getpid()
        self._control, theirs = socket.socketpair()
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            with theirs:
                self._channel = launcher.launch(asked, (theirs.fileno(), null, null))
        except BaseException:
            self._control.close()
            raise
        finally:
            os.close(null)
        body = json.dumps(setup).encode()
        with suppress(OSError):  # it has ended already, which shows when it is waited for
            self._control.sendall(struct.pack("<I", len(body)) + body)

    def is_ready(self, stop: Stop | None, beat: Beat | None) -> bool:
        """Whether a call can run in a fork of it: waits until it has imported the module, or the call is over."""
        while not self._lock.acquire(timeout=_BEAT):
            if beat is not None:
                beat()
            if stop is not None and _has_news(stop.fd):
                return False
        try:
            if self.unfit is None:
                self._wait(stop, beat)
            return self.unfit == ""
        finally:
            self._lock.release()

    def _wait(self, stop: Stop | None, beat: Beat | None) -> None:
        while not self._said.endswith(b"\n"):
            if not _is_told(self._control, stop, beat):
                return
            more = _received(self._control, 1 << 20)
            if not more:
                self._give_up("the process that imports it has ended")
                return
            self._said += more
        told = json.loads(self._said)
        self._stamps = {path: None if stamp is None else tuple(stamp) for path, stamp in told["stamps"].items()}
        self._give_up(told["unfit"])

    def _give_up(self, reason: str) -> None:
        """Note, and say once, why calls do without; there may be no reason to."""
        self.unfit = reason
        if reason:
            import logging

            words = "each call of an isolated function of %r starts Python and imports it again: %s"
            logging.getLogger("wink.sandbox").warning(words, self._module, reason)

    def is_current(self, asked: Request, host: object) -> bool:
        """Whether one that is started now would come to be the same, and this one still runs if it is of use."""
        return (
            self._owner == os.getpid()
            and (self._asked, self._host) == (asked, host)
            and not (self.unfit == "" and _has_news(self._control.fileno()))
            and all(stamp_of(path) == stamp for path, stamp in self._stamps.items())
        )

    def launch(self, tree: int, stop: Stop | None, beat: Beat | None, streams: tuple[int, int, int]) -> Channel | None:
        """Run the next call; None where it has not begun, and will not: then nothing of this is left."""
        ours, theirs = socket.socketpair()
        channel = Channel(ours)
        try:
            with theirs, self._lock, suppress(OSError):  # it has ended, which its channel tells
                fds = [theirs.fileno(), *streams, tree]
                socket.send_fds(self._control, [struct.pack("<I", 2) + b"{}"], fds)
            # What is told is left for whoever watches. That one ends it where the call is over before anything is.
            if (
                not _is_told(ours, stop, beat)
                or _received(ours, len(_STARTED), socket.MSG_PEEK | socket.MSG_WAITALL) == _STARTED
            ):
                return channel
            news = _news_of(channel)
        except BaseException:
            channel.close()
            raise
        channel.close()
        for said in news:
            if "failed" in said:
                self._give_up(f"{said['failed']}: {said['text']}")
        if not any("ended" in said for said in news):  # the server itself has; all of its forks end with it
            self._channel.kill()
            _news_of(self._channel)
        return None

    def close(self) -> None:
        """End it; in a fork of the process that started it, let go of it."""
        self._control.close()
        self._channel.close()


class Servers:
    """Those of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[tuple[str, bytes], Server] = {}
        self._tied: dict[str, object] = {}

    @contextmanager
    def use(
        self,
        sandbox: Sandbox,
        command: Command,
        overlay: Overlay,
        stop: Stop | None,
        beat: Beat | None,
    ) -> Generator[Callable[[tuple[int, int, int]], Channel | None] | None]:
        """What launches a call of a function, where a fork can run it."""
        argv = (sys.executable, "-I", "-B", "-c", _BOOT)
        asked = sandbox.request(Command(argv, command.cwd, command.env), overlay, apart=True)
        server = self._taken(sandbox, asked, command, overlay.root)
        try:
            if server.is_ready(stop, beat):
                # Only now: an overlay need not show what others change in the workspace beneath it.
                with _mounted(sandbox, overlay) as tree:
                    yield None if tree is None else partial(server.launch, tree, stop, beat)
            else:
                yield None
        finally:
            self._let_go(server)

    def tie(self, store: Any, root: str) -> None:
        """Close those of a workspace with its files."""
        with self._lock:
            if self._tied.get(root) is not store:
                self._tied[root] = store
                store.when_closed.callback(self.close, root)

    def opened(self) -> Mapping[tuple[str, bytes], Server]:
        """Those that there are, by workspace and what they were asked to import."""
        with self._lock:
            return dict(self._open)

    def close(self, root: str) -> None:
        """End those of one workspace."""
        with self._lock:
            self._tied.pop(root, None)
            for key in [key for key in self._open if key[0] == root]:
                self._retire(key)

    def _taken(self, sandbox: Sandbox, asked: Request, command: Command, root: str) -> Server:
        profile = sandbox.profile
        key = (root, command.module)
        host = _host((*SYSTEM, *profile.readable))
        with self._lock:
            server = self._open.get(key)
            if server is None or server.is_retired or not server.is_current(asked, host):
                if server is not None:
                    self._retire(key)
                size = str(profile.limits.temporary_bytes)
                modes = {**dict.fromkeys(PRIVATE, "1777"), **({profile.home: "0700"} if profile.home else {})}
                private = [(place, "tmpfs", f"mode={mode},size={size}", _NODEV) for place, mode in modes.items()]
                private += [
                    ("/proc", "proc", "", _NODEV | _NOEXEC),
                    ("/dev/pts", "devpts", "newinstance,ptmxmode=0666,mode=620", _NOEXEC),
                ]
                setup = {
                    **json.loads(command.module),
                    "root": root,
                    "private": private,
                    "covered": covered_in_proc(),
                    "network": profile.network,
                    "rights": list(ROOT_MAY.values()) if os.getuid() == 0 else [],
                    "filter": (filter_of_calls() or b"").hex(),
                    "idle_seconds": IDLE_SECONDS,
                }
                server = Server(asked, host, setup)
            self._open.pop(key, None)
            self._open[key] = server  # as the last one that was used
            while len(self._open) > _MOST:
                self._retire(next(iter(self._open)))
            server.calls += 1
        return server

    def _let_go(self, server: Server) -> None:
        with self._lock:
            server.calls -= 1
            if server.unfit is None:
                server.is_retired = True  # the call has ended while the module was being imported
            if server.is_retired and not server.calls:
                server.close()

    def _retire(self, key: tuple[str, bytes]) -> None:
        server = self._open.pop(key)
        server.is_retired = True
        if not server.calls:
            server.close()


def _has_news(fd: int) -> bool:
    waiting = select.poll()
    waiting.register(fd, select.POLLIN)
    return bool(waiting.poll(0))


def _is_told(source: socket.socket, stop: Stop | None, beat: Beat | None) -> bool:
    """Wait until something is to be read; False where the call is over before."""
    waiting = select.poll()
    for fd in (source.fileno(), *(() if stop is None else (stop.fd,))):
        waiting.register(fd, select.POLLIN)
    while True:
        ready = [fd for fd, _ in waiting.poll(_BEAT * 1000)]
        if beat is not None:
            beat()
        if stop is not None and stop.fd in ready:
            return False
        if ready:
            return True


def _received(source: socket.socket, size: int, flags: int = 0) -> bytes:
    try:
        return source.recv(size, flags)
    except ConnectionResetError:  # by a process that died with something left to read
        return b""


def _news_of(channel: Channel) -> list[dict[str, Any]]:
    """Whatever is told of a program until it has ended, or whoever would tell that has."""
    found: list[dict[str, Any]] = []
    while not any("ended" in said for said in found) and (news := channel.read()) is not None:
        found += news
    return found


def _host(shown: Sequence[str]) -> object:
    """What of this machine a process that goes on running would not see, when it has changed."""
    found: list[object] = []
    for place in shown:
        with suppress(OSError):
            status = os.stat(place)
            found.append((place, status.st_dev, status.st_ino))
    with open("/proc/self/mountinfo", "rb") as mounts:
        return found, mounts.read()


@contextmanager
def _mounted(sandbox: Sandbox, overlay: Overlay) -> Generator[int | None]:
    """The workspace as a call sees it, to be attached; None where it could not be mounted, which a program will tell."""
    with open(os.devnull, "r+b") as null:
        channel = launcher.launch(sandbox.tree(overlay), (null.fileno(), null.fileno(), null.fileno()))
    with closing(channel):
        tree = channel.receive()
    try:
        yield tree
    finally:
        if tree is not None:
            os.close(tree)


servers: Final = Servers()
"""Those of this process."""
