"""Describe the state of the files that a call concerns, so that an approval stands for exactly that state.

It covers every path that the arguments name and every path that the session knows of, by content, and where there is a
record the last change that anybody made through wink. What a program or the outside world does depends on more than the
paths that it is told: for such calls, and where there is no record, all files that git does not ignore count, by size, mode
and time of change.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, cast

from wink.errors import PathRefused
from wink.filesystem import Filesystem, Stamp, workspace_path
from wink.session import Session

_NAMES: Final = 1000
"""So many texts of the arguments are taken for paths."""
_LONGEST: Final = 4096
_UNBOUND: Final = ("process", "external")
_TOLD: Final = 5
"""So many paths are named when it is told what changed."""


def facts_of(
    files: Filesystem | None,
    session: Session,
    *,
    arguments: str,
    effects: str,
    position: int | None,
    place: str,
    noted: Iterable[str] | None = None,
    nested: bool = False,
) -> str:
    """The state as JSON, the same text for the same state.

    `position` is that of the last recorded change, in the record at `place`. `noted` are the paths that the session knew when it was asked; all that
    it knows by default. Where the call is `nested`, the call around it may have just written files, so that their times say
    nothing: there content counts in their place.
    """
    facts: dict[str, Any] = {"position": position, "place": place, **({"nested": True} if nested else {})}
    if files is not None:
        facts["named"] = {path: _mark(files, path, nested) for path in sorted(_named(files, arguments))}
        known = {stamp.path for stamp in session[Stamp].all()} if noted is None else set(noted)
        facts["noted"] = {path: files.fingerprint(path) for path in sorted(known)}
        if position is None or effects in _UNBOUND:
            facts["files"] = _scan(files, ".", nested)
    return json.dumps(facts, sort_keys=True, separators=(",", ":"))


def noted_in(facts: str) -> tuple[str, ...]:
    """The paths that the session knew when these facts were taken."""
    return tuple(json.loads(facts).get("noted", ()))


def is_nested(facts: str) -> bool:
    """Whether this is the state that a call saw inside of another one: nobody else can see it, or compare with it."""
    return bool(json.loads(facts).get("nested"))


def differences(before: str, after: str) -> tuple[str, ...]:
    """In a phrase each, what has changed from one state to another."""
    old, new = json.loads(before), json.loads(after)
    changed: dict[str, str] = {}
    for part in ("named", "noted"):
        there, now = old.get(part, {}), new.get(part, {})
        for path in sorted({*there, *now}):
            if there.get(path) != now.get(path):
                what = "was made" if there.get(path) is None else "has gone" if now.get(path) is None else "has changed"
                changed.setdefault(path, f"{path} {what}")
    told = list(changed.values())
    if len(told) > _TOLD:
        told = [*told[:_TOLD], f"{len(told) - _TOLD} more paths have changed"]
    if not told and old.get("files") != new.get("files"):
        told.append("files of the workspace have changed")
    if not told and old.get("place") != new.get("place"):
        told.append("the workspace was copied")
    if not told and old.get("position") != new.get("position"):
        told.append("another call has changed files")
    return tuple(told)


def _named(files: Filesystem, arguments: str) -> set[str]:
    """The paths that texts in the arguments may stand for, whether or not there is something."""
    found: set[str] = set()
    root = files.root.rstrip("/") + "/"
    for text in _texts(json.loads(arguments)):
        if len(found) == _NAMES:
            break
        if not text or len(text) > _LONGEST or "\n" in text:
            continue
        try:
            found.add(str(workspace_path(text.removeprefix(root))))
        except PathRefused:
            continue
    return found


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _texts(inner)


def _mark(files: Filesystem, path: str, by_content: bool) -> str | None:
    """What is at a path, in brief; None where there is nothing."""
    try:
        found = files.stat(path or ".")
        if found.is_directory:
            return f"directory {_scan(files, path or '.', by_content)}"
        return f"{found.mode:o} {found.is_link} {found.target} {files.fingerprint(path)}"
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, PathRefused) as error:
        return type(error).__name__


def _scan(files: Filesystem, top: str, by_content: bool) -> str:
    """Everything beneath a directory but what git ignores, in one digest."""
    from hashlib import sha256

    hasher = sha256()
    for match in files.iglob("**", top, respect_ignore=True):
        row: Sequence[object]
        try:
            found = files.stat(match.path)
            time = files.fingerprint(match.path) if by_content else found.modified_at.isoformat()
            row = (match.path, found.is_directory, found.target, found.mode, found.size_bytes)
            if not found.is_directory:  # a directory's time changes with what is ignored in it, too
                row = (*row, time)
        except (OSError, PathRefused) as error:
            row = (match.path, type(error).__name__)
        hasher.update(json.dumps(row).encode() + b"\n")
    return hasher.hexdigest()
