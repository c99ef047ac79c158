"""Let go in a try of what was accepted of it: as a whole, wherever wink is killed.

What that will be is noted in the try before the accept is committed. From the commit on it is; whoever opens the try next does
what of it is still to do.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple, cast

from wink.errors import RecordCorrupt
from wink.state import opened_directory, read_file, replace_file
from wink_sandbox import Differences, Overlay, Step, forget
from wink_sandbox.tries._bases import Bases
from wink_sandbox.tries._facts import Facts
from wink_sandbox.tries._layer import ACCEPTED

_MOST_BYTES: Final = 1 << 30


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
