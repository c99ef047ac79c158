"""Tell the model what went wrong with a file, and what to do about it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from wink.errors import (
    EditFailed,
    FileTooLarge,
    HandleRevoked,
    NotText,
    PathRefused,
    PatternError,
    ReadOnlyFilesystem,
    WriteTooLarge,
)
from wink.tools import ToolResult

Self = TypeVar("Self")
Rest = ParamSpec("Rest")
Value = TypeVar("Value")

WORDED: Final = (PathRefused, ReadOnlyFilesystem, FileTooLarge, WriteTooLarge, EditFailed, PatternError)
"""Errors whose own text tells a model all it needs."""

REMEDIES: Final[tuple[tuple[type[OSError], str], ...]] = (
    # first match wins      what the model is told of the path
    (FileNotFoundError,     "does not exist; find the right path with ls or glob"),
    (IsADirectoryError,     "is a directory, not a file; see what it holds with ls"),
    (NotADirectoryError,    "is not a directory, or its path leads through a file; check the path with ls"),
    (FileExistsError,       "exists already; choose another path, or pass overwrite=true to replace a file"),
    (PermissionError,       "may not be accessed; choose another path"),
)  # fmt: skip


def for_the_model(
    handler: Callable[Concatenate[Self, Rest], ToolResult[Value]],
) -> Callable[Concatenate[Self, Rest], ToolResult[Value]]:
    """A handler whose errors of the filesystem are failed results that say what to do next."""

    @functools.wraps(handler)
    def careful(self: Self, /, *args: Rest.args, **kwargs: Rest.kwargs) -> ToolResult[Value]:
        try:
            return handler(self, *args, **kwargs)
        except HandleRevoked:
            raise  # the call is over: there is nobody to tell
        except (OSError, NotText, UnicodeEncodeError, *WORDED) as error:
            return ToolResult[Any].error(explanation(error))

    return careful


def explanation(error: OSError | NotText | UnicodeEncodeError | EditFailed | PatternError) -> str:
    """What the model is told; nothing of the host is in it.

    >>> explanation(FileNotFoundError(2, "No such file or directory", "a.txt"))
    "'a.txt' does not exist; find the right path with ls or glob"
    """
    if isinstance(error, UnicodeEncodeError):
        found = error.object[error.start : error.end]
        return f"{found!a} is half a character, which no file can hold; write the whole character instead"
    if isinstance(error, WORDED):
        return str(error)
    if isinstance(error, NotText):
        return f"{error.path!r} is not UTF-8 text ({error.size} bytes); it can only be replaced, moved or deleted as a whole"
    where = repr(error.filename) if isinstance(error.filename, str) else "the path"
    for kind, remedy in REMEDIES:
        if isinstance(error, kind):
            return f"{where} {remedy}"
    return f"{where} cannot be used: {error.strerror or type(error).__name__}"
