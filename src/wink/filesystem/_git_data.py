"""Tell what of a git repository is data from what git runs or is told by."""

from __future__ import annotations

import re
from contextvars import ContextVar
from typing import Final

_NAMES = """
    objects refs logs packed-refs index HEAD ORIG_HEAD FETCH_HEAD MERGE_HEAD MERGE_MSG MERGE_MODE AUTO_MERGE
    SQUASH_MSG COMMIT_EDITMSG CHERRY_PICK_HEAD REVERT_HEAD REBASE_HEAD BISECT_LOG shallow gc.log
"""

GIT_DATA: Final = frozenset(_NAMES.split())
"""The names directly in a `.git` that programs may change: git reads them, and never does what they say."""

ALSO: Final = frozenset(("info", "info/refs"))
"""Further places, the first of them only as a directory: `git gc` writes a list of refs for web servers."""

_TOLD: Final = re.compile(r"objects/info/(http-)?alternates")

restoring: Final[ContextVar[bool]] = ContextVar("wink_restoring", default=False)
"""Whether what a program had changed is being put back: then git's data, and nothing else of git's, may be written."""


def is_git_data(path: str) -> bool:
    """Whether a normalised path is data in a `.git` directory.

    >>> is_git_data(".git/objects/ab/cdef"), is_git_data("lib/.git/HEAD"), is_git_data(".git/hooks/pre-commit")
    (True, True, False)
    """
    names = path.split("/")
    if ".git" not in names:
        return False
    inside = names[names.index(".git") + 1 :]
    rest = "/".join(inside)
    return rest in ALSO or (bool(inside) and inside[0] in GIT_DATA and ".git" not in inside and not _TOLD.match(rest))
