"""Find out whether a directory can be a workspace, one that can be changed, and where its state is."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from wink.errors import RecordCorrupt, WorkspaceRootError

if TYPE_CHECKING:
    from wink.record import Masking, Record

STATE_DIRECTORY: Final = ".wink"
"""Where a workspace keeps its state unless told otherwise, beneath its root."""


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

    given: str = os.path.join(workspace_root(root), STATE_DIRECTORY) if state is None else os.fspath(state)
    place = os.path.abspath(given)
    check_state(place, may_be_link=state is not None)
    record = Record(place, masking=masking or Masking())
    record.check()
    return record


def can_keep_state(state: str) -> bool:
    """Whether the directory `state` can be written to, or made."""
    place = state
    while not os.path.lexists(place) and place != os.path.dirname(place):
        place = os.path.dirname(place)
    return os.access(place, os.W_OK | os.X_OK)


def check_state(state: str, *, may_be_link: bool) -> None:
    """Raise `RecordCorrupt` where `state` is no directory, or a link, or has links in it.

    A link that came with a workspace could lead anywhere, and what is there would be written to, and cleaned up.
    """
    try:
        found = os.stat(state, follow_symlinks=may_be_link)
        if stat.S_ISLNK(found.st_mode):
            raise RecordCorrupt(state, "it is a link, and could lead anywhere")
        if not stat.S_ISDIR(found.st_mode):
            raise RecordCorrupt(state, "it is no directory")
        with os.scandir(state) as entries:
            links = sorted(entry.name for entry in entries if entry.is_symlink())
    except OSError:
        return
    if links:
        raise RecordCorrupt(os.path.join(state, links[0]), "it is a link, and could lead anywhere")


def has_journals(state: str) -> bool:
    """Whether a transaction was left behind, or is under way."""
    try:
        with os.scandir(os.path.join(state, "wal")) as found:
            return next(found, None) is not None
    except OSError:
        return False
