"""Keep the whole text of results that are too long to be sent."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from typing import Final

from wink.record._state import make_state_directory

KEPT_RESULTS: Final = 256
"""How many results are kept; the oldest gives way to the next one."""

KEPT_BYTES: Final = 256 * 2**20
"""How many bytes they may have together, as UTF-8."""

_NAME: Final = re.compile(r"[0-9a-f]{4,32}")


class Results:
    """A directory with a file for each text, in the state of a workspace; bounded, so that nobody has to clear it."""

    __slots__ = ("_directory", "_state")

    def __init__(self, state: str) -> None:
        self._state, self._directory = state, os.path.join(state, "results")

    def keep(self, name: str, text: str) -> None:
        """Keep `text`; it is all there or not at all. Raises `OSError` or `WorkspaceReadOnly` where it cannot be."""
        path = self._path(name)
        make_state_directory(self._state)
        with suppress(FileExistsError):
            os.mkdir(self._directory, 0o700)
        if not stat.S_ISDIR(os.lstat(self._directory).st_mode):
            raise NotADirectoryError(f"{self._directory!r} is no directory")
        draft = f"{path}.{os.getpid()}"
        try:
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
                file.write(text.encode(errors="surrogatepass"))
            os.rename(draft, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft)
            raise
        self._bound()

    def find(self, name: str) -> str | None:
        """The text that was kept under `name`; None when it is not there, or not any more."""
        try:
            with open(os.open(self._path(name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                return file.read().decode(errors="surrogatepass")
        except (OSError, ValueError):
            return None

    def names(self) -> tuple[str, ...]:
        """What texts are kept under, newest first."""
        found = (os.path.splitext(os.path.basename(path)) for _, path, _ in self._newest_first())
        return tuple(name for name, kind in found if kind == ".txt" and _NAME.fullmatch(name))

    def _path(self, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} cannot name a result")
        return os.path.join(self._directory, f"{name}.txt")

    def _newest_first(self) -> list[tuple[int, str, int]]:
        """Time, path and size of each file."""
        found: list[tuple[int, str, int]] = []
        try:
            with os.scandir(self._directory) as entries:
                for entry in entries:
                    with suppress(OSError):
                        known = entry.stat(follow_symlinks=False)
                        found.append((known.st_mtime_ns, entry.path, known.st_size))
        except OSError:
            return []
        return sorted(found, reverse=True)

    def _bound(self) -> None:
        """Delete the oldest ones above the bounds; another process may be at it too."""
        total = 0
        for kept, (_, path, size) in enumerate(self._newest_first(), 1):
            total += size
            if kept > 1 and (kept > KEPT_RESULTS or total > KEPT_BYTES):
                with suppress(OSError):
                    os.unlink(path)
