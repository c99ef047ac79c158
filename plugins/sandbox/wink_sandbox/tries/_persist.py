"""Make real what a program wrote to some files of the home: credentials and transcripts, and nothing that runs.

Invariants: no link is followed, on the way to the home and to the try's layer over it, or beneath them. Only the content
of plain files is taken over, never a mode that lets somebody else read or anybody execute it. A file that has changed in
the home since the program began stays. What is not made real stays in the try, and is named.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Final, NamedTuple, cast

from wink.errors import RecordCorrupt
from wink.state import is_plain, open_directory, opened_directory, read_file, replace_file
from wink_sandbox import Overlay, is_opaque, unhide
from wink_sandbox.tries._home_pattern import HomePattern, refusal
from wink_sandbox.tries._private import HOME

_LARGEST: Final = 64 << 20
_MOST_BYTES: Final = 256 << 20
_MOST_FILES: Final = 1000
"""So much, of so many files, is made real when one program ends."""
_MOST_ENTRIES: Final = 50_000
_DEEPEST: Final = 20
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DRAFT: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_RECORD: Final = "persist.json"
"""The file of a try that says what was in the home when the try's own file was begun."""
_MOST_RECORD: Final = 16 << 20
_NOTHING: Final[list[int]] = [0]
_MEANWHILE: Final = "was changed in your home meanwhile, and what is there stays"
_IN_THE_WAY: Final = "is not replaced: in your home it is a link, executable, another user's, or has a second name"


class Persisted(NamedTuple):
    """Paths in the home that were made real, and those that were not, with the reasons."""

    kept: tuple[str, ...] = ()
    left: tuple[tuple[str, str], ...] = ()


class _Refused(Exception):
    """Why a file stays in the try."""


class Persist:
    """The files of a home that a program in a try may change; made before it starts, while the try is in use."""

    def __init__(self, overlay: Overlay, home: str, entries: Iterable[HomePattern]) -> None:
        self._entries, self._overlay = tuple(entries), overlay
        self._place, self._upper = os.path.realpath(home), f"{overlay.directory}/{HOME}/upper"
        self._begun_with: dict[str, list[int]] = {}
        self._troubles: list[tuple[str, str]] = []
        with suppress(OSError, RecordCorrupt, _Refused), self._opened() as (real, upper):
            unseen: list[tuple[str, str]] = []
            older, known = _look(upper, self._entries, unseen), self._recalled()
            for path, found in _look(real, self._entries, self._troubles).items():
                if path not in older and not unseen:
                    self._begun_with[path] = _stamp(found)
                elif known is not None:
                    self._begun_with[path] = known.get(path, [])
                else:  # with what an earlier program began nobody knows any more, but when
                    self._begun_with[path] = _stamp(found) if found.st_ctime_ns <= overlay.since else []
            self._remember()

    def keep(self) -> Persisted:
        """Make real what the program has left, when it has ended, and take it out of the try; raises nothing."""
        left, kept = [*self._troubles], list[str]()
        try:
            with self._opened() as (real, upper):
                size = 0
                for path, found in sorted(_look(upper, self._entries, left).items()):
                    size += found.st_size if stat.S_ISREG(found.st_mode) and found.st_size <= _LARGEST else 0
                    try:
                        if len(kept) >= _MOST_FILES or size > _MOST_BYTES:
                            raise _Refused(f"comes after {_MOST_FILES} files, or {_MOST_BYTES} bytes, the most at once")
                        if self._keep(real, upper, path):
                            kept.append(path)
                    except (_Refused, OSError) as error:
                        left.append((path, _told(error)))
                self._remember()
        except FileNotFoundError:  # nothing was written
            pass
        except (OSError, RecordCorrupt, _Refused) as error:
            left.append(("", _told(error)))
        return Persisted(tuple(kept), tuple(dict.fromkeys(left)))

    @contextmanager
    def _opened(self) -> Generator[tuple[int, int]]:
        real = open_directory(self._place)
        try:
            if os.fstat(real).st_uid != os.geteuid():
                raise _Refused("belongs to another user")
            upper = open_directory(self._upper)
            try:
                yield real, upper
            finally:
                os.close(upper)
        finally:
            os.close(real)

    def _keep(self, real: int, upper: int, path: str) -> bool:
        *above, name = names = path.split("/")
        if reason := refusal(names):
            raise _Refused(f"is refused: {reason}")
        with _inside(upper, above) as place:
            data = _content(place, name)
            if not data:  # as of a program that was killed while it wrote
                raise _Refused("is empty")
            with _made(real, upper, above) as there:
                found = _status(there, name)
                is_same = found is not None and _is_same(there, name, data)
                if not is_same:
                    if _stamp(found) != self._begun_with.get(path, _NOTHING):
                        raise _Refused(_MEANWHILE)
                    if found is not None and (not is_plain(found) or found.st_mode & 0o7111):
                        raise _Refused(_IN_THE_WAY)
                    _write(there, name, data, found)
                self._begun_with[path] = _stamp(_status(there, name))
            os.unlink(name, dir_fd=place)  # so that the next program sees what others make of the real one
        return not is_same

    def _recalled(self) -> dict[str, list[int]] | None:
        """What was remembered, as of a program that was not told to persist anything, or of a process that was killed."""
        try:
            with opened_directory(self._overlay.directory) as place:
                found: object = json.loads(read_file(place, _RECORD, _MOST_RECORD))
        except (OSError, ValueError, RecursionError):
            return None
        return cast("dict[str, list[int]]", found) if isinstance(found, dict) else None

    def _remember(self) -> None:
        # Without it, what is there is taken for somebody else's.
        with suppress(OSError), opened_directory(self._overlay.directory) as place:
            replace_file(place, _RECORD, json.dumps(self._begun_with).encode())


def _look(top: int, entries: Iterable[HomePattern], left: list[tuple[str, str]]) -> dict[str, os.stat_result]:
    """What is at the places of some entries, whatever it is, but for what was deleted; the troubles go to `left`."""
    found: dict[str, os.stat_result] = {}
    seen = 0
    for one in entries:
        pending = [one.fixed if one.fixed != one.parts else one.parts[:-1]]
        while pending:
            names = pending.pop()
            try:
                with _inside(top, names) as place:
                    inside = _names(place, _MOST_ENTRIES - seen) if one.fixed != one.parts else [one.parts[-1]]
                    seen += len(inside)
                    if len(names) > _DEEPEST:
                        raise _Refused(f"has more than {_DEEPEST} levels of directories above it")
                    for name in inside:
                        path, status = (*names, name), _status(place, name)
                        if status is None or _is_whiteout(status):
                            continue
                        if one.fits(path):
                            found["/".join(path)] = status
                        elif stat.S_ISDIR(status.st_mode) and one.leads(path):
                            pending.append(path)
            except FileNotFoundError:
                continue
            except (OSError, _Refused) as error:
                left.append(("/".join(names), _told(error)))
            if seen >= _MOST_ENTRIES:
                left.append(
                    ("/".join(one.fixed), f"has more than {_MOST_ENTRIES} files in it, and the rest was not looked at")
                )
                return found
    return found


def _names(place: int, most: int) -> list[str]:
    with os.scandir(place) as entries:
        return [entry.name for entry in islice(entries, most)]


@contextmanager
def _inside(top: int, names: Sequence[str]) -> Generator[int]:
    """A directory beneath another one; `FileNotFoundError` for one that was deleted, `_Refused` for what is none."""
    fd = os.dup(top)
    try:
        for number, name in enumerate(names, 1):
            inner = _step(fd, name, names[:number])
            os.close(fd)
            fd = inner
        yield fd
    finally:
        os.close(fd)


def _step(fd: int, name: str, names: Sequence[str]) -> int:
    try:
        return os.open(name, _DIRECTORY, dir_fd=fd)
    except NotADirectoryError:
        status = _status(fd, name)
        if status is None or _is_whiteout(status):
            raise FileNotFoundError from None
        raise _Refused(f"is not reached: {'/'.join(names)} is {_kind(status)}") from None


@contextmanager
def _made(real: int, upper: int, names: Sequence[str]) -> Generator[int]:
    """The directory of the home that is the same as one in the try, made where it is not there."""
    with _inside(upper, ()) as over, _inside(real, ()) as fd:
        for number, name in enumerate(names, 1):
            with _inside(over, (name,)) as layer:
                try:
                    inner = _step(fd, name, names[:number])
                    if is_opaque(layer):
                        os.close(inner)
                        raise _Refused(
                            f"is in a ~/{'/'.join(names[:number])} that was made anew, which is not the one in your home"
                        )
                except FileNotFoundError:
                    os.mkdir(name, 0o700, dir_fd=fd)
                    inner = _step(fd, name, names[:number])
                    # The same directory from here on, in which what is real is seen.
                    os.fchmod(layer, 0o700)
                    unhide(layer)
                os.dup2(layer, over, inheritable=False)
                os.dup2(inner, fd, inheritable=False)
                os.close(inner)
            if os.fstat(fd).st_uid != os.geteuid():
                raise _Refused(f"is not reached: {'/'.join(names[:number])} belongs to another user")
        yield fd


def _content(place: int, name: str) -> bytes:
    """What is in a file that a program has left, if it is one."""
    found = os.stat(name, dir_fd=place, follow_symlinks=False)
    if not stat.S_ISREG(found.st_mode):
        raise _Refused(f"is {_kind(found)}")
    if found.st_mode & 0o7000:
        raise _Refused("has special bits in its mode")
    if found.st_nlink > 1:
        raise _Refused("has more than one name")
    if found.st_size > _LARGEST:
        raise _Refused(f"is larger than {_LARGEST} bytes")
    return read_file(place, name, _LARGEST)


def _is_same(there: int, name: str, data: bytes) -> bool:
    try:
        return read_file(there, name, len(data)) == data
    except OSError:
        return False


def _write(there: int, name: str, data: bytes, found: os.stat_result | None) -> None:
    """Put a file where `found` is, as a whole and on the disk before it has its name."""
    draft = f".wink-{os.urandom(6).hex()}"
    fd = os.open(draft, _DRAFT, 0o600, dir_fd=there)
    try:
        with open(fd, "wb") as file:
            os.fchmod(fd, 0o600 if found is None else found.st_mode & 0o600)
            file.write(data)
            file.flush()
            os.fsync(fd)
        if _stamp(_status(there, name)) != _stamp(found):
            raise _Refused(_MEANWHILE)
        if found is None:
            os.link(draft, name, src_dir_fd=there, dst_dir_fd=there, follow_symlinks=False)
            os.unlink(draft, dir_fd=there)
        else:
            os.rename(draft, name, src_dir_fd=there, dst_dir_fd=there)
        os.fsync(there)
    except BaseException as error:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=there)
        if isinstance(error, FileExistsError):
            raise _Refused(_MEANWHILE) from None
        raise


def _status(place: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=place, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _stamp(found: os.stat_result | None) -> list[int]:
    """What tells that a file is still the one that it was, or is still not there."""
    if found is None:
        return _NOTHING
    return [found.st_dev, found.st_ino, found.st_size, found.st_mode, found.st_mtime_ns, found.st_ctime_ns]


def _is_whiteout(found: os.stat_result) -> bool:
    return stat.S_ISCHR(found.st_mode) and found.st_rdev == 0


def _kind(found: os.stat_result) -> str:
    kinds = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a directory", stat.S_IFIFO: "a FIFO", stat.S_IFREG: "a file"}
    return kinds.get(stat.S_IFMT(found.st_mode), "a device or socket")


def _told(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"cannot be made real: {error.strerror or error}"
    return str(error)
