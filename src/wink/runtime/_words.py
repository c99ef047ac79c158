"""What a model is told of an exception that is about its own files or its own data, so that it can fix the call."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

from wink.limits import is_interruption, said_by

MOST_PROBLEMS: Final = 10
MOST_CHARACTERS: Final = 1_000

OUTSIDE: Final = "a file outside of the workspace"


def words_of(error: BaseException, root: str, mask: Callable[[str], str] | None = None) -> str:
    """What an exception says of the workspace or of data, without paths of the host; nothing for any other.

    `root` is the workspace's directory, empty where files have none; `mask` hides secrets, by default those that `Masking` finds.
    """
    try:
        text = _of_file(cast("Any", error), root) if isinstance(error, OSError) else _of_data(error)
    except BaseException as worse:  # foreign code: a subclass may make anything of its attributes
        if is_interruption(worse):
            raise
        return ""
    if not text:
        return ""
    if mask is None:
        from wink.record.masking import Masking

        mask = Masking().text
    text = mask(text)
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}..."


def _of_file(error: OSError, root: str) -> str:
    named = [_shown(path, root) for path in cast("tuple[object, ...]", (error.filename, error.filename2))]
    known = [path for path in named if path]
    if not known or all(path == OUTSIDE for path in known):
        return ""  # what is elsewhere is no model's to fix
    number = cast("object", error.errno)
    reason = os.strerror(number) if isinstance(number, int) else ""
    return f"{' -> '.join(known)} {reason}".rstrip()


def _shown(path: object, root: str) -> str:
    """A path relative to the workspace, quoted; that of the host is nobody's business."""
    if isinstance(path, os.PathLike):
        path = os.fspath(cast("os.PathLike[str]", path))
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if not isinstance(path, str):
        return ""
    if "\\" in path or path.startswith("~"):
        return OUTSIDE
    if not path.startswith("/"):
        return repr(path)
    top = root.rstrip("/")
    if top and (path == top or path.startswith(f"{top}/")):
        return repr(os.path.relpath(path, top))
    return OUTSIDE


def _of_data(error: BaseException) -> str:
    kind = type(error)
    if isinstance(error, UnicodeError) or kind.__name__ == "JSONDecodeError":
        return said_by(error) if isinstance(error, ValueError) else ""
    if kind.__name__ == "ValidationError" and kind.__module__.startswith("pydantic"):
        return "; ".join(_problems(error))
    return ""


def _problems(error: Any) -> Iterator[str]:
    """Each of pydantic's problems with its place, without the values, which may be anybody's."""
    details = error.errors(include_url=False, include_context=False, include_input=False)
    for detail in details[:MOST_PROBLEMS]:
        where = ".".join(map(str, detail["loc"]))
        yield f"{where}: {detail['msg']}" if where else str(detail["msg"])
    if len(details) > MOST_PROBLEMS:
        yield f"and {len(details) - MOST_PROBLEMS} more"
