"""Start `wink serve` by a fork of a process that has imported it, which takes a tenth of the time that a start takes.

The servers are processes like any other: they have their own pipes, and can be killed. One nursery lives as long as its
workspace; run as `python -m plugins.mcp.tests.chaos.nursery FD`, it takes requests from a socket (JSON, and three descriptors)
and tells pids and exit statuses.
"""

from __future__ import annotations

import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import threading
from typing import Any

PRELOADED = (
    "mcp.server.lowlevel", "mcp.server.stdio", "wink.cli", "wink_mcp.commands", "wink_mcp._stdio", "wink_mcp._serving",
    "wink.plugins._find", "wink.workspace", "wink.runtime", "wink_files", "wink_planning", "wink_read_before_write",
)  # fmt: skip


class Nursery:
    """The near end: starts servers, and waits for them."""

    def __init__(self, environment: dict[str, str]) -> None:
        ours, theirs = socket.socketpair()
        self._socket = ours
        self._process = subprocess.Popen(
            [sys.executable, "-m", "plugins.mcp.tests.chaos.nursery", str(theirs.fileno())],
            env=environment,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        self._news = threading.Condition()
        self._statuses: dict[int, int] = {}
        self._pids: list[int] = []
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def start(self, words: list[str], said: str) -> Forked:
        """Start `wink` with these words."""
        child_in, our_out = os.pipe()
        our_in, child_out = os.pipe()
        errors = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        socket.send_fds(self._socket, [json.dumps(words).encode() + b"\n"], [child_in, child_out, errors])
        for fd in (child_in, child_out, errors):
            os.close(fd)
        with self._news:
            if not self._news.wait_for(lambda: self._pids, 60):
                raise TimeoutError("the nursery does not start anything")
            pid = self._pids.pop()
        return Forked(self, pid, our_out, our_in)

    def status(self, pid: int, timeout: float | None) -> int | None:
        """The exit status of a server, if it has ended."""
        with self._news:
            self._news.wait_for(lambda: pid in self._statuses, timeout)
            return self._statuses.get(pid)

    def close(self) -> None:
        """End the nursery; its servers have ended before."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._process.wait(60)
        self._thread.join(60)
        self._socket.close()

    def _listen(self) -> None:
        with self._socket.makefile("rb") as lines:
            for line in lines:
                news = json.loads(line)
                with self._news:
                    if "started" in news:
                        self._pids.append(news["started"])
                    else:
                        self._statuses[news["ended"]] = news["status"]
                    self._news.notify_all()


class Forked:
    """As much of `subprocess.Popen` as is needed."""

    def __init__(self, nursery: Nursery, pid: int, to_it: int, from_it: int) -> None:
        self._nursery, self.pid = nursery, pid
        self.stdin, self.stdout = os.fdopen(to_it, "wb", 0), os.fdopen(from_it, "rb")

    def poll(self) -> int | None:
        """The exit status, if it has ended."""
        return self._nursery.status(self.pid, 0)

    def wait(self, timeout: float | None = None) -> int:
        """The exit status; raises `subprocess.TimeoutExpired`."""
        status = self._nursery.status(self.pid, timeout)
        if status is None:
            raise subprocess.TimeoutExpired("wink", timeout or 0)
        return status

    def send_signal(self, number: int) -> None:
        """Signal it, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)


# -- the far end


def main() -> None:
    """Fork at request, and tell of ends; a child goes on into `wink`."""
    import importlib

    for name in PRELOADED:
        importlib.import_module(name)
    link = socket.socket(fileno=int(sys.argv[1]))
    os.set_inheritable(link.fileno(), False)
    woken, waking = os.pipe()
    os.set_blocking(waking, False)
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    waiting = selectors.DefaultSelector()
    waiting.register(link, selectors.EVENT_READ)
    waiting.register(woken, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            if key.fileobj is link:
                request, fds, _, _ = socket.recv_fds(link, 65536, 3)
                if not request:
                    return
                pid = os.fork()
                if not pid:
                    waiting.close()
                    become(json.loads(request), fds, link)
                for fd in fds:
                    os.close(fd)
                tell(link, {"started": pid})
            else:
                os.read(woken, 512)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if not pid:
                break
            tell(link, {"ended": pid, "status": os.waitstatus_to_exitcode(status)})


def become(words: list[str], fds: list[int], link: socket.socket) -> None:
    """Be `wink`; comes back only by ending."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
    os.closerange(3, 256)
    link.detach()
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
    sys.argv = ["wink", *words]
    runpy.run_module("wink", run_name="__main__", alter_sys=True)
    sys.exit(0)


def tell(link: socket.socket, news: dict[str, Any]) -> None:
    """Send a line."""
    try:
        link.sendall(json.dumps(news).encode() + b"\n")
    except OSError:
        pass


if __name__ == "__main__":
    main()
