"""Errors of programs that run over the workspace's files."""

from collections.abc import Sequence

from wink.errors._core import WinkError

__all__ = ["MergeConflict", "MergeRefused", "ProgramNotStarted", "SandboxUnavailable"]

_SHOWN = 20
_LONG = 200


class SandboxUnavailable(WinkError):
    """This host cannot confine programs as it was asked to; `missing` says what it lacks, and how to get it."""

    def __init__(self, guard: str, missing: Sequence[str]) -> None:
        self.guard, self.missing = guard, tuple(missing)
        super().__init__(guard, self.missing)

    def __str__(self) -> str:
        return f"programs cannot be run under the {self.guard} guard here: {'; '.join(self.missing)}"


class ProgramNotStarted(WinkError):
    """A program could not be started in its sandbox; nothing was changed."""

    def __init__(self, program: str, reason: str) -> None:
        self.program, self.reason = program, reason
        super().__init__(program, reason)

    def __str__(self) -> str:
        return f"{self.program!r} could not be started: {self.reason}"


class MergeConflict(WinkError):
    """Files that a program changed were changed by somebody else while it ran; nothing was merged."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = tuple(paths)
        super().__init__(self.paths)

    def __str__(self) -> str:
        return (
            f"changed by somebody else while the program ran: {_listed(self.paths)}; nothing was merged, run it again"
        )


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


def _listed(paths: Sequence[str]) -> str:
    more = len(paths) - _SHOWN
    return ", ".join(map(_short, paths[:_SHOWN])) + (f" and {more} more" if more > 0 else "")
