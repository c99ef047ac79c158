"""Tell errors of an overlay's upper store as being about the overlay's own paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar, cast

from wink.errors import UndoConflict
from wink.filesystem._change import FileChange
from wink.filesystem._overlay_marks import GONE, TREE
from wink.filesystem._store import Store

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
    except UndoConflict as failed:
        failed.conflicts = tuple((_overlaid(what), reason) for what, reason in failed.conflicts)
        failed.args = (failed.conflicts,)
        raise
    except Exception as failed:
        paths = getattr(failed, "paths", None)
        if isinstance(paths, tuple):
            cast("Any", failed).paths = tuple(dict.fromkeys(_overlaid(path) for path in cast("tuple[str, ...]", paths)))
        raise


def know_contents(upper: Store, changes: Iterable[FileChange]) -> None:
    """Note the digests of what changes left: a file that is written again as it was is another one with the same content."""
    from hashlib import sha256

    for change in changes:
        after = change.after
        if after is not None and after.kind == "file" and after.kept is not None and after.kept.digest is None:
            stream, _ = upper.open(change.path)
            with stream:
                hasher = sha256()
                while chunk := stream.read(1 << 20):
                    hasher.update(chunk)
            after.kept.digest = hasher.hexdigest()


def _overlaid(place: str) -> str:
    for top in (TREE, GONE):
        if place == top or place.startswith(top + "/"):
            return place[len(top) + 1 :] or "."
    return place
