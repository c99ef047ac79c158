"""Make the directory in which a workspace keeps its state, and say in our words why that cannot be."""

from __future__ import annotations

import errno
import os
from typing import Final

from wink.errors import RecordCorrupt, RecordUnavailable, WorkspaceReadOnly
from wink.state import make, open_directory

_FORBIDDEN: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def state_directory(state: str, *parts: str) -> int:
    """A descriptor of the state, or of a directory in it, made if need be.

    Raises `WorkspaceReadOnly`, for a link where a directory was too, `RecordUnavailable`, and `StateNotKnown` for a state
    that is not this user's.
    """
    try:
        fd = make(state)
        if parts:
            os.close(fd)
            fd = open_directory(os.path.join(state, *parts), make=True)
    except RecordCorrupt as error:
        raise WorkspaceReadOnly(state, error.reason) from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        if error.errno in _FORBIDDEN:
            raise WorkspaceReadOnly(state, reason) from error
        raise RecordUnavailable(state, reason) from error
    return fd
