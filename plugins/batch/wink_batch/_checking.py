"""Judge what an attempt left: by a function of the user's, or by a command in a sandbox."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

from wink.dataclass import dataclass
from wink_batch._outcome import Verdict

if TYPE_CHECKING:
    from wink.filesystem import Filesystem
    from wink_batch._task import Task

_FUNCTION: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_SAID: Final = 2000


@dataclass(frozen=True, slots=True)
class Attempted:
    """What a checker is shown: the task, what the model said last, its structured output, and the files as it left them.

    `root` is where the files are for programs, `files` reads them. What a checker changes is not kept.
    """

    task: Task
    text: str
    output: Any
    root: str
    files: Filesystem


Checker = Callable[[Attempted], object]
"""Gives True or False, a score between 0 and 1, a `Verdict`, or one of the first two with a message."""


def is_function(check: str) -> bool:
    """Whether a check is the name of a function and not a command.

    >>> is_function("checks:passes"), is_function("python -m pytest -q")
    (True, False)
    """
    return _FUNCTION.fullmatch(check) is not None


def verdict(said: object) -> Verdict:
    """Read what a checker has said.

    >>> verdict(True), verdict((0.5, "half of it"))
    (Verdict(passed=True, score=1.0, message=''), Verdict(passed=False, score=0.5, message='half of it'))
    """
    if isinstance(said, Verdict):
        return said
    message = ""
    if isinstance(said, tuple) and len(cast("tuple[object, ...]", said)) == 2:
        said, told = cast("tuple[object, object]", said)
        message = str(told)[:_SAID]
    if isinstance(said, bool):
        return Verdict(said, float(said), message)
    if isinstance(said, int | float) and math.isfinite(said):
        return Verdict(said >= 1, float(said), message)
    return Verdict(None, 0.0, f"the checker gave {said!r:.200}; it must give True or False, a number, or a Verdict")


def judged(check: str, attempted: Attempted, *, directory: str, seconds: float, sign: Callable[[], object]) -> Verdict:
    """What a check says of an attempt; one that raises could not judge."""
    try:
        if is_function(check):
            from wink_batch._assembling import named

            return verdict(named(check)(attempted))
        return _command(check, attempted.root, directory, seconds, sign)
    except Exception as error:  # foreign code
        return Verdict(None, 0.0, f"{type(error).__name__}: {error}"[:_SAID])


def _command(check: str, root: str, directory: str, seconds: float, sign: Callable[[], object]) -> Verdict:
    """Exit status 0 passes. What the command changes lies in an overlay that is dropped."""
    from wink.trust import allowed
    from wink_sandbox import ENVIRONMENT, Command, Limits, Overlay, Profile, Sandbox, opened, words_of

    env = allowed(os.environ, ENVIRONMENT)
    sandbox = Sandbox(Profile(limits=Limits(wall_seconds=seconds)))
    with opened(Overlay(root, directory)) as overlay:
        ended = sandbox.run(Command(words_of(check), "", env), overlay, beat=sign)
    said = b"\n".join(part for stream in (ended.stdout, ended.stderr) for part in (stream.head, stream.tail) if part)
    text = said.decode("utf-8", "replace").strip()[-_SAID:]
    if ended.status is None:
        return Verdict(False, 0.0, f"the check {ended.reason} after {ended.duration:.0f} s: {text}"[:_SAID])
    return Verdict(ended.status == 0, float(ended.status == 0), text)
