"""Keep exactly what a run or an approval needs to go on, where the record has it masked, until it is needed no more.

The record's own files never hold these texts, nor does anything that is made of them. Each is a file that only its owner
can read, and is deleted when its run ends or its answer is used.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from wink.errors import RecordCorrupt
from wink.record._state import state_directory
from wink.state import opened_directory, read_file, replace_file

DIRECTORY: Final = "held"
"""Where they are, in a workspace's state."""

MOST_BYTES: Final = 256 * 2**20
"""No plan of a run, and no approval, is as large."""

_NAME: Final = re.compile(r"(run|approval)-[0-9]{1,15}(-[a-z]+(-[0-9]{1,15})?)?")


class SealedValues:
    """The directory of such texts; empty, or not there at all, almost always."""

    __slots__ = ("_state",)

    def __init__(self, state: str) -> None:
        self._state = state

    def keep(self, name: str, kept_as: str, texts: Mapping[str, str | None]) -> None:
        """Keep `texts` under a name for what the record has as `kept_as`; raises `OSError` where that cannot be."""
        name = _checked(name)
        directory = state_directory(self._state, DIRECTORY)
        try:
            replace_file(directory, name, json.dumps({"for": _mark(kept_as), "texts": dict(texts)}).encode())
        finally:
            os.close(directory)

    def find(self, name: str, kept_as: str) -> Mapping[str, str | None] | None:
        """What was kept for exactly what the record has; None where there is nothing."""
        name = _checked(name)
        try:
            with opened_directory(os.path.join(self._state, DIRECTORY)) as directory:
                found: Any = json.loads(read_file(directory, name, MOST_BYTES))
            return found["texts"] if found["for"] == _mark(kept_as) else None
        except (OSError, RecordCorrupt, ValueError, KeyError, TypeError, RecursionError):
            return None

    def drop(self, name: str) -> None:
        """Delete one, if it is there."""
        name = _checked(name)
        with suppress(OSError, RecordCorrupt), opened_directory(os.path.join(self._state, DIRECTORY)) as directory:
            os.unlink(name, dir_fd=directory)

    def drop_unless(self, is_needed: Callable[[str, int], bool]) -> None:
        """Delete those of which nobody needs any: by `run` or `approval`, and its number."""
        with suppress(OSError, RecordCorrupt), opened_directory(os.path.join(self._state, DIRECTORY)) as directory:
            for name in os.listdir(directory):
                kind, _, rest = name.partition("-")
                number = rest.partition("-")[0].partition(".")[0]
                if not number.isdecimal() or not is_needed(kind, int(number)):
                    with suppress(OSError):
                        os.unlink(name, dir_fd=directory)


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} cannot name what is sealed")
    return name


def _mark(kept_as: str) -> str:
    from hashlib import sha256  # 4 ms to import, for OpenSSL

    return sha256(kept_as.encode("utf-8", "surrogatepass")).hexdigest()
