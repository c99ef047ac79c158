"""A directory for one attempt on its node, gone when it ends, and swept by the next one if its worker was killed."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress


@contextmanager
def room_for(place: str) -> Generator[str]:
    """A directory for one attempt; what killed workers left is swept when nobody holds it."""
    above = os.path.realpath(os.path.join(place, "work"))
    os.makedirs(above, mode=0o700, exist_ok=True)
    _sweep(above)
    while True:
        room = tempfile.mkdtemp(dir=above)
        lock = os.open(f"{room}/lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.fstat(lock).st_nlink:
            break
        os.close(lock)  # somebody swept it in this very moment
    try:
        yield room
    finally:
        _remove(room)
        os.close(lock)


def _sweep(above: str) -> None:
    for name in os.listdir(above):
        room = os.path.join(above, name)
        try:
            lock = os.open(f"{room}/lock", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(room)
        except BlockingIOError:
            pass
        finally:
            os.close(lock)


def _remove(room: str) -> None:
    from wink_sandbox import remove_tree

    # What the kernel works in, and programs leave, may be closed even to its owner.
    with suppress(OSError):
        remove_tree(room)


def without_state(tree: str) -> Callable[[str, list[str]], list[str]]:
    """What `shutil.copytree` is to leave out: the state of whoever works on the tree itself."""

    def ignore(directory: str, names: list[str]) -> list[str]:
        return [name for name in names if name == ".wink" and directory == tree]

    return ignore


def size_of(room: str) -> int:
    """What an attempt took of the disk, with all that is removed when it ends."""
    total = 0
    for above, _, names in os.walk(room):
        for name in (*names, ""):
            with suppress(OSError):
                total += os.lstat(os.path.join(above, name)).st_blocks * 512
    return total
