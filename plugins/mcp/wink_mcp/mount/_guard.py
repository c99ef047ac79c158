"""Run one MCP server as a child, and see that nothing of it outlives whoever started us.

Run as `python -I -S _guard.py LIFELINE -- COMMAND...`, as a small process that never imports wink. The server gets
our standard streams, which we close: its pipes are between it and wink alone. LIFELINE is the reading end of a pipe of
which wink holds the other one. When that end goes, be it by `kill -9`, the server has been given the end of its input
too; it gets a moment to leave, then SIGTERM, then SIGKILL, and so does everything that it has started. A byte on it
says that the moment is over.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

GRACE_SECONDS = 2.0
PR_SET_CHILD_SUBREAPER = 36


def main() -> int:
    """The whole life of this process; its exit status is the server's, as a shell would say it."""
    given, command = int(sys.argv[1]), sys.argv[3:]
    lifeline = os.dup(given)  # the server does not inherit it, and `select` knows no number above 1,023
    os.close(given)
    adopt_orphans()
    woken, waking = os.pipe()
    for fd in (woken, waking):
        os.set_blocking(fd, False)
    signal.signal(signal.SIGCHLD, nothing_to_do)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)  # we end when wink says so, or is no more
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    child = os.fork()
    if not child:
        become(command)
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(nothing, fd)
    return watch(child, lifeline, woken)


def nothing_to_do(number: int, frame: object) -> None:
    """A signal that is handled wakes us."""


def become(command: list[str]) -> None:
    """Turn into the server, in a group of its own, with signals as they were."""
    try:
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], command)  # noqa: S606
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def watch(child: int, lifeline: int, woken: int) -> int:
    """Wait for the server's end, and hasten it when nobody needs it any more."""
    steps = [(GRACE_SECONDS, signal.SIGTERM), (GRACE_SECONDS, signal.SIGKILL)]
    wanted, patience = True, 0.0
    while True:
        status = reap(child)
        if status is not None:
            end_the_rest(child)
            return status
        waiting = [woken, lifeline] if wanted else [woken]
        ready, _, _ = select.select(waiting, [], [], None if wanted else max(patience - time.monotonic(), 0.0))
        if woken in ready:
            drain(woken)
        if lifeline in ready:
            wanted = False
            # A byte: wink has waited already. Nothing: wink is gone, and the server learns of it only now.
            patience = time.monotonic() + (0.0 if os.read(lifeline, 1) else steps[0][0])
        elif not wanted and time.monotonic() >= patience and steps:
            _, number = steps.pop(0)
            signal_group(child, number)
            patience = time.monotonic() + (steps[0][0] if steps else GRACE_SECONDS)
        elif not wanted and time.monotonic() >= patience:
            return 1  # not even SIGKILL: it hangs in the kernel


def reap(child: int) -> int | None:
    """The server's exit status if it has ended; adopted orphans that have ended are seen off too."""
    found: int | None = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return 1 if found is None else found
        if not pid:
            return found
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            found = code if code >= 0 else 128 - code


def end_the_rest(child: int) -> None:
    """Kill what the server has left behind: its group, and whatever has become our child."""
    signal_group(child, signal.SIGKILL)
    until = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < until:
        for pid in children():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            time.sleep(0.005)


def children() -> list[int]:
    """Our children, where the system can tell."""
    me, found = str(os.getpid()), list[int]()
    try:
        names = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []
    for name in names:
        try:
            with open(f"/proc/{name}/stat", "rb") as opened:
                if opened.read().rpartition(b")")[2].split()[1].decode() == me:
                    found.append(int(name))
        except (OSError, IndexError):
            continue
    return found


def signal_group(child: int, number: int) -> None:
    """Signal the server and all that stayed in its group."""
    try:
        os.killpg(child, number)
    except OSError:
        pass


def drain(fd: int) -> None:
    """Forget why we were woken."""
    try:
        while os.read(fd, 512):
            pass
    except BlockingIOError:
        pass


def adopt_orphans() -> None:
    """Become the parent of what the server's children leave behind (Linux; elsewhere its group has to do)."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass


if __name__ == "__main__":
    sys.exit(main())
