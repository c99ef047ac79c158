"""Import the module of isolated functions once, and let a fork of this process run each call.

This process has no right at all, and neither has what it forks, which finds the workspace mounted when it is told to begin. It is the first one
in its sandbox, which has no more to fear of the others than `_launcher_forks` says: signals reach it only where it handles them.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
import warnings
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, NoReturn

from wink_sandbox.programs._imports import Imports, libraries

_PR_SET_DUMPABLE: Final = 4


def main(control: socket.socket, setup: Mapping[str, Any]) -> None:
    """The whole life of this process: `setup` has what `load_isolated` needs, `root`, and `private` directories."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
    control.sendall(b"b")  # with which goes the number of this process
    stamps = libraries(setup["path"])
    imports = Imports(setup["module"], setup["root"], ["/", "/dev", "/sys/devices/system", *setup["private"]])
    directory = os.getcwd()
    try:
        from wink.tools import load_isolated

        with imports:
            load_isolated(dict(setup))
        reason = imports.reason or _left(directory)
        gc.collect()
        gc.freeze()  # a collection in a fork would have each page copied
    except BaseException as error:  # foreign code; the call itself will tell
        reason = f"{type(error).__name__}: {error}"
    control.sendall(json.dumps({"unfit": reason, "stamps": {**stamps, **imports.files}}).encode() + b"\n")
    if not reason:
        _serve(control, setup["root"])


def _left(directory: str) -> str:
    """Why a fork of this process would not be as the process itself; empty if it would be."""
    if os.getcwd() != directory:
        return "it leaves its directory"
    try:
        os.waitpid(-1, os.WNOHANG)
        return "it leaves a program running"
    except ChildProcessError:
        pass
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads, which are counted elsewhere
        # Some libraries end their threads when there is a fork, and start them when they are needed again.
        pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)
    return ""


def _serve(control: socket.socket, root: str) -> None:
    import ctypes

    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    handled = [number for number, handler in handlers.items() if callable(handler)]
    for number in handled:
        signal.signal(number, signal.SIG_DFL)
    while True:
        data, fds, _, _ = socket.recv_fds(control, 1, 1)
        if not data:
            return
        ctypes.CDLL(None).prctl(
            _PR_SET_DUMPABLE, 0, 0, 0, 0
        )  # nobody can look into this process from now on, nor trace it
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        with socket.socket(fileno=fds[0]) as link:
            pid = os.fork()
            if not pid:
                try:
                    control.close()
                    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)
                    for number in handled:
                        signal.signal(number, handlers[number])
                    _work(link, root)
                finally:
                    os._exit(126)
            ended, status = os.wait()
            while ended != pid:  # others of a call become this one's when the process that forked them ends
                ended, status = os.wait()
            with suppress(OSError):
                link.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody needs to wait for those that are left
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _work(link: socket.socket, root: str) -> NoReturn:
    from wink.tools import run_isolated

    os.setsid()
    numbers: Any = sys.modules.get("numpy.random")
    if numbers is not None:
        numbers.seed()  # as `random` does by itself; otherwise each call would draw the same
    link.sendall(b"b")  # with which goes the number of this process
    data, fds, _, _ = socket.recv_fds(link, 1, 3)
    if not data:
        os._exit(0)
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
    os.closerange(3, 65536)
    os.chdir(root)
    with open(0, "rb", closefd=False) as asked:
        request = json.loads(asked.read())
    run_isolated(request)
