"""Errors of policies that were given rules which cannot work."""

from collections.abc import Sequence

from wink.errors._core import WinkError

__all__ = ["DependencyCycle", "PolicyError", "RulesError"]


class PolicyError(WinkError, ValueError):
    """A policy was built from rules that cannot be meant."""


class DependencyCycle(PolicyError):
    """Tools wait for each other, so that none of them could ever run.

    `tools` goes once around the circle: its first name is also its last.
    """

    def __init__(self, tools: Sequence[str]) -> None:
        self.tools = tuple(tools)
        super().__init__(self.tools)

    def __str__(self) -> str:
        if len(self.tools) == 2:
            return f"{self.tools[0]!r} depends on itself; take it out of its own dependencies"
        return f"{' needs '.join(map(repr, self.tools))}; take one of these dependencies out"


class RulesError(PolicyError):
    """Rules that make no sense; `problems` are all of them, each with its place, and no rule was applied."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        return "; ".join(self.problems)
