"""Say of one path of the workspace whether programs would see it, after `Hiding` has looked."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from wink_rules import Rule
    from wink_sandbox.hiding._hiding import Hiding

_EMPTY: Final = "programs find an empty file or directory in its place"
_WOULD_BE: Final = "nothing is there now; programs would find an empty file or directory in its place"
_OTHER: Final = "programs find an empty file or directory in its place: it is another name of what a rule hides, or closed to you too"


class Unseen(NamedTuple):
    """Why a program does not see a path; `rule` is None where none is about the path's own name.

    With `is_now` it is hidden as things are, and cannot be made either; otherwise it would be, if it were there.
    """

    reason: str
    rule: Rule | None
    is_now: bool


def unseen(hiding: Hiding, root: str, path: str) -> Unseen | None:
    """Why no program sees a path of the workspace `root`, by its name or where its links end; None where programs see it.

    `hiding` has found what is hidden now. What is not there yet is judged by its name, as it would be if it were.
    """
    names = dict.fromkeys((path, *_inside(root, path)))
    hidden = frozenset(hiding.hidden)
    for name in names:
        at = next((one for one in _with_above(name) if one in hidden), None)
        if at is not None:
            rule = hiding.rule(at) or hiding.rule(name) or hiding.rule(path)
            return Unseen(_OTHER if rule is None else _EMPTY, rule, is_now=True)
    if not os.path.lexists(os.path.join(root, path)):
        rule = next(filter(None, map(hiding.rule, names)), None)
        return None if rule is None else Unseen(_WOULD_BE, rule, is_now=False)
    return None


def _inside(root: str, path: str) -> tuple[str, ...]:
    """Where the path's links end, if that is in the workspace."""
    real, base = os.path.realpath(os.path.join(root, path)), f"{root.rstrip('/')}/"
    return (real[len(base) :],) if real.startswith(base) else ()


def _with_above(path: str) -> list[str]:
    """The directories that a path is in, the outermost first, and itself."""
    return [*(path[:at] for at in range(len(path)) if path[at] == "/"), path]
