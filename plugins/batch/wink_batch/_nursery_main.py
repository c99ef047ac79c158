"""The nursery's own process: `python -P -m wink_batch._nursery_main CONTROL FACTS`; see `wink_batch._nursery`."""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from wink.trust import guard
from wink_batch._attempt import Channel, Gone

_SUBREAPER: Final = 36
_DEATH_SIGNAL: Final = 1
_USUAL: Final = (
    "pydantic",
    "sqlite3",
    "wink.adapters",
    "wink_batch._work",
    "wink.plugins",
    "wink.prompt",
    "wink_sandbox",
    "wink.workspace",
)


def main() -> None:
    """Fork for each request until nobody asks any more."""
    with socket.socket(fileno=int(sys.argv[1])) as given:
        control = Channel(given.dup())  # nobody inherits it, and `select` knows no number above 1,023
    facts: dict[str, Any] = json.loads(sys.argv[2])
    if facts["guarded"] is not None:
        guard(*facts["guarded"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_SUBREAPER, 1, 0, 0, 0)
    _import(_USUAL)  # before anything could be imported from elsewhere in its place
    sys.path[:] = dict.fromkeys((*facts["paths"], *sys.path))
    _import(facts["modules"])
    with suppress(Gone), control.end:
        while True:
            for said in _one(control):
                if "learn" in said:
                    _import(said["learn"])
                    if len(os.listdir("/proc/self/task")) > 1:
                        return  # a fork of what has threads may wait for ever for what they held
                    control.tell(learned=True)
                if "begin" in said:
                    _watch(control, *_begin(control, said["begin"], libc))
    _end_all(-1)


def _import(names: Iterable[str]) -> None:
    """Import what attempts need; whoever needs what cannot be imported is told why then."""
    for name in names:
        with suppress(Exception):  # foreign code
            importlib.import_module(name)
    gc.collect()
    gc.freeze()


def _one(control: Channel) -> list[dict[str, Any]]:
    """The next line and no more: a descriptor may come after it."""
    line = bytearray()
    while not line.endswith(b"\n"):
        piece = control.end.recv(1)
        if not piece:
            raise Gone
        line += piece
    return [json.loads(line)]


def _begin(control: Channel, length: int, libc: Any) -> tuple[int, int]:
    """Fork; the child never comes back."""
    _, fds, _, _ = socket.recv_fds(control.end, 1, 1)
    data = bytearray()
    while len(data) < length:
        piece = control.end.recv(length - len(data))
        if not piece:
            raise Gone
        data += piece
    me = os.getpid()
    pid = os.fork()
    if pid:
        os.close(fds[0])
        return pid, os.pidfd_open(pid)
    status = 70
    try:
        libc.prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != me:
            os._exit(status)
        os.setsid()
        control.close()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        from wink_batch._work import work

        status = work(json.loads(data), Channel(socket.socket(fileno=fds[0])))
    finally:
        # Whatever happens: no exit handler and no loop of the nursery's may run in here.
        os._exit(status)
    raise AssertionError


def _watch(control: Channel, pid: int, watched: int) -> None:
    """Pass signals on until the child is over; then end what it has left behind."""
    try:
        while True:
            ready, _, _ = select.select([control.end, watched], [], [])
            if watched in ready:
                break
            try:
                for said in _one(control):
                    if "signal" in said:
                        with suppress(ProcessLookupError):
                            signal.pidfd_send_signal(watched, said["signal"])
            except Gone:
                _end_all(pid)
                raise
        _, status = os.waitpid(pid, 0)
    finally:
        os.close(watched)
    _end_all(pid)
    control.tell(ended=os.waitstatus_to_exitcode(status))


def _end_all(session: int) -> None:
    """Kill every process that descends from an attempt, and take in what became of them."""
    with suppress(ProcessLookupError, PermissionError):
        if session > 0:
            os.killpg(session, signal.SIGKILL)
    while True:
        # Their children become ours when they end, until there are none.
        for child in _children():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


if __name__ == "__main__":
    main()
