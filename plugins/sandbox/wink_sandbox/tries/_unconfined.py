"""Run a program as it is, over a copy of the workspace that it sees at the copy's own path."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

from wink.errors import ProgramNotStarted
from wink.trust import is_inside
from wink_sandbox import Command, Overlay

_PR_SET_CHILD_SUBREAPER: Final = 36
_GIT: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY")


def run_unconfined(command: Command, copy: Overlay, lock: int) -> tuple[int | None, tuple[str, ...]]:
    """Run a program in a copy of the workspace; its exit status, None when it was ended from outside, and what runs on.

    It has this process's own streams, and whatever it has started is ended with it, as far as we may. It has the `lock` of the try too, which is
    in use for as long as it runs, also where this process is killed. Raises `ProgramNotStarted`.
    """
    root, place = copy.root, copy.upper
    cwd = f"{place}/{command.cwd}" if command.cwd else place
    if os.path.realpath(cwd) != os.path.realpath(place) + cwd[len(place) :] or not os.path.isdir(cwd):
        # Through a link that an earlier program has put there it would start elsewhere, with nothing to confine it.
        raise ProgramNotStarted(
            command.argv[0], f"{command.cwd!r} is no directory in the copy; start it in another one"
        )
    sys.stdout.flush()
    sys.stderr.flush()
    others = set(_children())
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # what outlives the one that started it is found here
    env = _in_copy(command.env, root, place) | {"PWD": cwd}
    try:
        process = subprocess.Popen(command.argv, cwd=cwd, env=env, pass_fds=(lock,))
    except OSError as error:
        raise ProgramNotStarted(command.argv[0], error.strerror or str(error)) from error
    try:
        with _ending_on_signals(process) as ended:
            status = process.wait()
    finally:
        left = _end_all(others)
    if ended:
        return None, left
    return (status if status >= 0 else 128 - status), left


def _in_copy(env: Mapping[str, str], root: str, copy: str) -> dict[str, str]:
    """The environment, with the copy in the place of the workspace: PATH and VIRTUAL_ENV lead there."""
    moved = {
        name: os.pathsep.join(copy + part[len(root) :] if is_inside(part, root) else part for part in value.split(":"))
        for name, value in env.items()
        if name not in _GIT
    }
    # The copy may lie in a repository, as a home can be: without a `.git` of its own git would take that.
    above = [os.path.dirname(copy), *filter(None, [moved.get("GIT_CEILING_DIRECTORIES")])]
    return moved | {"GIT_CEILING_DIRECTORIES": os.pathsep.join(above)}


@contextmanager
def _ending_on_signals(process: subprocess.Popen[bytes]) -> Generator[list[int]]:
    """Pass on what ends us, and leave Ctrl-C to the program, which gets it from the terminal itself."""
    ended: list[int] = []

    def kill(number: int, frame: FrameType | None) -> None:
        del frame
        ended.append(number)
        with suppress(PermissionError):  # it has another user's ids, and we wait for it
            process.kill()

    kept = {number: signal.signal(number, kill) for number in (signal.SIGTERM, signal.SIGHUP)}
    kept[signal.SIGINT] = signal.signal(signal.SIGINT, kill if not os.isatty(0) else _leave)
    try:
        yield ended
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def _leave(number: int, frame: FrameType | None) -> None:
    del number, frame


def _end_all(others: set[int]) -> tuple[str, ...]:
    """End what a program left running, until nothing is but what we may not end, as what has the ids of another user; that, by name."""
    stay: dict[int, str] = {}
    while left := [pid for pid in _children() if pid not in others and pid not in stay]:
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except PermissionError:
                stay[pid] = f"{_name(pid)} (process {pid})"
                continue
            except ProcessLookupError:
                pass
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)
    return tuple(name for pid, name in stay.items() if os.waitpid(pid, os.WNOHANG) == (0, 0))


def _name(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="surrogateescape") as file:
            return file.read().strip()
    except OSError:
        return "a program"


def _children() -> list[int]:
    found: list[int] = []
    for task in os.listdir("/proc/self/task"):
        with suppress(OSError), open(f"/proc/self/task/{task}/children") as file:
            found += map(int, file.read().split())
    return found
