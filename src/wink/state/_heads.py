"""Keep the head of a record's chain in the user's own directory, where nobody who can write the workspace can."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

from wink.errors import RecordCorrupt
from wink.state._key import user_directory
from wink.state._memory import HEADS, birth_of, user_place
from wink.state._place import is_place
from wink.state._plain import opened_directory, read_file, replace_file

_MOST_BYTES: Final = 128


def keep_head(state: str, position: int, entry: bytes) -> None:
    """Keep how far the chain of the record in `state` has come: to a position with the hash of its entry.

    Only of a state in `.wink`. Raises `OSError` or `RecordCorrupt` where that cannot be.
    """
    directory = user_directory()
    if directory is not None and is_place(state):
        with opened_directory(user_place(directory, HEADS), make=True) as at:
            replace_file(at, os.path.basename(state), f"{position} {entry.hex()} {_birth(state)}".encode())


def kept_head(state: str) -> tuple[int, bytes] | None:
    """Position and hash that were last kept of the chain in `state`; None where there are none that can be read."""
    directory = user_directory()
    if directory is not None and is_place(state):
        with suppress(OSError, RecordCorrupt, ValueError), opened_directory(user_place(directory, HEADS)) as at:
            position, entry, birth = read_file(at, os.path.basename(state), _MOST_BYTES).decode("ascii").split()
            # A new directory often has the inode, and so the name, of one that was deleted.
            return (int(position), bytes.fromhex(entry)) if birth == _birth(state) else None
    return None


def _birth(state: str) -> str:
    with opened_directory(os.path.dirname(os.path.dirname(state))) as root:
        return birth_of(root).decode()
