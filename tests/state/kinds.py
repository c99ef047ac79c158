"""What an attacker puts at a name: for each kind a function that does it, in the place of what is there."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.state.canary import SECRET
from tests.state.world import NOBODY

HUGE = 1 << 40
MANY = 2000

Plant = Callable[[Path, Path], bool]
"""Puts something at a path, given the directory outside; False where this makes no sense at that path."""


def _cleared(place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def _double(place: Path, outside: Path) -> Path:
    """A copy of what wink has there, outside: nothing looks more like wink's own."""
    double = outside / f"double-{place.name}"
    if os.path.lexists(place):
        subprocess.run(["cp", "-a", "--", place, double], check=True)
    else:
        double.write_text(f"{SECRET}\n")
    return double


def link_to_file(place: Path, outside: Path) -> bool:
    """To a text of somebody's."""
    _cleared(place)
    place.symlink_to(outside / "secret.txt")
    return True


def link_to_directory(place: Path, outside: Path) -> bool:
    """To a directory with things in it."""
    _cleared(place)
    place.symlink_to(outside)
    return True


def link_to_double(place: Path, outside: Path) -> bool:
    """To what is in all respects what wink expects."""
    double = _double(place, outside)
    _cleared(place)
    place.symlink_to(double)
    return True


def dangling(place: Path, outside: Path) -> bool:
    """To what would be made by writing through it."""
    _cleared(place)
    place.symlink_to(outside / "absent")
    return True


def fifo(place: Path, outside: Path) -> bool:
    """Which blocks whoever opens it."""
    _cleared(place)
    os.mkfifo(place)
    return True


def bound_socket(place: Path, outside: Path) -> bool:
    """Which cannot be opened."""
    _cleared(place)
    here = os.getcwd()
    os.chdir(place.parent)  # the name of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(f"./{place.name}")
    except OSError:
        return False
    finally:
        os.chdir(here)
    return True


def device(place: Path, outside: Path) -> bool:
    """A text without end, where root can make one."""
    _cleared(place)
    if os.geteuid():
        return False
    os.mknod(place, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    return True


def link_to_zeros(place: Path, outside: Path) -> bool:
    """The same for everybody; of root to a device of its own, which the machine can do without."""
    _cleared(place)
    zeros = outside / "double-zeros"
    if os.geteuid():
        zeros = Path("/dev/zero")
    else:
        os.mknod(zeros, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    place.symlink_to(zeros)
    return True


def hard_link(place: Path, outside: Path) -> bool:
    """A second name of a file of somebody's that looks like wink's own."""
    if place.is_dir():
        return False
    double = _double(place, outside)
    _cleared(place)
    os.link(double, place)
    return True


def huge(place: Path, outside: Path) -> bool:
    """A file that begins as it did, and goes on for a tebibyte."""
    if place.is_dir():
        _cleared(place)
    elif os.path.lexists(place) and not stat.S_ISREG(os.lstat(place).st_mode):
        return False
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
    with open(place, "ab") as file:
        file.truncate(HUGE)
    return True


def many(place: Path, outside: Path) -> bool:
    """A directory with thousands of names, beside those that were there."""
    if not place.is_dir():
        _cleared(place)
    place.mkdir(parents=True, exist_ok=True)
    for number in range(MANY):
        (place / f"{number:05d}").touch()
    return True


def rubbish(place: Path, outside: Path) -> bool:
    """A plain file with what nothing can be made of."""
    _cleared(place)
    place.write_bytes(b"\x00\xff[{" * 300)
    return True


def of_somebody_else(place: Path, outside: Path) -> bool:
    """As it was, but another user's."""
    if os.geteuid():
        return False
    if not os.path.lexists(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("theirs\n")
    os.chown(place, NOBODY - 1, NOBODY - 1, follow_symlinks=False)
    return True


def closed(place: Path, outside: Path) -> bool:
    """As it was, but without any rights."""
    if place.is_symlink() or not place.exists():
        return False
    place.chmod(0)
    return True


KINDS: Mapping[str, Plant] = {
    "link to a file": link_to_file, "link to a directory": link_to_directory, "link to its double": link_to_double,
    "dangling link": dangling, "fifo": fifo, "socket": bound_socket, "device": device, "link to zeros": link_to_zeros,
    "hard link": hard_link, "huge": huge, "many": many, "rubbish": rubbish, "another owner": of_somebody_else,
    "closed": closed,
}  # fmt: skip

FOR_ROOT = frozenset({"device", "another owner"})
"""What only root can make."""
