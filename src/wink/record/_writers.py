"""Say which call left a path as it is found now."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable
from typing import Any, Final

from wink.record._changes import CHANGES, NAMES, Ask

_LAST: Final = f"""SELECT path, (SELECT max(seq) FROM calls WHERE calls.tx = made.tx),
    after_kind, after_size, after_mode, after_inode, after_time
    FROM {CHANGES} made WHERE tx IN (SELECT tx FROM {NAMES} named WHERE path IN (SELECT value FROM json_each(?1)))
    AND path IN (SELECT value FROM json_each(?1)) AND committed = 1 ORDER BY tx"""


def writers(ask: Ask, root: str, paths: Iterable[str]) -> dict[str, int]:
    """The numbers of the calls by which paths in `root` became what they are; without those that anybody else changed since."""
    last = {path: (call, after) for path, call, *after in ask(_LAST, json.dumps(sorted(paths)))}
    return {
        path: call for path, (call, after) in last.items() if call is not None and _is_that(f"{root}/{path}", *after)
    }


def _is_that(place: str, kind: Any, size: Any, mode: Any, inode: Any, time: Any) -> bool:
    try:
        found = os.lstat(place)
    except OSError:
        return kind is None
    if stat.S_ISDIR(found.st_mode):  # what comes into a directory changes its time
        return kind == "directory" and found.st_ino == inode
    known = (size, mode, inode, time)
    return kind is not None and known == (found.st_size, stat.S_IMODE(found.st_mode), found.st_ino, found.st_mtime_ns)
