"""Take over a state that was copied, restored or made by the first version of wink, or put aside one of somebody else's."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Final

from wink.errors import StateNotKnown
from wink.state._memory import forget, remember
from wink.state._place import (
    ADOPTING,
    ALL,
    DIRECTORY,
    SEAL,
    Unknown,
    above_in,
    close_up,
    is_known,
    is_mark_of_earlier,
    name_of,
    unknown_in,
)
from wink.state._plain import opened_directory

_ASIDE: Final = "aside-"
_DIRECTORIES: Final = frozenset(
    ("wal", "staged", "conflicts", "store.git", "tries", "programs", "copies", "scratch", "results", "held")
)
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def unknown(root: str) -> tuple[Unknown, ...]:
    """What looks like a state of the workspace `root` and is not known."""
    with _entered(root) as (top, above):
        if above < 0:
            return ()
        own = name_of(top)[0]
        # A state of one's own under another name is that of another workspace: it is not in use here.
        return tuple(one for one in unknown_in(above, own) if one.name != own or not is_known(above, own))


def strange(state: str) -> tuple[str, ...]:
    """The names in a state that wink never made: links, files where it has directories, and the other way round."""
    try:
        with opened_directory(state) as fd, os.scandir(fd) as entries:
            return tuple(sorted(one.name for one in entries if not _is_usual(one)))
    except FileNotFoundError:
        return ()


def adopt(root: str, found: Unknown) -> str:
    """Take what is in `.wink` for this user's from now on, after a look at it; the state's path.

    Raises `StateNotKnown` for what cannot be taken: what another user owns, what is reached by a link, a record with a
    journal that SQLite would play back, or where there is a known state already. Then nothing was moved.
    """
    place = os.path.normpath(os.path.join(root, DIRECTORY, found.name))
    with _entered(root) as (top, above):
        name, problem = name_of(top)
        if problem is not None:
            raise problem
        if is_known(above, name):
            raise StateNotKnown(place, "there is one that is yours beside it, which has to be put away first")
        with _inside(above, found.name) as source:
            names = [one for one in os.listdir(source) if found.name != ALL or _is_of_earlier(one)]
            if not names:
                raise StateNotKnown(place, "there is nothing in it that wink made")
            for one in names:
                _check(source, one, place)
            if found.name == ALL:
                # Always the same: who was killed in the middle of it goes on with what has been moved.
                draft = name + ADOPTING
                _gather(above, [one for one in names if one != draft], draft)
                with _inside(above, draft) as inside:
                    close_up(inside)
                os.rename(draft, name, src_dir_fd=above, dst_dir_fd=above)
            else:
                for one in names:
                    if one.startswith(SEAL):
                        os.unlink(one, dir_fd=source)
                close_up(source)
                if found.name != name:
                    os.rename(found.name, name, src_dir_fd=above, dst_dir_fd=above)
        remember(top, name)
    return os.path.join(root, DIRECTORY, name)


def put_aside(root: str, found: Unknown, to: str) -> str:
    """Move what looks like a state, and is none of this user's, to `to` in `.wink`, where nobody looks; its path."""
    with _entered(root) as (top, above):
        if found.name == ALL:
            # What was put aside before, in this very moment too, stays where its owner was told that it is.
            _gather(above, [one for one in os.listdir(above) if _is_of_earlier(one) and not one.startswith(_ASIDE)], to)
        else:
            os.rename(found.name, to, src_dir_fd=above, dst_dir_fd=above)
            if found.name == name_of(top)[0]:
                forget(found.name)
    return os.path.join(root, DIRECTORY, to)


def put_all_aside(root: str, to: str) -> str:
    """Move `.wink` itself, whatever it is, to `to` in the workspace; its path."""
    with opened_directory(root) as top:
        os.rename(DIRECTORY, to, src_dir_fd=top, dst_dir_fd=top)
    return os.path.join(root, to)


@contextmanager
def _entered(root: str) -> Generator[tuple[int, int]]:
    """Descriptors of a workspace and of its `.wink`, -1 where there is none."""
    with opened_directory(root) as top:
        above = above_in(top, root)
        try:
            yield top, above
        finally:
            if above >= 0:
                os.close(above)


@contextmanager
def _inside(above: int, name: str) -> Generator[int]:
    fd = os.open(name, _DIRECTORY, dir_fd=above)
    try:
        yield fd
    finally:
        os.close(fd)


def _gather(above: int, names: list[str], to: str) -> None:
    with suppress(FileExistsError):
        os.mkdir(to, 0o700, dir_fd=above)
    with _inside(above, to) as inside:
        for one in names:
            os.rename(one, one, src_dir_fd=above, dst_dir_fd=inside)


def _is_usual(entry: os.DirEntry[str]) -> bool:
    if entry.is_dir(follow_symlinks=False):
        return entry.name != "lease"
    return entry.is_file(follow_symlinks=False) and entry.name not in _DIRECTORIES


def _is_of_earlier(name: str) -> bool:
    return is_mark_of_earlier(name) or name in (".gitignore", "history.bundle") or name.startswith((_ASIDE, "run-"))


def _check(state: int, name: str, place: str) -> None:
    """Refuse what wink never puts into a state, and what would lead out of it."""
    found = os.stat(name, dir_fd=state, follow_symlinks=False)
    said = os.path.join(place, name)
    if found.st_uid != os.geteuid():
        raise StateNotKnown(said, f"it belongs to the user {found.st_uid}")
    if name == "record.db-journal":
        raise StateNotKnown(said, "SQLite would play it back, and wink never writes one")
    if stat.S_ISDIR(found.st_mode):
        return
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        raise StateNotKnown(said, "wink keeps only plain files and directories here")
