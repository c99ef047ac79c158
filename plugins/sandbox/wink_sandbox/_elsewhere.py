"""Keep the copy for a program that nothing confines where `..` leads to nothing of wink's.

It lies below the user's directory for state, at the end of a chain of directories that hold nothing else, under a random
name. What is noted of it is with the try. What a program leaves in the chain is in no try: it is named and never deleted.

Of each copy there is a note in the user's own directory for state, by the copy's name: which try it is of, and whether a
program may have done something in it that is not yet in that try. So those are found whose workspace was deleted with its
state: they are freed, or where that may lose something, named.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple, cast

from wink.errors import RecordCorrupt, SandboxUnavailable
from wink.state import open_directory, opened_directory, read_file, replace_file, user_directory
from wink_sandbox._deep import remove_tree
from wink_sandbox._overlay import COPY, ELSEWHERE

_PLACE: Final = "place"
"""The file of the notes that says where the copy is."""
_NOTES: Final = "copies"
_NAME: Final = re.compile(r"[0-9a-f]{32}")
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
    elsewhere = Elsewhere(directory)
    elsewhere.forget()
    if elsewhere.top and not os.path.lexists(elsewhere.top):
        forget_note(elsewhere.top)
    remove_tree(f"{directory}/{COPY}")


class CopyLeft(NamedTuple):
    """A copy whose try is gone from `directory`; one that is `unsettled` may have what is nowhere else."""

    place: str
    directory: str
    unsettled: bool


def note_copy(top: str, directory: str, *, unsettled: bool) -> None:
    """Note of which try a copy is, before there is one."""
    with opened_directory(_notes(), make=True) as place:
        replace_file(place, os.path.basename(top), json.dumps([directory, unsettled]).encode())


def forget_note(top: str) -> None:
    """Forget it, when the copy is gone."""
    with suppress(OSError, RecordCorrupt), opened_directory(_notes()) as place:
        os.unlink(os.path.basename(top), dir_fd=place)


def copies_left() -> tuple[CopyLeft, ...]:
    """The copies of this user's whose tries are gone; of one that is noted nowhere, nobody knows, and it is not given."""
    copies, found = copies_directory(), list[CopyLeft]()
    if not copies:
        return ()
    try:
        with opened_directory(copies) as place, os.scandir(place) as entries:
            names = sorted(one.name for one in entries if _NAME.fullmatch(one.name) and _is_own(one))
    except (OSError, RecordCorrupt):
        return ()
    for name in names:
        noted = _noted(name)
        if noted is not None and Elsewhere(noted[0]).top != f"{copies}/{name}":
            found.append(CopyLeft(f"{copies}/{name}", *noted))
    return tuple(found)


def free_copy(left: CopyLeft) -> bool:
    """Remove such a copy; what a program left beside it stays, and False says so."""
    elsewhere = Elsewhere("")
    elsewhere.top = left.place
    elsewhere.forget()
    if os.path.lexists(left.place):
        return False
    forget_note(left.place)
    return True


def _notes() -> str:
    own = user_directory()
    return os.path.join(os.path.realpath(own), _NOTES) if own is not None else ""


def _noted(name: str) -> tuple[str, bool] | None:
    try:
        with opened_directory(_notes()) as place:
            found: object = json.loads(read_file(place, name, _MOST_BYTES))
    except (OSError, ValueError, RecursionError, RecordCorrupt):
        return None
    match cast("Any", found):
        case [str(directory), bool(unsettled)] if os.path.isabs(directory):
            return directory, unsettled
        case _:
            return None


def _is_own(entry: os.DirEntry[str]) -> bool:
    found = entry.stat(follow_symlinks=False)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


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
