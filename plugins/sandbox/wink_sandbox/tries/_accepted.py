"""What became the workspace's of a try, why nothing did, and how the try lets go of it: as a whole, wherever wink is killed.

What that will be is noted in the try before the accept is committed. From the commit on it is; whoever opens the try next does
what of it is still to do.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from wink.dataclass import dataclass
from wink.errors import MergeRefused, RecordCorrupt
from wink.filesystem import FileChange, quoted_path
from wink.state import opened_directory, read_file, replace_file
from wink_sandbox import Differences, Overlay, Step, forget
from wink_sandbox.tries._layer import ACCEPTED

if TYPE_CHECKING:
    from wink_sandbox.tries._facts import Facts
    from wink_sandbox.tries.merging import Arrived, Conflict

_MOST_BYTES: Final = 1 << 30

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


# -- what the try lets go of


class Letting(NamedTuple):
    """What an accept takes out of a try once `transaction` is committed: steps by kind and path, of which some go `aside`.

    `known` are the digests of what the workspace has then, `texts` those of which a part was accepted; see `Facts.remember`.
    """

    transaction: str
    steps: list[list[str]]
    aside: list[str]
    known: dict[str, str | None]
    texts: dict[str, list[str]]


def steps_of(*given: Iterable[Step]) -> list[list[str]]:
    """Steps as they are noted."""
    return [[step.kind, step.path] for steps in given for step in steps]


def note(overlay: Overlay, letting: Letting) -> None:
    """Note it in a try, which is in use, in the place of what was noted before."""
    with opened_directory(overlay.directory) as place:
        replace_file(place, ACCEPTED, json.dumps(letting).encode())


def noted(overlay: Overlay) -> Letting | None:
    """What was noted; None for what cannot be read, as after a cut of power: all of it stays in the try then."""
    try:
        with opened_directory(overlay.directory) as place:
            said: object = json.loads(read_file(place, ACCEPTED, _MOST_BYTES))
        letting = Letting(*cast("list[Any]", said))
        if any(part in ("", ".", "..") for _, path in letting.steps for part in path.split("/")):
            return None
        return letting
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, AttributeError, RecursionError, RecordCorrupt):
        return None


def let_go(overlay: Overlay, facts: Facts, letting: Letting, lay_aside: Callable[[Differences], object]) -> None:
    """Take out of a try, which is in use, what was accepted; each step may have been done before."""
    from wink_sandbox.tries._bases import Bases  # which what is said of an accept does not need

    found = Differences(overlay, tuple(_there(overlay, letting.steps)))
    if letting.aside:
        lay_aside(found.exactly(letting.aside))
    forget(found)
    Bases(overlay).forget(path for _, path in letting.steps)
    facts.remember(letting.known, texts=letting.texts)


def end(overlay: Overlay) -> None:
    """Forget that there was anything to let go of."""
    with suppress(FileNotFoundError):
        os.unlink(f"{overlay.directory}/{ACCEPTED}")


def _there(overlay: Overlay, steps: Iterable[list[str]]) -> Iterator[Step]:
    """Those of some steps of which something is still in the layer."""
    for kind, path in steps:
        try:
            found = os.lstat(f"{overlay.upper}/{path}")
        except (FileNotFoundError, NotADirectoryError):
            continue
        yield Step(cast("Any", kind), path, None, None if kind == "drop" else found)
