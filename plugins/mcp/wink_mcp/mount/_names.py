"""Give a server's tools names that every provider takes, and that cannot be mixed up with anybody else's."""

from __future__ import annotations

import hashlib
import re
from typing import Final

LONGEST: Final = 64
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_FOREIGN: Final = re.compile(r"[^a-z0-9_-]+")


def fitted(prefix: str, name: str) -> str:
    """`name` after its prefix, in small letters, digits, `_` and `-`; one that is too long ends in a hash of itself.

    >>> fitted("github", "searchCode"), fitted("files", "fs/read.text"), fitted("", "ls")
    ('github_search_code', 'files_fs_read_text', 'ls')
    >>> len(fitted("x", "very" * 40))
    64
    """
    plain = _FOREIGN.sub("_", _HUMP.sub("_", name).lower()).strip("_") or "tool"
    whole = f"{prefix}_{plain}" if prefix else plain
    if len(whole) <= LONGEST:
        return whole
    mark = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{whole[: LONGEST - 9].rstrip('_-')}_{mark}"
