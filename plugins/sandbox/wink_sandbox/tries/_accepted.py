"""What became the workspace's of a try, and why nothing did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from wink.dataclass import dataclass
from wink.errors import MergeRefused
from wink.filesystem import FileChange, quoted_path

if TYPE_CHECKING:
    from wink_sandbox.tries._refs import Arrived
    from wink_sandbox.tries._three_way import Conflict

_NAMED: Final = 5
"""So many paths are named in a command that leaves them out."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became the workspace's: `call` is its number in the log, None where nothing changed or for a dry run.

    `left` pairs paths that had to stay in the try with the reasons, where the rest was accepted without them.
    `git` pairs the main working trees, of repositories that the workspace or a directory in it is a worktree of, with the
    numbers of the calls there. `merged` are the paths at which what the workspace has changed meanwhile was merged with what was
    tried, of which those `marked` have conflict markers in them; what was tried at the paths that are laid `aside`, since the workspace's
    lines were taken, comes back by `bring_back`; `conflicts` are what could not be merged, for a dry run. `arrived` are the
    refs of git that both have moved, with what the try's are called in the workspace.
    """

    call: int | None
    changes: tuple[FileChange, ...]
    notes: tuple[tuple[str, str], ...] = ()
    is_over: bool = False
    left: tuple[tuple[str, str], ...] = ()
    git: tuple[tuple[str, int], ...] = ()
    merged: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    arrived: tuple[Arrived, ...] = ()


class AcceptRefused(MergeRefused):
    """Something of what was tried may not become the workspace's; `name` is the try's. The message says how to go on."""

    def __init__(self, problems: Sequence[tuple[str, str]], name: str) -> None:
        super().__init__(problems)
        self.name = name
        self.args = (self.problems, name)

    def __str__(self) -> str:
        import shlex  # every try loads this module, and few are refused

        named = () if self.name == "default" else ("--name", self.name)
        left_out = [word for path in _few(self.paths) for word in ("--without", quoted_path(path))]
        return f"{super().__str__()}; to accept the rest: {shlex.join(('wink', 'accept', *named, *left_out))}"


def _few(paths: Sequence[str]) -> Sequence[str]:
    """Not many paths that have some in them: directories, where there are many."""
    few = list(dict.fromkeys(paths))
    while len(few) > _NAMED and any("/" in path for path in few):
        deepest = max(path.count("/") for path in few)
        few = list(dict.fromkeys(path.rpartition("/")[0] if path.count("/") == deepest else path for path in few))
    return few
