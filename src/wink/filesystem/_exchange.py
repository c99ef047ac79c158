"""Find out whether two files of a directory can change places in one step."""

from __future__ import annotations

import os
import tempfile

from wink.filesystem._syscalls import RENAME_EXCHANGE, renameat2


def can_exchange(directory: str) -> bool:
    """Whether the kernel and the filesystem of `directory` can exchange two files in one step (`RENAME_EXCHANGE`).

    Where they cannot, undo and rename do the same in several steps that recovery can finish. Two empty files are made
    in a directory of their own beneath `directory` for the time of the question; raises `OSError` where that cannot be.
    """
    with tempfile.TemporaryDirectory(prefix=".wink-probe-", dir=directory) as place:
        there = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for name in ("one", "two"):
                os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=there))
            try:
                renameat2(there, "one", there, "two", RENAME_EXCHANGE)
            except OSError:
                return False
        finally:
            os.close(there)
    return True
