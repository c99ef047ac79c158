"""Keep what files of the workspace were when programs of a try began to change them: a merge goes from there.

The base of a path is what the workspace had when the run began in which the try first changed it, and never anything later:
from a later one a merge would drop a person's save, from an earlier one both sides stay. So a file is kept only where nothing at all has
happened to it since a mark that its own filesystem made before the program started.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import threading
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple, cast

from wink.errors import RecordCorrupt
from wink.state import opened_directory, read_file, replace_file
from wink_sandbox import Overlay, is_directory, walk_tree
from wink_sandbox._upper import has_opaque, has_origin
from wink_sandbox.tries._marks import MOST, is_text

_PLACE: Final = "bases"
_MARK: Final = "mark"
_NEW: Final = ".new"
"""Ends the name of what says that the workspace had nothing at a path."""
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_PAUSE: Final = 0.25
_SHARE: Final = 20
"""Looking takes at most one part in so many of the time, once a try has many files."""


class Base(NamedTuple):
    """What a file was: its permission bits, its inode, the content's digest, none of what is too large, and the content where it is a text."""

    mode: int
    inode: int
    digest: str
    content: bytes | None


class Bases:
    """The bases of one try; they are looked at and written while it is in use."""

    def __init__(self, overlay: Overlay) -> None:
        self._overlay = overlay
        self._began = 0
        self._seen: dict[str, int] = {}
        self._hidden: set[str] = set()
        self.fresh: set[str] = set()
        """Paths of which the last program's bases were kept."""

    @property
    def _directory(self) -> str:
        return f"{self._overlay.directory}/{_PLACE}"

    @contextmanager
    def kept(self) -> Generator[None]:
        """Keep the bases of what a program changes meanwhile, each soon after it has, and the rest at the end."""
        with opened_directory(self._directory, make=True) as place:
            replace_file(place, _MARK, b"")
            self._began = os.stat(_MARK, dir_fd=place, follow_symlinks=False).st_ctime_ns
        # What a program has changed before, and nobody has kept, nobody knows any more.
        self._seen, self._hidden, names = {}, set(), {_MARK}
        for path, found in self._written():
            names |= {_name(path), _name(path) + _NEW}
            if not stat.S_ISDIR(found.st_mode):
                self._seen[path] = found.st_ino
            if not stat.S_ISDIR(found.st_mode) or self._hides(path, found.st_mode):
                self._hidden.add(path)
        self.fresh = set()
        with opened_directory(self._directory) as place:
            for name in os.listdir(place):
                if name not in names:
                    os.unlink(name, dir_fd=place)
        over = threading.Event()
        looking = threading.Thread(target=self._look_now_and_then, args=(over,), name="wink-bases", daemon=True)
        looking.start()
        try:
            yield
        finally:
            over.set()
            looking.join()
            with suppress(OSError, RecordCorrupt):  # what has no base is a conflict, and the program has done its work
                self._look()

    def of(self, path: str) -> Base | None:
        """What a path was; None where nobody knows."""
        try:
            with opened_directory(self._directory) as place:
                head, _, content = read_file(place, _name(path), MOST + (1 << 10)).partition(b"\n")
            said: object = json.loads(head)
        except (OSError, ValueError, RecursionError, RecordCorrupt):
            return None
        if not isinstance(said, dict):
            return None
        fact = cast("dict[str, Any]", said)
        mode, inode, digest, is_whole = (
            fact.get("mode"),
            fact.get("inode"),
            fact.get("sha256"),
            fact.get("content") is True,
        )
        if not isinstance(mode, int) or not isinstance(inode, int) or not isinstance(digest, str):
            return None
        if is_whole and hashlib.sha256(content).hexdigest() != digest:
            return None  # a crash left a part of it
        return Base(stat.S_IMODE(mode), inode, digest, content if is_whole else None)

    def among(self, paths: Iterable[str]) -> list[str]:
        """Those of some paths that have a base."""
        try:
            with opened_directory(self._directory) as place:
                names = frozenset(os.listdir(place))
        except (OSError, RecordCorrupt):
            return []
        return [path for path in paths if _name(path) in names]

    def doubtful(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Those of some paths, at which a try has what the kernel copied from the workspace, that may have been there, and not come from elsewhere."""
        return tuple(path for path in paths if not os.path.lexists(f"{self._directory}/{_name(path)}{_NEW}"))

    def forget(self, paths: Iterable[str]) -> None:
        """Let go of paths that are the workspace's again; the next program that changes one begins with what is there then."""
        with suppress(OSError, RecordCorrupt), opened_directory(self._directory) as place:
            for name in _names(paths):
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=place)

    def move_to(self, directory: str, paths: Iterable[str]) -> None:
        """Give those of some paths to another overlay, which gets what was changed there."""
        with (
            suppress(FileNotFoundError),
            opened_directory(self._directory) as here,
            opened_directory(f"{directory}/{_PLACE}", make=True) as there,
        ):
            for name in _names(paths):
                with suppress(FileNotFoundError):
                    os.rename(name, name, src_dir_fd=here, dst_dir_fd=there)

    def lay(self, place: str, found: os.stat_result, content: bytes) -> None:
        """Write a base to a new file, for `replace`."""
        with open(place, "xb") as file:
            file.write(_laid(found, content))

    def replace(self, path: str, new: str | None, old: str) -> None:
        """Make the file `new`, or nothing, the base of a path, and what was it `old`; done twice it is as once."""
        place = f"{self._directory}/{_name(path)}"
        if new is None:
            with suppress(FileNotFoundError):
                os.rename(place, old)
        elif os.path.lexists(new):
            with suppress(FileExistsError, FileNotFoundError):
                os.link(place, old, follow_symlinks=False)
            os.rename(new, place)

    def put_back(self, path: str, old: str | None) -> None:
        """Make `old` the base of a path again, or nothing; done twice it is as once."""
        with suppress(FileNotFoundError):
            if old is None:
                os.unlink(f"{self._directory}/{_name(path)}")
            else:
                os.rename(old, f"{self._directory}/{_name(path)}")

    def _look_now_and_then(self, over: threading.Event) -> None:
        pause = _PAUSE
        while not over.wait(pause):
            began = time.monotonic()
            with suppress(OSError, RecordCorrupt):  # the end looks again
                self._look()
            pause = max(_PAUSE, _SHARE * (time.monotonic() - began))

    def _look(self) -> None:
        for path, found in self._written():
            # What was deleted is a character device.
            if (stat.S_ISREG(found.st_mode) or stat.S_ISCHR(found.st_mode)) and self._seen.get(path) != found.st_ino:
                if not any(path[:at] in self._hidden for at in range(len(path)) if path[at] == "/"):
                    self._keep(path, is_first=path not in self._seen)
                self._seen[path] = found.st_ino

    def _written(self) -> Iterable[tuple[str, os.stat_result]]:
        upper = self._overlay.upper
        return walk_tree(upper, closed=False) if is_directory(upper) else ()

    def _hides(self, path: str, mode: int) -> bool:
        """Whether what the workspace has in a directory is not what programs find there, or a program has closed it to us too."""
        needed = stat.S_IRUSR | stat.S_IXUSR
        return (os.geteuid() != 0 and mode & needed != needed) or has_opaque(f"{self._overlay.upper}/{path}")

    def _keep(self, path: str, *, is_first: bool) -> None:
        """Keep what is there in the workspace; where the program has only put another file into the place of its own, whether nothing is."""
        above, _, name = f"{self._overlay.root}/{path}".rpartition("/")
        try:
            with opened_directory(above) as place:
                try:
                    fd = os.open(name, _READ, dir_fd=place)
                except FileNotFoundError:
                    self._keep_new(path, place)
                    return
        except (OSError, RecordCorrupt) as error:
            if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
                raise
            return  # what is there is no file, or not ours to read
        try:
            found = os.fstat(fd)
            if not is_first or not stat.S_ISREG(found.st_mode) or found.st_ctime_ns > self._began:
                return
            with open(fd, "rb", closefd=False) as file:
                content = file.read(MOST + 1)
            if os.fstat(fd).st_ctime_ns != found.st_ctime_ns:
                return
        except OSError:
            return
        finally:
            os.close(fd)
        with opened_directory(self._directory, make=True) as place:
            replace_file(place, _name(path), _laid(found, content))
        self.fresh.add(path)

    def _keep_new(self, path: str, above: int) -> None:
        """Keep that the workspace has had nothing there since before the program began, of what the kernel says that it copied: it was moved."""
        if os.fstat(above).st_ctime_ns <= self._began and has_origin(f"{self._overlay.upper}/{path}"):
            with opened_directory(self._directory, make=True) as place:
                replace_file(place, _name(path) + _NEW, b"")


def _laid(found: os.stat_result, content: bytes) -> bytes:
    is_whole = is_text(content)
    digest = hashlib.sha256(content).hexdigest() if len(content) <= MOST else ""
    facts = {"mode": stat.S_IMODE(found.st_mode), "inode": found.st_ino, "sha256": digest, "content": is_whole}
    return json.dumps(facts).encode() + b"\n" + (content if is_whole else b"")


def _names(paths: Iterable[str]) -> Iterable[str]:
    """Under what names what is known of some paths may be."""
    return (name + end for name in map(_name, paths) for end in ("", _NEW))


def _name(path: str) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()
