"""Find files by their names and by what is in them.

Walks go in the order of names, and leave out what is hidden from tools or ignored as git ignores it. A regular expression
that a model wrote always ends: RE2 runs it, and what RE2 cannot express runs in a process that is killed when it takes too long.
"""

from typing import TYPE_CHECKING

from wink.spellings import lazily

if TYPE_CHECKING:
    from wink.filesystem.search._glob import glob, iglob
    from wink.filesystem.search._grep import grep, igrep
    from wink.filesystem.search._ignored import Ignored, IgnoreRules
    from wink.filesystem.search._listing import FileEntry, FileStat, GlobMatch, GrepMatch, Listing
    from wink.filesystem.search._pathspec import matching
    from wink.filesystem.search._pattern import Pattern
    from wink.filesystem.search._walk import entries

__all__ = [
    "FileEntry",
    "FileStat",
    "GlobMatch",
    "GrepMatch",
    "IgnoreRules",
    "Ignored",
    "Listing",
    "Pattern",
    "entries",
    "glob",
    "grep",
    "iglob",
    "igrep",
    "matching",
]

# What only some programs need is imported when it is asked for (PEP 562).
_LATER = {
    "FileEntry FileStat GlobMatch GrepMatch Listing": "_listing",
    "IgnoreRules Ignored": "_ignored",
    "Pattern": "_pattern",
    "entries": "_walk",
    "glob iglob": "_glob",
    "grep igrep": "_grep",
    "matching": "_pathspec",
}

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, _LATER)
