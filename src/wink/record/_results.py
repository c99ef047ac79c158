"""Keep the whole text of results that are too long to be sent."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import Final

from wink.errors import RecordCorrupt
from wink.record._state import state_directory
from wink.record._texts import compressed, unpacked
from wink.state import opened_directory, read_file, replace_file

KEPT_RESULTS: Final = 256
"""How many results are kept; the oldest gives way to the next one."""

KEPT_BYTES: Final = 256 * 2**20
"""How many bytes they may have together, as UTF-8."""

DIRECTORY: Final = "results"
"""Where they are, in a workspace's state."""

_PLAIN, _PACKED = ".txt", ".zst"
_NAME: Final = re.compile(r"[0-9a-f]{4,32}")


class Results:
    """A directory with a file for each text, in the state of a workspace; bounded, so that nobody has to clear it."""

    __slots__ = ("_state",)

    def __init__(self, state: str) -> None:
        self._state = state

    def keep(self, name: str, text: str) -> None:
        """Keep `text`; it is all there or not at all. Raises `OSError` or `WorkspaceReadOnly` where it cannot be."""
        file = _file(name)
        directory = state_directory(self._state, DIRECTORY)
        try:
            replace_file(directory, file, text.encode(errors="surrogatepass"))
            _bound(directory)
        finally:
            os.close(directory)

    def find(self, name: str) -> str | None:
        """The text that was kept under `name`; None when it is not there, or not any more."""
        try:
            with opened_directory(os.path.join(self._state, DIRECTORY)) as directory:
                try:
                    text = read_file(directory, _file(name), KEPT_BYTES)
                except FileNotFoundError:
                    text = unpacked(read_file(directory, _file(name, _PACKED), KEPT_BYTES))
                return text.decode(errors="surrogatepass")
        except (OSError, RecordCorrupt, ValueError):
            return None

    def pack(self) -> None:
        """Compress the texts that are not compressed yet; each is there at any time, in one form or in both."""
        with suppress(OSError, RecordCorrupt), opened_directory(os.path.join(self._state, DIRECTORY)) as directory:
            for modified, file, _ in _newest_first(directory):
                name, kind = os.path.splitext(file)
                if kind != _PLAIN or not _NAME.fullmatch(name):
                    continue
                packed = _file(name, _PACKED)
                replace_file(directory, packed, compressed(read_file(directory, file, KEPT_BYTES)))
                os.utime(packed, ns=(modified, modified), dir_fd=directory, follow_symlinks=False)
                os.unlink(file, dir_fd=directory)

    def names(self) -> tuple[str, ...]:
        """What texts are kept under, newest first."""
        try:
            with opened_directory(os.path.join(self._state, DIRECTORY)) as directory:
                found = [os.path.splitext(name) for _, name, _ in _newest_first(directory)]
        except (OSError, RecordCorrupt):
            return ()
        return tuple(dict.fromkeys(name for name, kind in found if kind in (_PLAIN, _PACKED) and _NAME.fullmatch(name)))


def _file(name: str, kind: str = _PLAIN) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} cannot name a result")
    return f"{name}{kind}"


def _newest_first(directory: int) -> list[tuple[int, str, int]]:
    """Time, name and size of each file."""
    found: list[tuple[int, str, int]] = []
    with os.scandir(directory) as entries:
        for entry in entries:
            with suppress(OSError):
                known = entry.stat(follow_symlinks=False)
                found.append((known.st_mtime_ns, entry.name, known.st_size))
    return sorted(found, reverse=True)


def _bound(directory: int) -> None:
    """Delete the oldest ones above the bounds; another process may be at it too."""
    total = 0
    for kept, (_, name, size) in enumerate(_newest_first(directory), 1):
        total += size
        if kept > 1 and (kept > KEPT_RESULTS or total > KEPT_BYTES):
            with suppress(OSError):
                os.unlink(name, dir_fd=directory)
