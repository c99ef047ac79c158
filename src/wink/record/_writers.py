"""Say which call left a path as it is found now."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable
from typing import Any, Final

from wink.record._changes import CHANGES, NAMES, Ask

_LAST: Final = f"""SELECT path, tx, after_kind, after_size, after_mode, after_inode, after_time
    FROM {CHANGES} made WHERE tx IN (SELECT tx FROM {NAMES} named WHERE path IN (SELECT value FROM json_each(?)))
    AND path IN (SELECT value FROM json_each(?)) AND committed = 1 ORDER BY tx"""
_CALLS: Final = "SELECT tx, max(seq) FROM calls WHERE tx IN (SELECT value FROM json_each(?)) GROUP BY tx"


def writers(ask: Ask, root: str, paths: Iterable[str]) -> dict[str, int]:
    """The numbers of the calls by which paths in `root` became what they are; without those that anybody else changed since."""
    last = {path: (tx, after) for path, tx, *after in ask(_LAST, *[json.dumps(sorted(paths))] * 2)}
    there = {path: tx for path, (tx, after) in last.items() if _is_that(f"{root}/{path}", *after)}
    calls = dict(ask(_CALLS, json.dumps(sorted(there.values()))))
    return {path: calls[tx] for path, tx in there.items() if tx in calls}


def _is_that(place: str, kind: Any, size: Any, mode: Any, inode: Any, time: Any) -> bool:
    try:
        found = os.lstat(place)
    except OSError:
        return kind is None
    if stat.S_ISDIR(found.st_mode):  # what comes into a directory changes its time
        return kind == "directory" and found.st_ino == inode
    known = (size, mode, inode, time)
    return kind is not None and known == (found.st_size, stat.S_IMODE(found.st_mode), found.st_ino, found.st_mtime_ns)
