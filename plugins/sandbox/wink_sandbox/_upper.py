"""Read off an overlay's upper directory what a program did.

The kernel keeps in it, at their paths, every file that was made or changed (as a whole, whatever of it changed), and marks:
a character device 0:0 stands for a name that was deleted (a whiteout; other makers of layers use an empty file with the
attribute `user.overlay.whiteout`), and the attribute `user.overlay.opaque` says that a directory hides what was there
before. See the kernel's Documentation/filesystems/overlayfs.rst.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from typing import Final, Literal

from wink.dataclass import dataclass
from wink_sandbox._deep import Opened

_PREFIXES: Final = ("user.overlay.", "trusted.overlay.")
"""What the kernel's marks begin with: in overlays that we mount, and in those that the host's root mounts."""
_UNMARKED: Final = (errno.ENODATA, errno.EPERM, errno.ENOTSUP)
_CHUNK: Final = 1 << 20
DEEPEST: Final = 4096 - 256 - 2
"""The longest path of a directory in which every name still makes a path."""
_LOSES: Final = "loses its setuid and setgid bits, which no program leaves in a workspace; set them again with chmod"
_KEEPS: Final = "keeps the extended attributes that it had: those of a directory that was there already are not merged"

StepKind = Literal["drop", "directory", "file", "link", "mode"]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to be done so that the workspace becomes what the program saw.

    `found` is what is at the path in the workspace now, `made` what the program left there. What is in a directory that
    `is_too_deep` has no path that the system would take, and was not read.
    """

    kind: StepKind
    path: str
    found: os.stat_result | None = None
    made: os.stat_result | None = None
    target: str = ""
    is_too_deep: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """What an upper directory holds: steps in an order in which they can be done, and what will not be carried over.

    `notes` pairs paths with what becomes of them; `suspects` are paths where what a program worked on may have been
    deleted meanwhile; `scratch` are directories that stay out.
    """

    steps: tuple[Step, ...]
    notes: tuple[tuple[str, str], ...]
    suspects: tuple[str, ...]
    scratch: tuple[str, ...]


class Reader:
    """Walks one upper directory beside the lower one.

    `ignored` says of a path why it is left out, or None; `is_scratch` whether a directory stays out of the transaction.
    `opened` knows how what had to be opened to be read was before.
    """

    def __init__(
        self,
        lower: str,
        upper: str,
        *,
        ignored: Callable[[str], str | None],
        is_scratch: Callable[[str], bool],
        opened: Opened,
    ) -> None:
        self._lower, self._upper, self._ignored, self._is_scratch = lower, upper, ignored, is_scratch
        self._opened = opened
        self._steps: list[Step] = []
        self._notes: list[tuple[str, str]] = []
        self._suspects: list[str] = []
        self._scratch: list[str] = []

    def read(self) -> Reading:
        """Everything, in the order of paths, what is deleted before what takes its place."""
        pending = [self._entries("", has_lower=True)]
        while pending:
            path, has_lower = next(pending[-1], ("", None))
            if has_lower is None:
                pending.pop()
                continue
            below = self._entry(path, has_lower)
            if below is not None:
                pending.append(self._entries(path, has_lower=below))
        return Reading(tuple(self._steps), tuple(self._notes), tuple(self._suspects), tuple(self._scratch))

    def _entries(self, path: str, *, has_lower: bool) -> Iterator[tuple[str, bool]]:
        with os.scandir(self._at(self._upper, path)) as entries:
            names = sorted(entry.name for entry in entries)
        return ((f"{path}/{name}" if path else name, has_lower) for name in names)

    def _entry(self, path: str, has_lower: bool) -> bool | None:
        """Note what became of one path; for a directory to look into, whether there is something in the lower one too."""
        place = self._at(self._upper, path)
        made = self._opened.as_left(place, os.lstat(place))
        reason = self._ignored(path)
        if reason is not None:
            self._notes.append((path, reason))
            return None
        found = self._below(path) if has_lower else None
        if is_whiteout(self._at(self._upper, path), made):
            if self._is_scratch(path) and (found is None or stat.S_ISDIR(found.st_mode)):
                self._scratch.append(path)
            elif found is not None:
                self._drop(path, found)
        elif stat.S_ISDIR(made.st_mode):
            return self._made_directory(path, made, found, has_lower)
        elif stat.S_ISREG(made.st_mode):
            self._file(path, made, found, has_lower)
        elif stat.S_ISLNK(made.st_mode):
            self._link(path, made, found)
        else:
            self._notes.append((path, f"is a {_special(made.st_mode)}, which is not kept"))
            if found is not None:
                self._drop(path, found)
        return None

    def _made_directory(
        self, path: str, made: os.stat_result, found: os.stat_result | None, has_lower: bool
    ) -> bool | None:
        if self._is_scratch(path):
            self._scratch.append(path)
            return None
        stays = found is not None and stat.S_ISDIR(found.st_mode)
        if stays and self._mark(path, "opaque") != b"y":
            if stat.S_IMODE(made.st_mode) != stat.S_IMODE(found.st_mode if found else 0):
                self._steps.append(Step("mode", path, found, made))
            if attributes(self._at(self._upper, path)) != attributes(self._at(self._lower, path)):
                self._notes.append((path, _KEEPS))
            return True
        if found is not None:
            self._drop(path, found)
        elif has_lower and self._mark(path, "origin") is not None:
            self._suspects.append(path)
        is_too_deep = len(os.fsencode(self._at(self._upper, path))) > DEEPEST
        self._steps.append(Step("directory", path, None, made, is_too_deep=is_too_deep))
        return None if is_too_deep else False

    def _file(self, path: str, made: os.stat_result, found: os.stat_result | None, has_lower: bool) -> None:
        copied = self._mark(path, "origin") is not None
        before = len(self._steps)
        if found is None:
            if copied and has_lower:
                self._suspects.append(path)
            self._steps.append(Step("file", path, None, made))
        elif not stat.S_ISREG(found.st_mode):
            self._drop(path, found)
            self._steps.append(Step("file", path, None, made))
        elif not copied or made.st_nlink > 1 or not self._has_same_content(path, made, found):
            # A file with several names is shown apart from its other names as soon as it is changed, and stays so.
            self._steps.append(Step("file", path, found, made))
        elif stat.S_IMODE(made.st_mode) != stat.S_IMODE(found.st_mode):
            self._steps.append(Step("mode", path, found, made))
        if made.st_mode & (stat.S_ISUID | stat.S_ISGID) and len(self._steps) > before:
            self._notes.append((path, _LOSES))

    def _link(self, path: str, made: os.stat_result, found: os.stat_result | None) -> None:
        target = os.readlink(self._at(self._upper, path))
        if found is not None:
            if stat.S_ISLNK(found.st_mode) and os.readlink(self._at(self._lower, path)) == target:
                return
            self._drop(path, found)
        self._steps.append(Step("link", path, None, made, target))

    def _drop(self, path: str, found: os.stat_result) -> None:
        self._steps.append(Step("drop", path, found))

    def _has_same_content(self, path: str, made: os.stat_result, found: os.stat_result) -> bool:
        """Whether at most the mode differs: opening for writing is enough for the kernel to copy a file."""
        if (made.st_size, made.st_mtime_ns, made.st_uid, made.st_gid) != (
            found.st_size,
            found.st_mtime_ns,
            found.st_uid,
            found.st_gid,
        ):
            return False
        here, there = self._at(self._upper, path), self._at(self._lower, path)
        if attributes(here) != attributes(there):
            return False
        with open(here, "rb", buffering=0) as one, open(there, "rb", buffering=0) as two:
            while chunk := one.read(_CHUNK):
                if chunk != two.read(_CHUNK):
                    return False
        return True

    def _mark(self, path: str, name: str) -> bytes | None:
        return _marked(self._at(self._upper, path), name)

    def _below(self, path: str) -> os.stat_result | None:
        try:
            return os.lstat(self._at(self._lower, path))
        except FileNotFoundError:
            return None

    @staticmethod
    def _at(base: str, path: str) -> str:
        return f"{base}/{path}" if path else base


def is_whiteout(place: str, made: os.stat_result) -> bool:
    """Whether something in an upper directory says that a name was deleted."""
    if stat.S_ISCHR(made.st_mode):
        return made.st_rdev == 0
    return stat.S_ISREG(made.st_mode) and made.st_size == 0 and _marked(place, "whiteout") is not None


def has_origin(path: str) -> bool:
    """Whether the kernel has copied this from the lower directory, so that it could be changed."""
    return _marked(path, "origin") is not None


def has_opaque(path: str) -> bool:
    """Whether a directory in an upper directory hides what was there before."""
    return _marked(path, "opaque") == b"y"


def is_opaque(directory: int) -> bool:
    """Whether a directory, given by its descriptor, hides what was there before."""
    return _marked(f"/proc/self/fd/{directory}/.", "opaque") == b"y"


def unhide(directory: int) -> None:
    """Let what is in the lower directory be seen again in one that hides it, while no overlay is mounted."""
    for name in (prefix + "opaque" for prefix in _PREFIXES):
        try:
            os.removexattr(directory, name)
        except OSError as error:
            if error.errno not in _UNMARKED:
                raise


def _marked(path: str, name: str) -> bytes | None:
    for prefix in _PREFIXES if _has_attributes() else ():
        try:
            return os.getxattr(path, prefix + name, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _UNMARKED:
                raise
    return None


def clean(path: str) -> None:
    """Take the kernel's marks off a file or directory that is to become a usual one.

    What a program calls so itself, the kernel keeps under a name within the mark's own; it goes too: such a name in the
    workspace would change what the next overlay shows.
    """
    marks = [name for name in _attribute_names(path) if name.startswith(_PREFIXES)]
    mode = stat.S_IMODE(os.lstat(path).st_mode)
    is_closed = bool(marks) and not mode & 0o200 and os.geteuid() != 0
    if is_closed:  # attributes are written like content
        os.chmod(path, mode | 0o200)
    for name in marks:
        os.removexattr(path, name, follow_symlinks=False)
    if is_closed:
        os.chmod(path, mode)


def attributes(path: str) -> dict[str, bytes]:
    """The extended attributes of something, without the kernel's marks."""
    names = [name for name in _attribute_names(path) if not name.startswith(_PREFIXES)]
    return {name: os.getxattr(path, name, follow_symlinks=False) for name in names}


def _attribute_names(path: str) -> list[str]:
    return os.listxattr(path, follow_symlinks=False) if _has_attributes() else []


def _has_attributes() -> bool:
    """Whether Python has functions for extended attributes, which it has on Linux alone."""
    return hasattr(os, "listxattr")


def _special(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "FIFO"
    return "socket" if stat.S_ISSOCK(mode) else "device"
