"""Keep exactly what a run or an approval needs to go on, where the record has it masked, until it is needed no more.

The record's own files never hold these texts, nor does anything that is made of them. Each is a file that only its owner
can read, and is deleted when its run ends or its answer is used.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from wink.record._state import make_state_directory

DIRECTORY: Final = "held"
"""Where they are, in a workspace's state."""

_NAME: Final = re.compile(r"(run|approval)-[0-9]{1,15}(-[a-z]+(-[0-9]{1,15})?)?")


class Held:
    """The directory of such texts; empty, or not there at all, almost always."""

    __slots__ = ("_directory", "_state")

    def __init__(self, state: str) -> None:
        self._state, self._directory = state, os.path.join(state, DIRECTORY)

    def keep(self, name: str, kept_as: str, texts: Mapping[str, str | None]) -> None:
        """Keep `texts` under a name for what the record has as `kept_as`; raises `OSError` where that cannot be."""
        path = self._path(name)
        make_state_directory(self._state)
        with suppress(FileExistsError):
            os.mkdir(self._directory, 0o700)
        if not stat.S_ISDIR(os.lstat(self._directory).st_mode):
            raise NotADirectoryError(f"{self._directory!r} is no directory")
        draft = f"{path}.{os.getpid()}"
        try:
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as file:
                file.write(json.dumps({"for": _mark(kept_as), "texts": dict(texts)}).encode())
            os.rename(draft, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft)
            raise

    def find(self, name: str, kept_as: str) -> Mapping[str, str | None] | None:
        """What was kept for exactly what the record has; None where there is nothing."""
        try:
            with open(os.open(self._path(name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                found: Any = json.loads(file.read())
            return found["texts"] if found["for"] == _mark(kept_as) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def drop(self, name: str) -> None:
        """Delete one, if it is there."""
        with suppress(OSError):
            os.unlink(self._path(name))

    def drop_unless(self, is_needed: Callable[[str, int], bool]) -> None:
        """Delete those of which nobody needs any: by `run` or `approval`, and its number."""
        try:
            names = os.listdir(self._directory)
        except OSError:
            return
        for name in names:
            kind, _, rest = name.partition("-")
            number = rest.partition("-")[0].partition(".")[0]
            if not number.isdecimal() or not is_needed(kind, int(number)):
                with suppress(OSError):
                    os.unlink(os.path.join(self._directory, name))

    def _path(self, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} cannot name what is held")
        return os.path.join(self._directory, name)


def _mark(kept_as: str) -> str:
    return hashlib.sha256(kept_as.encode("utf-8", "surrogatepass")).hexdigest()
