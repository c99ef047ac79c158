"""Remember, in the user's own directory, which workspaces have a state: so that one that was deleted can be told of.

Nothing is decided by it: what is known is told by key and seal alone.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

from wink.errors import RecordCorrupt
from wink.state._identity import identity
from wink.state._key import user_directory
from wink.state._plain import opened_directory, read_file, replace_file

_DIRECTORY: Final = "known"
HEAD: Final = ".head"
"""What the name of a state ends with where the head of its record is kept."""
_MOST_BYTES: Final = 64


def remember(root: int, name: str) -> None:
    """Note that the workspace with the descriptor `root` has a state called `name`, wherever that can be noted."""
    directory = user_directory()
    if directory is not None:
        with suppress(OSError, RecordCorrupt), opened_directory(user_place(directory), make=True) as at:
            replace_file(at, name, birth_of(root))


def forget(name: str) -> None:
    """Note that somebody has put this state away on purpose."""
    directory = user_directory()
    if directory is not None:
        for one in (name, name + HEAD):
            with suppress(OSError, RecordCorrupt), opened_directory(user_place(directory)) as at:
                os.unlink(one, dir_fd=at)


def is_gone(root: str, state: str) -> bool:
    """Whether this very directory had a state, at the path `state`, that somebody has deleted since."""
    directory = user_directory()
    if directory is None or os.path.lexists(state):
        return False
    try:
        with opened_directory(user_place(directory)) as at:
            noted = read_file(at, os.path.basename(state), _MOST_BYTES)
        with opened_directory(os.path.realpath(root)) as top:
            # A new directory often has the inode, and so the name, of one that was deleted.
            # Asked again: another process may have made it in between.
            return noted == birth_of(top) and not os.path.lexists(state)
    except (OSError, RecordCorrupt):
        return False


def user_place(directory: str) -> str:
    """The real path of the memory in the user's own directory."""
    return os.path.join(os.path.realpath(directory), _DIRECTORY)


def birth_of(root: int) -> bytes:
    """When the workspace with the descriptor `root` was made, as far as the system says it."""
    return str(identity(root)[1]).encode()
