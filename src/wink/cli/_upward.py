"""Find the workspace upward from the current directory, as git finds a repository.

Rules of this module:

* The nearest directory that has a state of this user's own wink, else the root of the git repository, else the current
  directory itself. A `.git` that somebody puts below a workspace that is in use does not take its place.
* What another user owns counts for nothing, and neither does what lies above: above a directory of another user's, above a
  mount point, or above the home directory. `/` is never found from below.
* The home directory is found from below only by its state, and only where no repository lies between: people keep their
  dotfiles in a repository there, and the projects below are projects of their own.
* From directory to directory it goes by descriptors, and follows no link.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Sequence
from contextlib import closing, suppress
from typing import Final

from wink.errors import RecordCorrupt, StateNotKnown, WinkError, WorkspaceReadOnly, WorkspaceRootError
from wink.trust import guard, guarded_places, is_inside, named_workspaces

# On the way a directory need not be readable: that of all homes often is not.
_THROUGH: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_HERE: Final = "."
_OF_GIT: Final = ("HEAD", "objects", "refs")
"""What git wants to see in a `.git` before it takes that for a repository."""
_MOST_BYTES: Final = 8192
"""Of a `.git` file, which has one path in it."""
_COPIES: Final = "wink-copies"
"""Where the sandbox has copies for programs that nothing confines, beside wink's own directory of the user's state."""


class InCopy(WorkspaceRootError):
    """The current directory is in a copy of a workspace, on which a program works that nothing confines."""

    def __str__(self) -> str:
        return (
            f"{self.root!r} is in a copy of a workspace, made for `wink try --unconfined`, and no workspace itself; "
            "leave it, or name a workspace with --workspace"
        )


def workspace_here() -> str:
    """The workspace for whoever stands in the current directory: `.` where that is it, otherwise a full path.

    In wink's own processes no distribution in it counts from now on. Raises `StateKeyError` where states cannot be told
    apart and one may be there, `WorkspaceRootError` where the current directory has been deleted or what was found is being
    moved, or is in such a copy, and `OSError` where that cannot be reached by its path.
    """
    _check_no_copy()
    found = _found()
    if found is None:
        return _HERE
    path, status = found
    if not os.path.samestat(status, os.stat(path, follow_symlinks=False)):
        raise WorkspaceRootError(path, "was moved while it was looked for")
    if guarded_places() is not None:
        guard(path)
    return path


def guard_here(arguments: Sequence[str]) -> None:
    """Guard the current directory, its workspace, and every one that a command line may name.

    What is wrong with one is said when it is used.
    """
    guard(*named_workspaces(arguments), *(arguments if "ui" in arguments else ()))
    with suppress(OSError, WinkError):
        workspace_here()


def _check_no_copy() -> None:
    with suppress(OSError):
        here = os.getcwd()
        if f"/{_COPIES}/" in here:
            from wink.state import user_directory

            own = user_directory()
            copies = os.path.join(os.path.dirname(own), _COPIES) if own is not None else here
            if is_inside(here, os.path.realpath(copies)):
                raise InCopy(here, "is in a copy")


def _found() -> tuple[str, os.stat_result] | None:
    """Path and status of the workspace above the current directory, None where it is that directory."""
    home, start, found = _home(), None, None
    with closing(_upward(home)) as directories:
        for path, fd in directories:
            start = start or path
            if _has_state(path, fd, is_start=path == start) and not (path == home and found):
                found = path, os.fstat(fd)
                break
            if found is None and path != home and _is_repository(fd):
                found = path, os.fstat(fd)
    return None if found is None or found[0] == start else found


def _upward(home: str) -> Generator[tuple[str, int]]:
    """Path and descriptor of the current directory and those above it, as far as any may be found."""
    try:
        path, fd = os.getcwd(), os.open(_HERE, _THROUGH)
    except FileNotFoundError:
        raise WorkspaceRootError(_HERE, "has been deleted") from None
    except OSError:
        return  # whoever opens it is told what is wrong with it
    try:
        device = os.fstat(fd).st_dev
        while (status := os.fstat(fd)).st_uid == os.geteuid() and status.st_dev == device:
            yield path, fd
            if path == home or os.path.dirname(path) in (path, os.sep):
                return
            above = os.open("..", _THROUGH, dir_fd=fd)
            os.close(fd)
            path, fd = os.path.dirname(path), above
    except PermissionError:
        return  # nobody may look any further
    finally:
        os.close(fd)


def _home() -> str:
    """The real path of the home directory, or nothing."""
    home = os.path.expanduser("~")
    return os.path.realpath(home) if os.path.isabs(home) else ""


def _has_state(path: str, directory: int, *, is_start: bool) -> bool:
    """Whether wink has a state there, or where one stands what may be one: that is refused then, and not passed over."""
    with suppress(OSError, RecordCorrupt, WorkspaceReadOnly):
        status = os.stat(".wink", dir_fd=directory, follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            return False  # and nothing was imported for it
        from wink.state import enter, locate

        try:
            os.close(enter(locate(path), directory))
        except StateNotKnown:
            return is_start
        return True
    return False


def _is_repository(directory: int) -> bool:
    """Whether there is a `.git` of this user's: a directory as git makes it, or a file as worktrees and submodules have it."""
    with suppress(OSError):
        if stat.S_ISREG(os.stat(".git", dir_fd=directory, follow_symlinks=False).st_mode):
            from wink.state import read_file

            return read_file(directory, ".git", _MOST_BYTES).startswith(b"gitdir: ")
        fd = os.open(".git", _THROUGH, dir_fd=directory)
        try:
            for name in _OF_GIT:
                os.stat(name, dir_fd=fd, follow_symlinks=False)
            return os.fstat(fd).st_uid == os.geteuid()
        finally:
            os.close(fd)
    return False
