"""Refuse a store in which git would find settings, hooks, links or other objects that wink has not put there.

A state directory may come with a workspace from somewhere, and git runs what the settings of a repository name. So whoever
starts git on the store asks here first.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Final

from wink.errors import HistoryDamaged
from wink_history._objects import Malformed
from wink_history._pack_reading import open_plain
from wink_history._store import CONFIG, NAME

PLANTED: Final = frozenset(
    {
        # Settings, by other names and from elsewhere
        "commondir", "config.worktree", "gitdir",
        # What is run
        "hooks", "info/attributes",
        # Objects from elsewhere, and others than those that were asked for
        "info/grafts", "objects/info/alternates", "objects/info/http-alternates", "refs/replace", "shallow",
    }
)  # fmt: skip
"""What git follows in a repository, and wink never has in its own."""

_SHOWN: Final = "packed-refs"
"""Of its text files the one whose lines git prints where it cannot read them; only git itself makes it, when it tidies."""

_DEEPEST: Final = 12
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def untouched_store(state: str) -> str | None:
    """The path of the history kept in `state`, fit for git; None where there is none. Raises `HistoryDamaged`."""
    place = os.path.join(state, NAME)
    try:
        top = os.open(place, _DIRECTORY)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HistoryDamaged(place, error.strerror or str(error)) from None
    try:
        _check_settings(top)
        for path in _paths(top, "", 0):
            if path.lower() in PLANTED:  # where case counts for nothing, git follows it in any
                raise Malformed(f"wink has not put {path!r} there, and git would follow it like settings")
    except OSError as error:
        raise HistoryDamaged(place, f"{error.filename!r} in it: {error.strerror or error}") from None
    except Malformed as error:
        raise HistoryDamaged(place, str(error)) from None
    finally:
        os.close(top)
    return place


def _check_settings(top: int) -> None:
    with os.fdopen(open_plain(top, "config"), "rb") as file:
        if file.read(len(CONFIG) + 1) != CONFIG:
            raise Malformed("somebody has given it settings of its own, which git would follow")


def _paths(directory: int, above: str, depth: int) -> Iterator[str]:
    """Everything there; raises `Malformed` for what is neither a plain file nor a directory, which could hang git."""
    if depth > _DEEPEST:
        raise Malformed(f"{above!r} is deeper than wink makes directories")
    with os.scandir(directory) as entries:
        names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_directory in names:
        path = above + name
        yield path
        try:
            if is_directory:
                below = os.open(name, _DIRECTORY, dir_fd=directory)
            else:
                found = os.stat(name, dir_fd=directory, follow_symlinks=False)
                if not stat.S_ISREG(found.st_mode):
                    raise Malformed(f"{path!r} is a link or no plain file")
                if path.lower() == _SHOWN and found.st_nlink > 1:
                    raise Malformed(
                        f"{path!r} has another name elsewhere, and git would print what it cannot read in it"
                    )
                continue
        except FileNotFoundError:
            continue  # the draft of somebody who is folding
        try:
            yield from _paths(below, f"{path}/", depth + 1)
        finally:
            os.close(below)
