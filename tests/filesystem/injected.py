"""System calls that fail, or are the last ones that a process makes."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

CALLS = (
    "chmod", "fchmod", "fchown", "ftruncate", "link", "mkdir", "open", "pwrite", "rename", "replace", "rmdir",
    "setxattr", "symlink", "unlink", "utime", "write",
)  # fmt: skip


class Death(BaseException):
    """The process is gone: nothing that it still runs reaches the disk."""


@contextmanager
def failing(after: int, *, dies: bool) -> Iterator[list[str]]:
    """Let `after` calls that change the disk pass, then fail one of them, or die; gives the names of what was hit."""
    hit: list[str] = []
    left = after

    def wrapped(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal left
            if name == "open" and not arguments[1] & os.O_CREAT:
                return function(*arguments, **options)
            if hit and dies:
                raise Death
            left -= 1
            if left == -1:
                hit.append(name)
                if dies:
                    raise Death
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return function(*arguments, **options)

        return call

    places: list[tuple[Any, str]] = [(os, name) for name in CALLS]
    places += [
        (module, "renameat2")
        for name, module in list(sys.modules.items())
        if name.startswith("wink.filesystem.") and hasattr(module, "renameat2")
    ]
    real = [(place, name, getattr(place, name)) for place, name in places]
    try:
        for place, name, function in real:
            setattr(place, name, wrapped(name, function))
        yield hit
    finally:
        for place, name, function in real:
            setattr(place, name, function)
