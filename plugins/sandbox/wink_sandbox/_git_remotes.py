"""Tell which settings of git's remotes a person can be asked about: those by which git itself reaches a repository.

Anything else runs programs: `ext::` and other helpers, schemes that git does not know, a host or a path that looks like an
option. So only what is known to be an address, or a refspec, is asked about; see gitremote-helpers(7) and git-fetch(1).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

MOST: Final = 20
"""So many settings are asked about at a time."""
_VALUES: Final = 8
_LONGEST: Final = 1000
_KEY: Final = re.compile(r"remote\.(.+)\.(url|pushurl|fetch)", re.DOTALL)
_HOST: Final = r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*|\[[0-9A-Fa-f:.]+\])"
_USER: Final = r"[A-Za-z0-9_.~+%][A-Za-z0-9_.~+%-]*"
_ADDRESS: Final = re.compile(
    rf"(?:https?|ssh|git)://(?:{_USER}(?::[A-Za-z0-9_.~+%-]*)?@)?{_HOST}(?::[0-9]{{1,5}})?(?:/.*)?"
    rf"|(?:{_USER}@)?{_HOST}:(?![-:]|//).+"  # as scp has it
    r"|file:///.*|(?:\.{0,2}/).*"
)
_ENCODED: Final = re.compile(r"%[01][0-9a-f]|%7f", re.IGNORECASE)
_REFS: Final = r"(?!.*\.\.)(?:HEAD|refs/[^\s~^:?\[\\]+)"
_REFSPEC: Final = re.compile(rf"\^?{_REFS}|\+?{_REFS}:refs/[^\s~^:?\[\\]+")


class RemoteSetting(NamedTuple):
    """A setting of a remote that a program has changed in a configuration file, with its values before and after."""

    file: str
    key: str
    before: tuple[str | None, ...]
    after: tuple[str | None, ...]

    def __str__(self) -> str:
        return f"{self.key} ({_told(self.before)} -> {_told(self.after)})"


def remote_of(key: str, values: Sequence[str | None]) -> str | None:
    """The name of the remote that a setting belongs to, if a person can be asked about these values of it."""
    match = _KEY.fullmatch(key)
    if match is None or len(key) > _LONGEST or len(values) > _VALUES:
        return None
    fits = _is_refspec if match[2] == "fetch" else _is_address
    return match[1] if all(value is not None and fits(value) for value in values) else None


def _is_address(value: str) -> bool:
    is_shown = value.isprintable() and len(value) <= _LONGEST
    return is_shown and _ENCODED.search(value) is None and _ADDRESS.fullmatch(value) is not None


def _is_refspec(value: str) -> bool:
    return value.isprintable() and len(value) <= _LONGEST and _REFSPEC.fullmatch(value) is not None


def _told(values: tuple[str | None, ...]) -> str:
    return " and ".join(repr(value or "") for value in values) or "nothing"
