"""What an attacker puts at a name: for each kind a function that does it, in the place of what is there."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.state.canary import SECRET
from tests.state.world import KEPT, NOBODY

HUGE = 1 << 40
MANY = 2000

Plant = Callable[[Path, Path], bool]
"""Puts something at a path, given the directory outside; False where this makes no sense at that path."""


def cleared(place: Path, outside: Path) -> None:
    """Move away what is there, to where it can be fetched from."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if os.path.lexists(place):
        kept = outside.parent / KEPT
        kept.mkdir(parents=True, exist_ok=True)
        place.rename(kept / f"{len(os.listdir(kept))}-taken")


def double(place: Path, outside: Path) -> Path:
    """A copy of what wink has there, outside: nothing looks more like wink's own."""
    other = outside / f"double-{place.name}"
    if os.path.lexists(place):
        subprocess.run(["cp", "-a", "--", place, other], check=True)
    else:
        other.write_text(f"{SECRET}\n")
    return other


def _link(place: Path, outside: Path, target: Path) -> bool:
    cleared(place, outside)
    place.symlink_to(target)
    return True


def zeros(outside: Path) -> Path:
    """A device without end; root's is one of its own, which the machine can do without."""
    if os.geteuid():
        return Path("/dev/zero")
    made = outside / "double-zeros"
    os.mknod(made, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    return made


def link_to_file(place: Path, outside: Path) -> bool:
    """To a text of somebody's."""
    return _link(place, outside, outside / "secret.txt")


def link_to_directory(place: Path, outside: Path) -> bool:
    """To a directory with things in it."""
    return _link(place, outside, outside)


def link_to_double(place: Path, outside: Path) -> bool:
    """To what is in all respects what wink expects."""
    return _link(place, outside, double(place, outside))


def dangling(place: Path, outside: Path) -> bool:
    """To what would be made by writing through it."""
    return _link(place, outside, outside / "absent")


def fifo(place: Path, outside: Path) -> bool:
    """Which blocks whoever opens it."""
    cleared(place, outside)
    os.mkfifo(place)
    return True


def bound_socket(place: Path, outside: Path) -> bool:
    """Which cannot be opened."""
    cleared(place, outside)
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
    cleared(place, outside)
    if os.geteuid():
        return False
    os.mknod(place, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    return True


def link_to_zeros(place: Path, outside: Path) -> bool:
    """The same for everybody."""
    return _link(place, outside, zeros(outside))


def hard_link(place: Path, outside: Path) -> bool:
    """A second name of a file of somebody's that looks like wink's own."""
    if place.is_dir():
        return False
    other = double(place, outside)
    cleared(place, outside)
    os.link(other, place)
    return True


def huge(place: Path, outside: Path) -> bool:
    """A file that begins as it did, and goes on for a tebibyte."""
    if place.is_dir():
        cleared(place, outside)
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
        cleared(place, outside)
    place.mkdir(parents=True, exist_ok=True)
    for number in range(MANY):
        (place / f"{number:05d}").touch()
    return True


def rubbish(place: Path, outside: Path) -> bool:
    """A plain file with what nothing can be made of."""
    cleared(place, outside)
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
