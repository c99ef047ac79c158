"""Put a whole directory of files in its place, or nothing."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Mapping


def write_all(directory: str, files: Mapping[str, str]) -> None:
    """Make `directory` with these files in it, paths relative to it.

    Everything is written beside it first and gets its name at the end, so that nobody ever meets half of it. Raises
    `FileExistsError` when there is anything at that place, and `OSError` when it cannot be written; nothing is left then.
    """
    parent, name = os.path.split(os.path.abspath(directory))
    if os.path.lexists(directory):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), directory)
    draft = tempfile.mkdtemp(prefix=f".{name}-", dir=parent)
    try:
        for path, text in files.items():
            place = os.path.join(draft, *path.split("/"))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        os.chmod(draft, 0o777 & ~_umask())  # what `mkdtemp` makes is for its owner alone
        # An empty directory that somebody makes at this very moment is replaced, one with files in it is not.
        os.rename(draft, directory)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _umask() -> int:
    """The process's umask, which can only be read by setting it."""
    umask = os.umask(0o022)
    os.umask(umask)
    return umask
