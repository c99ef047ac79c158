"""Errors of model adapters and scripts."""

from wink.errors._core import WinkError

__all__ = ["ScriptError", "ScriptMismatch"]


class ScriptError(WinkError, ValueError):
    """A script of model turns cannot be used; `where` says which file, turn and call."""

    def __init__(self, where: str, problem: str) -> None:
        self.where, self.problem = where, problem
        super().__init__(where, problem)

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}"


class ScriptMismatch(ScriptError):
    """A run went another way than its script expects."""
