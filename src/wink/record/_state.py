"""Make the directory in which a workspace keeps its state."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from typing import Final

from wink.errors import RecordUnavailable, WorkspaceReadOnly

_FORBIDDEN: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def make_state_directory(state: str) -> None:
    """Make sure that `state` is a directory that git ignores.

    Raises `WorkspaceReadOnly`, for a link too: a workspace that came from somewhere could point its state anywhere.
    """
    try:
        try:
            _make(state)
        except FileExistsError:
            if not stat.S_ISDIR(os.lstat(state).st_mode):
                raise WorkspaceReadOnly(state, "something that is no directory has this name") from None
        ignore = os.path.join(state, ".gitignore")
        if not os.path.lexists(ignore):
            # Written whole under another name first: a killed process must not leave an empty one behind.
            draft = f"{ignore}.{os.getpid()}"
            with open(draft, "w", encoding="utf-8") as file:
                file.write("*\n")
            os.rename(draft, ignore)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        if error.errno in _FORBIDDEN:
            raise WorkspaceReadOnly(state, reason) from error
        raise RecordUnavailable(state, reason) from error


def _make(state: str) -> None:
    parent = os.path.dirname(state)
    if os.path.basename(state) != ".wink":
        os.makedirs(parent, mode=0o700, exist_ok=True)
    before = os.stat(parent)
    os.mkdir(state, 0o700)
    # A workspace's own time of change tells of its files, not of ours.
    with suppress(OSError):
        os.utime(parent, ns=(before.st_atime_ns, before.st_mtime_ns))
