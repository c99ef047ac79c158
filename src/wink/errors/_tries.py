"""Errors of tries."""

from collections.abc import Mapping, Sequence

from wink.errors._core import WinkError
from wink.errors._sandbox import NOBODY, changed_by

__all__ = ["NothingTried", "TryBusy", "TryConflict", "UnknownTry"]


class UnknownTry(WinkError):
    """There is no try of this name; `known` are those that there are."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name, self.known = name, tuple(known)
        super().__init__(name, self.known)

    def __str__(self) -> str:
        if not self.known:
            return "nothing is being tried here; `wink try -- COMMAND` runs a program without changing anything"
        return f"there is no try {self.name!r}; there are: {', '.join(self.known)}"


class TryBusy(WinkError):
    """A program is still running in this try."""

    says = "a program is still running in the try {name!r}; wait for it, or begin another one with --name"

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(name)


class TryConflict(WinkError):
    """Files that were changed in a try have changed in the workspace too since it began; nothing was accepted.

    `calls` has the number of the call by which a path became what it is, where one did that.
    """

    def __init__(self, name: str, paths: Sequence[str], calls: Mapping[str, int] = NOBODY) -> None:
        self.name, self.paths, self.calls = name, tuple(paths), dict(calls)
        super().__init__(name, self.paths, self.calls)

    def __str__(self) -> str:
        shown = changed_by(self.paths, self.calls)
        return (
            f"changed in the workspace since the try {self.name!r} began: {shown}; nothing was accepted: "
            "name other paths to accept them, or drop these and run the program again"
        )


class NothingTried(WinkError):
    """Nothing was changed at a path in a try."""

    says = "the try {name!r} has changed nothing at {path!r}; `wink diff` shows what it changed"

    def __init__(self, path: str, name: str) -> None:
        self.path, self.name = path, name
        super().__init__(path, name)
