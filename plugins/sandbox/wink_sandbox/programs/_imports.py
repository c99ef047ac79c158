"""Say which files the import of a module depends on, and why a fork of the process that did it may not be as one that does it itself."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from importlib.util import source_from_cache
from typing import Any, Final, cast

_PROGRAMS: Final = ("subprocess.", "os.system", "os.posix_spawn", "os.exec", "os.fork", "pty.", "os.chdir", "os.fchdir")
_FILES: Final = ("open", "os.", "glob.", "shutil.", "pathlib.")
_NO_FILES: Final = ("os.putenv", "os.unsetenv")
_UNHEARD: Final = ("stat", "lstat", "access", "readlink")
"""Functions of `os` that no audit hook hears of."""
_SETS: Final = (os.supports_dir_fd, os.supports_effective_ids, os.supports_fd, os.supports_follow_symlinks)
_LIBRARIES: Final = ("site-packages", "dist-packages")
_STANDARD: Final = f"{os.path.dirname(os.__file__)}/"

Stamp = tuple[int, int, int, int, int]
_status: Final = os.stat


def stamp_of(path: str) -> Stamp | None:
    """What changes with a file, or with the names in a directory; None where there is nothing."""
    try:
        found = _status(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def libraries(path: Collection[str]) -> dict[str, Stamp | None]:
    """Directories of installed packages: whatever is installed or removed changes these."""
    return {place: stamp_of(place) for place in path if place.endswith(_LIBRARIES)}


class Imports:
    """Notes, while a block imports the module `own`, which files that reads, and in `reason` whether it does more than that.

    What lies in the `private` directories is this process's own, and of no interest.
    """

    def __init__(self, own: str, root: str, private: Collection[str]) -> None:
        self._own, self._root = own.partition(".")[0], root
        self._devices = {_status(place).st_dev for place in private}
        self._is_on = False
        self._kept: dict[str, Callable[..., Any]] = {}
        self.files: dict[str, Stamp | None] = {}
        self.reason = ""

    def __enter__(self) -> None:
        sys.addaudithook(self._hear)
        for name in _UNHEARD:
            self._kept[name] = getattr(os, name)
            setattr(os, name, self._heard(name, self._kept[name]))
        self._is_on = True

    def __exit__(self, *_: object) -> None:
        self._is_on = False
        for name, function in self._kept.items():
            setattr(os, name, function)

    def _heard(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def heard(path: Any, *args: Any, **options: Any) -> Any:
            if self._is_on and not isinstance(path, int):
                self._see(f"os.{name}", path)
            return function(path, *args, **options)

        for known in _SETS:
            if function in known:
                cast("set[Any]", known).add(heard)
        return heard

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        if not self._is_on:
            return
        if event.startswith(_PROGRAMS):
            self.reason = f"it starts programs or leaves its directory ({event})"
        elif event == "import":
            if isinstance(args[1], str):  # compiled to machine code
                self._note(args[1])
        elif event.startswith(_FILES) and event not in _NO_FILES and args and not isinstance(args[0], int):
            path = self._see(event, args[0])
            if path and event == "open":
                self._note(path)

    def _see(self, event: str, place: object) -> str:
        """The path of something outside of the workspace; nothing is said of a place, or an odd one, for the current directory."""
        path = os.fsdecode(cast("Any", place)) if isinstance(place, (str, bytes, os.PathLike)) else ""
        if not os.path.basename(path).startswith("<") and (  # as sources are called that no file has
            not path.startswith("/") or f"{path}/".startswith(f"{self._root}/")
        ):
            self.reason = f"it looks into the workspace ({event} of {path or '.'!r})"
            return ""
        return path

    def _note(self, path: str) -> None:
        if path.endswith(".pyc"):
            with suppress(ValueError):
                path = source_from_cache(path)
        with suppress(OSError):
            found = _status(path)
            if stat.S_ISREG(found.st_mode) and found.st_dev not in self._devices and self._may_change(path):
                self.files.setdefault(path, stamp_of(path))

    def _may_change(self, path: str) -> bool:
        """Whether a file is looked at before each call; of libraries that are installed only their directory is."""
        names = path.split("/")
        for library in _LIBRARIES:
            if library in names:
                return names[names.index(library) + 1].removesuffix(".py") == self._own
        return not path.startswith(_STANDARD)
