"""Keep the copy for a program that nothing confines where `..` leads to nothing of wink's.

It lies below the user's directory for state, at the end of a chain of directories that hold nothing else, under a random
name. What is noted of it is with the try. What a program leaves in the chain is in no try: it is named and never deleted.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from wink.errors import RecordCorrupt, SandboxUnavailable
from wink.state import open_directory, opened_directory, read_file, replace_file, user_directory
from wink_sandbox._deep import remove_tree
from wink_sandbox._overlay import COPY, ELSEWHERE

_PLACE: Final = "place"
"""The file of the notes that says where the copy is."""
_CHAIN: Final = tuple("123456789")
_LINKS: Final = 40
"""So many links are followed on one way, as by the kernel."""
_MOST_BYTES: Final = 8192
_OPEN: Final = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC if hasattr(os, "O_PATH") else 0


def copies_directory() -> str:
    """Where all of this user's are, empty where that has no place; `wink.cli` knows it too, and works in none."""
    own = user_directory()
    return "" if own is None else os.path.realpath(os.path.join(os.path.dirname(own), "wink-copies"))


class Elsewhere:
    """The place of the copy of the try in `directory`; `top` is where its chain begins, empty where it has none yet."""

    def __init__(self, directory: str) -> None:
        self._notes = f"{directory}/{COPY}/{ELSEWHERE}"
        self.top = ""
        with suppress(OSError, RecordCorrupt), opened_directory(self._notes) as notes:
            top = os.fsdecode(read_file(notes, _PLACE, _MOST_BYTES))
            # The settings of this moment may name another place.
            self.top = top if os.path.isabs(top) and os.path.dirname(top).endswith("-copies") else ""

    @property
    def directory(self) -> str:
        """The end of the chain, in which the copy is."""
        return "/".join((self.top, *_CHAIN))

    def make(self) -> list[str]:
        """See that there is one, with nothing else beside it; gives what lies in the one before, from which the copy is moved.

        Raises `SandboxUnavailable`.
        """
        left = self.strays()
        before = self.directory if left else ""
        if left or not self.top:
            copies = copies_directory()
            if not copies:
                how = "a copy for a program that nothing confines needs a place; set HOME or XDG_STATE_HOME"
                raise SandboxUnavailable("scan", (how,))
            self.top = f"{copies}/{os.urandom(16).hex()}"
            with opened_directory(self._notes, make=True) as notes:
                replace_file(notes, _PLACE, os.fsencode(self.top))
        os.close(open_directory(self.directory, make=True))
        if before:
            with suppress(OSError):
                os.rename(f"{before}/upper", f"{self.directory}/upper")
        with suppress(FileExistsError):
            os.mkdir(f"{self.directory}/upper", 0o700)
        return left

    def strays(self) -> list[str]:
        """What lies beside the copy, and beside the directories of the chain, which can be looked into from now on."""
        found: list[str] = []
        for place, name in self._levels():
            try:
                open_up(place)
                found += [f"{place}/{one}" for one in sorted(os.listdir(place)) if one != name]
            except OSError:
                break  # a program removed it, or put a link in its place: what is behind that is none of the chain
        return found

    def forget(self) -> None:
        """Remove the copy, and of the chain what is empty then."""
        if not self.top:
            return
        with suppress(OSError, RecordCorrupt):
            self.strays()
            with opened_directory(self.directory) as place:
                remove_tree(f"/proc/self/fd/{place}/upper")
            for directory, _ in reversed([*self._levels()]):
                os.rmdir(directory)

    def _levels(self) -> Iterator[tuple[str, str]]:
        """The directories of the chain, each with the one name that it should have."""
        place = self.top
        for name in (*_CHAIN, "upper") if place else ():
            yield place, name
            place = f"{place}/{name}"


def forget_copies(directory: str) -> None:
    """Remove the copies of the try in a directory; what programs left beside the one elsewhere stays."""
    Elsewhere(directory).forget()
    remove_tree(f"{directory}/{COPY}")


def open_up(place: str) -> None:
    """Let its owner into a directory that a program closed."""
    fd = os.open(place, _OPEN)
    try:
        mode = stat.S_IMODE(os.fstat(fd).st_mode)
        if mode & 0o700 != 0o700:
            os.chmod(f"/proc/self/fd/{fd}", mode | 0o700)
    finally:
        os.close(fd)


def leaves(root: str, path: str) -> bool:
    """Whether the link at a path in `root` leads out of it by `..`; what leads to an absolute path means the same everywhere."""
    target = os.readlink(f"{root}/{path}")
    at, left, links = path.split("/")[:-1], target.split("/")[::-1], 0
    if target.startswith("/") or ".." not in left:
        return False
    while left:
        name = left.pop()
        if name == "..":
            if not at:
                return True
            at.pop()
        elif name not in ("", "."):
            try:
                inner = os.readlink("/".join((root, *at, name)))
            except OSError:
                at.append(name)
                continue
            links += 1
            if links > _LINKS or inner.startswith("/"):
                return False
            left += inner.split("/")[::-1]
    return False
