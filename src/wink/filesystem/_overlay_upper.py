"""Tell errors of an overlay's upper store as being about the overlay's own paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from wink.filesystem._overlay_marks import GONE, TREE

P = ParamSpec("P")
T = TypeVar("T")


def told_of_upper(operation: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    """Run an operation on the upper store; errors name the overlay's path, not the place where it is stored."""
    try:
        return operation(*args, **options)
    except OSError as failed:
        facts = cast("Any", failed)
        for name in ("filename", "filename2", "path"):
            at = getattr(failed, name, None)
            if isinstance(at, str):
                setattr(facts, name, _overlaid(at))
        raise
    except Exception as failed:
        paths = getattr(failed, "paths", None)
        if isinstance(paths, tuple):
            cast("Any", failed).paths = tuple(dict.fromkeys(_overlaid(path) for path in cast("tuple[str, ...]", paths)))
        raise


def _overlaid(place: str) -> str:
    for top in (TREE, GONE):
        if place == top or place.startswith(top + "/"):
            return place[len(top) + 1 :] or "."
    return place
