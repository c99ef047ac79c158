"""Move something to another mount: everything is made anew there, and then removed here."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

from wink.filesystem._disk_ground import Ground
from wink.filesystem._disk_place import Spot
from wink.filesystem._disk_trees import below

if TYPE_CHECKING:
    from wink.filesystem._disk_steps import Steps


def move_by_copy(steps: Steps, ground: Ground, here: Spot, there: Spot, found: os.stat_result) -> None:
    """Move a file, a link, or a directory with all that is in it."""
    _copy(steps, here.fd, here.name, there, found, None)
    if stat.S_ISDIR(found.st_mode):
        for path, child, target in list(below(here.fd, here.name)):
            above, _, name = path.rpartition("/")
            source = ground.beneath.directory(f"{here.path}/{above}" if above else here.path)
            try:
                real = f"{there.path}/{path}"
                into = ground.beneath.directory(real.rpartition("/")[0])
                try:
                    _copy(steps, source, name, Spot(into, name, real, there.asked, None), child, target)
                finally:
                    ground.beneath.close(into)
            finally:
                ground.beneath.close(source)
    steps.remove(here, found)


def _copy(steps: Steps, fd: int, name: str, there: Spot, found: os.stat_result, target: str | None) -> None:
    mode = stat.S_IMODE(found.st_mode) & 0o777
    if stat.S_ISDIR(found.st_mode):
        steps.make_directory(there)
        # As the maker's, so that it can be filled; a mode that forbids this is not kept.
        steps.change_mode(there, os.stat(there.name, dir_fd=there.fd, follow_symlinks=False), mode | 0o700)
    elif stat.S_ISLNK(found.st_mode):
        steps.link(there, os.readlink(name, dir_fd=fd) if target is None else target)
    elif stat.S_ISREG(found.st_mode):
        steps.create(there, steps.staged_copy(fd, name), exclusive=True, mode=mode)
    else:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
