"""Read a pattern as git reads a pathspec: `*` crosses directories, and what is beneath a directory that fits is meant too."""

from __future__ import annotations

import re
from typing import Final

from wink.filesystem.search._ignored import IgnoreRules

_MOST: Final = 6
"""Stars that may stand for a `/`, of which each doubles the number of lines; the others stay within a name."""


def matching(pattern: str) -> IgnoreRules | None:
    """Rules that cover what a pattern, relative to the workspace, is about; None for a text that is no pattern.

    >>> python = matching("src/*.py")
    >>> [python.covers(path) for path in ("src/a.py", "src/deep/er/b.py", "src/a.txt", "a.py")]
    [True, True, False, False]
    >>> matching("src/a.py") is None
    True
    """
    if not re.search(r"[*?[]", pattern):
        return None
    # Lines of a .gitignore that begin at the root, where a star stays in one name unless it is two between slashes.
    lines = ["/"]
    stars = 0
    for part in re.split(r"(\\.|\[[!^]?\]?[^]]*\]|\*+)", re.sub(r"^(\./)+", "", pattern)):
        if part.startswith("*"):
            stars += 1
            ways = ("**" if len(part) > 1 else "*", "*/**/*")
            lines = [line + way for line in lines for way in (ways if stars <= _MOST else ways[:1])]
        else:
            lines = [line + re.sub(r"[\r\n]", "?", part) for line in lines]
    return IgnoreRules(re.sub(r" +$", lambda end: "\\ " * len(end[0]), line) for line in lines)
