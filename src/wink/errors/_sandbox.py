"""Errors of programs that run over the workspace's files."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from wink.errors._core import WinkError

__all__ = ["MergeConflict", "MergeRefused", "ProgramNotStarted", "SandboxUnavailable"]

_SHOWN = 20
_LONG = 200
NOBODY: Mapping[str, int] = MappingProxyType({})
"""Of no path is it known which call changed it."""


class SandboxUnavailable(WinkError):
    """This host cannot confine programs as it was asked to; `missing` says what it lacks, and how to get it."""

    def __init__(self, guard: str, missing: Sequence[str]) -> None:
        self.guard, self.missing = guard, tuple(missing)
        super().__init__(guard, self.missing)

    def __str__(self) -> str:
        return f"programs cannot be run under the {self.guard} guard here: {'; '.join(self.missing)}"


class ProgramNotStarted(WinkError):
    """A program could not be started in its sandbox; nothing was changed."""

    says = "{program!r} could not be started: {reason}"

    def __init__(self, program: str, reason: str) -> None:
        self.program, self.reason = program, reason
        super().__init__(program, reason)


class MergeConflict(WinkError):
    """Files that a program changed were changed by somebody else while it ran; nothing was merged.

    `calls` has the number of the call by which a path became what it is, as `wink log` shows it, where one did that.
    """

    def __init__(self, paths: Sequence[str], calls: Mapping[str, int] = NOBODY) -> None:
        self.paths, self.calls = tuple(paths), dict(calls)
        super().__init__(self.paths, self.calls)

    def __str__(self) -> str:
        shown = changed_by(self.paths, self.calls)
        return f"changed by somebody else while the program ran: {shown}; nothing was merged, run it again"


class MergeRefused(WinkError):
    """A program made changes that may not become the workspace's; `problems` pairs each path with the reason.

    Nothing was merged.
    """

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        self.problems = tuple(problems)
        super().__init__(self.problems)

    @property
    def paths(self) -> tuple[str, ...]:
        """What was refused."""
        return tuple(path for path, _ in self.problems)

    def __str__(self) -> str:
        shown = [f"{_short(path)} {reason}" for path, reason in self.problems[:_SHOWN]]
        more = len(self.problems) - len(shown)
        return "; ".join(shown) + (f"; and {more} more" if more else "") + "; nothing was merged"


def _short(path: str) -> str:
    return repr(path if len(path) <= _LONG else f"{path[: _LONG // 2]}…{path[-_LONG // 4 :]}")


def changed_by(paths: Sequence[str], calls: Mapping[str, int]) -> str:
    """The first of some paths, each with the call that changed it where that is known."""
    shown = [f"{_short(path)} by c{calls[path]}" if path in calls else _short(path) for path in paths[:_SHOWN]]
    more = len(paths) - _SHOWN
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
