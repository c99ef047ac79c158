"""Try a command on what an accept would make of the workspace, before it is that."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from wink.errors import WinkError
from wink.state import opened_directory
from wink_sandbox import COPY, Command, Differences, Overlay, Sandbox, has_copy, lay_aside, remove_tree
from wink_sandbox.tries._layer import CHECK
from wink_sandbox.tries._profiles import profile_named

if TYPE_CHECKING:
    from wink_sandbox.hiding import Hiding
    from wink_sandbox.tries._try import Try

TIMES: Final = 3
"""So often it is checked again, where somebody has changed meanwhile what was checked."""
CHECK_PROFILE: Final = "build"
"""What a check sees around the workspace, as `wink try --profile` calls it."""
_QUEUE: Final = ".check"
_ENV: Final = ("PATH", "LANG", "LC_ALL", "TERM", "HOME")


class CheckFailed(WinkError):
    """A check has not passed, and nothing was accepted of the try `name`.

    `status` is the check's exit status, None where it was ended from outside, and 0 where it passed and what it had checked was
    changed by somebody meanwhile, `TIMES` times. `output` is what it wrote, where that was kept.
    """

    def __init__(self, name: str, status: int | None, output: str = "") -> None:
        self.name, self.status, self.output = name, status, output
        super().__init__(name, status, output)

    def __str__(self) -> str:
        if self.status == 0:
            how = f"somebody has changed the same files while the check ran, {TIMES} times; try again"
        else:
            how = "the check was ended" if self.status is None else f"the check ended with status {self.status}"
        return f"{how}: nothing of the try {self.name!r} was accepted"


class Ran(NamedTuple):
    """How a check ended: its exit status, None where it was ended from outside, what of its output was kept, what ran, and how long."""

    status: int | None
    output: str = ""
    argv: tuple[str, ...] = ()
    seconds: float = 0.0


Check = Callable[["Try", Overlay], Ran]
"""Runs a check over an overlay that shows what would be accepted; the try is there for what `wink try` keeps beside one."""


def check_of(argv: Sequence[str], hiding: Hiding | None = None) -> Check:
    """A check that runs a program, whose output is kept, and which `hiding` hides paths from."""

    def check(_: Try, overlay: Overlay) -> Ran:
        profile = profile_named(CHECK_PROFILE, network=None, home=None, readable=())
        env = {name: os.environ[name] for name in _ENV if name in os.environ}
        ended = Sandbox(profile, hiding=hiding).run(Command(tuple(argv), "", env), overlay)
        return Ran(ended.status, f"{ended.stdout.text()}{ended.stderr.text()}", tuple(argv), ended.duration)

    return check


@contextmanager
def queued(tries: str, on_wait: Callable[[], object] | None) -> Generator[None]:
    """Hold the place of the one check that runs in a workspace; who comes later waits, which `on_wait` is told."""
    with opened_directory(tries, make=True) as place:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        lock = os.open(_QUEUE, flags, 0o600, dir_fd=place)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if on_wait is not None:
                on_wait()
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


@contextmanager
def shown(one: Try, found: Differences) -> Generator[tuple[Try, Overlay]]:
    """An overlay of the workspace with `found` in it, which was tried in `one`; what is written there is dropped in the end."""
    directory = f"{one.overlay.directory}/{CHECK}"
    remove_tree(directory)
    overlay = Overlay(one.overlay.root, directory)
    try:
        os.makedirs(overlay.upper, 0o700)
        if has_copy(one.overlay):
            os.mkdir(f"{directory}/{COPY}", 0o700)
        lay_aside(found, overlay.upper, keep=True)
        overlay.open()
        try:
            yield one.over(overlay), overlay
        finally:
            overlay.close()
    finally:
        remove_tree(directory)


def signature(found: Differences) -> object:
    """What is to be accepted, and what of the workspace that was made from: another one where either has changed."""
    # Of what lies in the try without the time of the last change, which linking it gives; what was merged is written anew.
    return tuple(
        (step.kind, step.path, _facts(step.found, 5), _facts(step.made, 2 if step.path in found.merged else 4))
        for step in found.steps
    )


def _facts(status: os.stat_result | None, number: int) -> object:
    if status is None:
        return None
    return (status.st_size, status.st_mode, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)[:number]
