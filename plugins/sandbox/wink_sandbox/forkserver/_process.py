"""Import the module of isolated functions once, and let a fork of this process run each call.

This process is a program of the launcher's, which sees what any other one sees, but no workspace, and which keeps the rights over its own
namespaces. A worker is forked into namespaces that were made ahead, and waits. With a call come its streams and the workspace, as a
mount; the worker attaches that, gives up all rights, and is then as any other program is. When it ends, all of its namespaces do.
"""

from __future__ import annotations

import gc
import json
import os
import select
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NoReturn

from wink_sandbox.forkserver._imports import Imports, libraries, unfit
from wink_sandbox.forkserver._namespaces import Helper, drop_rights, enter, enter_first, refuse_calls
from wink_sandbox.programs import _launcher as launcher


def main(control: socket.socket, setup: dict[str, Any]) -> None:
    """The whole life of this process: `setup` has the fields of `wink.tools`, and those of `Server`."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
    launcher.forbid_user_namespaces()
    workers = _Workers(Helper(setup), setup)
    files = set(os.listdir("/proc/self/fd"))
    stamps = libraries(setup["path"])
    own = ["/", "/dev", "/sys/devices/system", *(place for place, *_ in setup["private"])]
    imports = Imports(setup["module"], setup["root"], own)
    try:
        from wink.tools import load_isolated

        with imports:
            load_isolated(setup)
        reason = imports.reason or unfit(files)
        if not reason:
            gc.collect()
            gc.freeze()  # a collection in a fork would have each page copied
            workers.prepare()
    except BaseException as error:  # foreign code; the call itself will tell
        reason = f"{type(error).__name__}: {error}"
    control.sendall(json.dumps({"unfit": reason, "stamps": {**stamps, **imports.files}}).encode() + b"\n")
    if not reason:
        launcher.serve(control, control.fileno(), workers.start, workers.prepare, setup["idle_seconds"])


class _Worker(launcher.Run):
    """A fork that waits for a call at the other end of `channel`, or has one; and the first process of its namespaces."""

    def __init__(self, channel: socket.socket, pid: int, first: int) -> None:
        super().__init__(channel, pid, -1)
        self.inner = first

    def note_outer(self) -> None:
        """The fork has ended: so has the call, and whatever it has left running."""
        super().note_outer()
        if not self.is_killed:
            self.code = self.exit if self.exit >= 0 else 128 - self.exit
        self.kill()

    def has_ended(self) -> bool:
        """Whether it was killed while it waited."""
        waiting = select.poll()
        waiting.register(self.outer, select.POLLIN)
        return bool(waiting.poll(0))

    def forget(self) -> None:
        """Let go of one that has."""
        for fd in (self.inner, self.outer):
            os.close(fd)
        self.channel.close()


class _Workers:
    """The worker that waits for the next call."""

    def __init__(self, helper: Helper, setup: Mapping[str, Any]) -> None:
        self._helper, self._setup = helper, setup
        self._waiting: _Worker | None = None

    def prepare(self) -> _Worker:
        """See that one waits; raises `OSError` where none can."""
        if self._waiting is not None and self._waiting.has_ended():
            self._waiting.forget()
            self._waiting = None
        if self._waiting is None:
            self._waiting = self._forked()
        return self._waiting

    def start(self, request: dict[str, Any], fds: list[int]) -> launcher.Run:
        """Let the one that waits run a call: the descriptors are its channel, three streams, and the workspace."""
        del request
        worker, self._waiting = self.prepare(), None
        with worker.channel as link, suppress(OSError):  # where it has ended, which will be told
            socket.send_fds(link, [b"c"], fds)
        for fd in fds[1:]:
            os.close(fd)
        worker.channel = socket.socket(fileno=fds[0])
        return worker

    def _forked(self) -> _Worker:
        first = self._helper.first()
        ours, theirs = socket.socketpair()
        enter_first(first)
        pid = os.fork()
        if not pid:
            try:
                ours.close()
                _work(theirs, first, self._setup)
            finally:
                os._exit(126)
        theirs.close()
        worker = _Worker(ours, pid, first)
        if not ours.recv(1):
            raise OSError("a process could not enter its namespaces")
        return worker


def _work(link: socket.socket, first: int, setup: Mapping[str, Any]) -> NoReturn:
    from wink.tools import run_isolated

    enter(first, setup)
    os.setsid()
    numbers: Any = sys.modules.get("numpy.random")
    if numbers is not None:
        numbers.seed()  # as `random` does by itself; otherwise each call would draw the same
    link.sendall(b"r")
    data, fds, _, _ = socket.recv_fds(link, 1, 5)
    if not data:
        os._exit(0)
    channel, *streams, tree = fds
    with socket.socket(fileno=channel) as told:
        try:
            launcher.attach(tree, setup["root"])
            os.chdir(setup["root"])
            drop_rights(setup["rights"])
            refuse_calls(bytes.fromhex(setup["filter"]))
        except OSError as error:
            launcher.tell(told, {"failed": str(error.filename), "text": str(error.strerror)})
            os._exit(126)
        launcher.tell(told, {"started": os.getpid()})
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
    os.closerange(3, 65536)
    run_isolated(json.loads(sys.stdin.buffer.read()))
