"""Find out whether a directory can be a workspace, one that can be changed, and where its state is."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from wink.errors import RecordCorrupt, WorkspaceRootError
from wink.state import is_place, key_problem, locate, strange

if TYPE_CHECKING:
    from wink.record import Masking, Record


def workspace_root(root: str | os.PathLike[str]) -> str:
    """The absolute path of an existing directory; raises `WorkspaceRootError` for anything else.

    >>> workspace_root("no/such/place")
    Traceback (most recent call last):
    ...
    wink.errors.WorkspaceRootError: 'no/such/place' cannot be a workspace, it does not exist; give an existing directory
    """
    text = os.fspath(root)
    # An empty path would silently mean the current directory.
    if not text:
        raise WorkspaceRootError(text, "has no name")
    try:
        found = os.stat(text)
    except FileNotFoundError:
        raise WorkspaceRootError(text, "does not exist") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise WorkspaceRootError(text, f"cannot be reached ({reason})") from error
    if not stat.S_ISDIR(found.st_mode):
        raise WorkspaceRootError(text, "is not a directory")
    return os.path.abspath(text)


def open_record(
    root: str | os.PathLike[str], *, state: str | os.PathLike[str] | None = None, masking: Masking | None = None
) -> Record:
    """The record of the workspace at `root`, to look at: nothing is recovered, and nobody is kept from working.

    Raises `WorkspaceRootError`, and `RecordError` where there is something that cannot be read.
    """
    from wink.record import Masking, Record

    record = Record(state_place(workspace_root(root), state), masking=masking or Masking())
    record.check()
    return record


def state_place(root: str, given: str | os.PathLike[str] | None) -> str:
    """Where the state of a workspace lies: where a program says, or else where `wink.state` does. Raises `RecordError`."""
    place = locate(root, given)
    try:
        found = strange(place)
    except PermissionError:
        return place  # to be told by whoever wants to write
    if found:
        raise RecordCorrupt(os.path.join(place, found[0]), "it is a link, or no file, and wink did not put it there")
    return place


def why_not_kept(state: str) -> str | None:
    """Why the state cannot be kept in the directory `state`, or None where it can be, or can be made."""
    if is_place(state) and (problem := key_problem()) is not None:
        return problem
    place = state
    while not os.path.lexists(place) and place != os.path.dirname(place):
        place = os.path.dirname(place)
    return None if os.access(place, os.W_OK | os.X_OK) else "the directory cannot be written to"
