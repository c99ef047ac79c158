"""Reach the file of one tag without following links, and replace it in one step under a lock.

Everything beneath the root is opened part by part with `O_NOFOLLOW`: a link anywhere in between is refused, wherever it
leads, since the directory may have come from somebody else.
"""

import errno
import os
import re
import stat
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from wink.errors import PromptOverrideError

__all__ = ["PLACE", "Place", "checked_name"]

PLACE: Final = (".wink", "prompts", "overrides")
KEY: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
"""What a part of a path may be, which every key and tag of a prompt is."""
LARGEST: Final = 8 * 1024 * 1024
"""How many bytes of a file are read; no prompt is as long."""
DEEPEST: Final = 16
"""How many directories deep files are looked for when all are listed."""
PATIENCE: Final = 30.0
"""How many seconds another process may hold the lock, which takes milliseconds, before we complain."""

_LOCK: Final = ".lock"
_SUFFIX: Final = ".json"
_TEMPORARY: Final = ".writing"
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without waiting, or a FIFO in a file's place would keep the run.
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def checked_name(what: str, name: object) -> str:
    """A namespace's part, a key or a tag, if it can be a part of a path."""
    if not isinstance(name, str) or not KEY.fullmatch(name):
        raise PromptOverrideError(
            f"{name!r} cannot be a {what}; use up to 64 lower-case letters, digits, '.', '_' and '-', "
            "beginning with a letter or digit"
        )
    return name


class Place:
    """The directory of overrides beneath a root, which may not exist yet."""

    __slots__ = ("root",)

    def __init__(self, root: str) -> None:
        self.root = root

    def path(self, parts: tuple[str, ...], tag: str) -> str:
        """Where a file is, for people."""
        return os.path.join(self.root, *PLACE, *parts, tag + _SUFFIX)

    def read(self, parts: tuple[str, ...], tag: str) -> str | None:
        """The text of a file, `None` if there is no such file; raises `PromptOverrideError`."""
        try:
            with self._directory((*PLACE, *parts)) as directory:
                opened = os.open(tag + _SUFFIX, _FILE, dir_fd=directory)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unreachable(error) from None
        with open(opened, "rb") as file:
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                raise PromptOverrideError("is no regular file")
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise PromptOverrideError(f"is longer than {LARGEST} bytes")
        try:
            return data.decode()
        except ValueError:
            raise PromptOverrideError("is no UTF-8 text") from None

    def write(self, parts: tuple[str, ...], tag: str, text: str) -> None:
        """Put a file in place of the one that is there; a reader sees either, a crash leaves either. Needs the lock."""
        data = text.encode()
        if len(data) > LARGEST:
            raise PromptOverrideError(f"would be longer than {LARGEST} bytes")
        name, temporary = tag + _SUFFIX, f".{tag}{_TEMPORARY}"
        try:
            with self._directory((*PLACE, *parts), make=True) as directory:
                # Whoever wrote this before us and died had the lock, which is ours now.
                with suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=directory)
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                with open(os.open(temporary, flags, 0o666, dir_fd=directory), "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
                os.fsync(directory)
        except OSError as error:
            raise _unreachable(error, self.root) from None

    def remove(self, parts: tuple[str, ...], tag: str) -> bool:
        """Remove a file; whether there was one. Needs the lock. A link goes too, not what it leads to."""
        try:
            with self._directory((*PLACE, *parts)) as directory:
                os.unlink(tag + _SUFFIX, dir_fd=directory)
                os.fsync(directory)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise _unreachable(error, self.root) from None
        return True

    def tags(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """The tags that there are files for."""
        try:
            with self._directory((*PLACE, *parts)) as directory:
                names = os.listdir(directory)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise _unreachable(error) from None
        found = [name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)]
        return tuple(sorted(tag for tag in found if KEY.fullmatch(tag)))

    def files(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """The parts and the tag of every file that can be one of ours."""
        try:
            with self._directory(PLACE) as top:
                for path, directories, names, _ in os.fwalk(".", dir_fd=top, follow_symlinks=False):
                    parts = tuple(path.split(os.sep)[1:])
                    directories[:] = sorted(filter(KEY.fullmatch, directories)) if len(parts) < DEEPEST else []
                    tags = [name.removesuffix(_SUFFIX) for name in sorted(names) if name.endswith(_SUFFIX)]
                    if len(parts) > 1:
                        yield from ((parts, tag) for tag in tags if KEY.fullmatch(tag))
        except FileNotFoundError:
            return
        except OSError as error:
            raise _unreachable(error) from None

    @contextmanager
    def locked(self) -> Generator[None]:
        """Keep other processes and threads from writing; the lock goes with the process that has it."""
        import fcntl

        try:
            with self._directory(PLACE, make=True) as directory:
                lock = os.open(_LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=directory)
        except OSError as error:
            raise _unreachable(error, self.root) from None
        try:
            give_up = time.monotonic() + PATIENCE
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > give_up:
                        raise PromptOverrideError("another process keeps the overrides locked; try again") from None
                    time.sleep(0.005)
            yield
        finally:
            os.close(lock)

    @contextmanager
    def _directory(self, parts: tuple[str, ...], *, make: bool = False) -> Generator[int]:
        # The root is what the user named: it may be reached through links.
        opened = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parts:
                try:
                    inner = os.open(part, _DIRECTORY, dir_fd=opened)
                except FileNotFoundError:
                    if not make:
                        raise
                    with suppress(FileExistsError):
                        # A workspace's record will lie in the first of them, and is nobody else's to read.
                        os.mkdir(part, 0o700 if part == PLACE[0] else 0o777, dir_fd=opened)
                    inner = os.open(part, _DIRECTORY, dir_fd=opened)
                os.close(opened)
                opened = inner
            yield opened
        finally:
            os.close(opened)


def _unreachable(error: OSError, root: str = "") -> PromptOverrideError:
    if error.errno in (errno.ELOOP, errno.EMLINK) or (error.errno == errno.ENOTDIR):
        return PromptOverrideError(
            "a link, or a file in a directory's place, is in the way; links are not followed there"
        )
    reason = error.strerror or str(error)
    return PromptOverrideError(f"cannot write to {os.path.join(root, *PLACE)!r}: {reason}" if root else reason)
