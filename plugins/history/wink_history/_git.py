"""Tell git whose repository it reads, and nobody's wishes but wink's: what `wink history` and GitPython start it with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final, NamedTuple

from wink_history._untouched import untouched_store

_SETTINGS: Final = (
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.fsmonitor=false",
    "-c", "core.attributesFile=/dev/null",
    "-c", "diff.submodule=short",
    "-c", "gpg.program=false",
    "-c", "gpg.ssh.program=false",
    "-c", "gpg.x509.program=false",
    "-c", "advice.detachedHead=false",
)  # fmt: skip
# A signature in a commit from somewhere is nothing to run a program for.

_KEPT: Final = frozenset({"GIT_PAGER"})
"""Of the caller's variables for git only what says nothing of what is read, and from where."""


class GitOnStore(NamedTuple):
    """What a process of git is given, and which repository it reads: `options` stand before its subcommand."""

    place: str
    options: tuple[str, ...]
    environment: dict[str, str]


def git_on_store(state: str, given: Mapping[str, str]) -> GitOnStore | None:
    """How to start git on the history kept in `state`, with the variables `given` to us; None while there is none.

    Raises `HistoryDamaged` where git would follow something in it that is not wink's.
    """
    place = untouched_store(state)
    return None if place is None else GitOnStore(place, _SETTINGS, environment(given, place))


def neutral(place: str) -> dict[str, str]:
    """The variables that let git read the repository at `place`, with no settings but those in it."""
    return {
        "GIT_DIR": place,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_COUNT": "0",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        # For a clone of it; otherwise nothing is fetched.
        "GIT_ALLOW_PROTOCOL": "file",
    }


def environment(given: Mapping[str, str], place: str) -> dict[str, str]:
    """The same for a process of its own: of the variables `given`, none for git but the pager.

    >>> found = environment({"HOME": "/home/me", "GIT_EXTERNAL_DIFF": "evil", "PATH": ".:/bin"}, "/state/store.git")
    >>> found["HOME"], found["PATH"], found["GIT_DIR"], "GIT_EXTERNAL_DIFF" in found
    ('/home/me', '/bin', '/state/store.git', False)
    """
    kept = {name: value for name, value in given.items() if not name.startswith("GIT_") or name in _KEPT}
    # The current directory may be that of a workspace from somewhere, and git looks for its pager on the path.
    path = filter(os.path.isabs, given.get("PATH", "").split(os.pathsep))
    return {**kept, "PATH": os.pathsep.join(path) or os.defpath, **neutral(place)}
