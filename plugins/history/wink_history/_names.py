"""Give every name a form that git takes into a tree, and back.

Git refuses names that it, or Windows or macOS, could take for its own, as file and as link, and reads some by itself.
Such a name stands in the tree as `%wink%` and the name in hexadecimal digits. Better one name too many than a history
that git calls broken.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Final

_QUOTED: Final = b"%wink%"
_SPECIAL: Final = (b".git", b".mailmap", b"git~")
_SHORT: Final = (b"gi", b"ma")
"""How Windows' short names for git's own files begin; a `~` follows."""
_SAFE: Final = frozenset((b".gitignore", b".gitkeep", b".github"))
_BEYOND_ASCII: Final = bytes(range(128, 256))


@lru_cache(maxsize=4096)
def tree_name(name: bytes, *, is_plain: bool = True) -> bytes:
    """The form of one name; `is_plain` unless it is a link.

    >>> tree_name(b"notes.txt"), tree_name(b".gitignore"), tree_name(b".GIT")
    (b'notes.txt', b'.gitignore', b'%wink%2e474954')
    """
    if name.startswith(_QUOTED) or not _is_taken(name, is_plain=is_plain):
        return _QUOTED + name.hex().encode()
    return name


def real_name(name: bytes) -> bytes:
    """The reverse of `tree_name`; raises `ValueError` for what that never gives.

    >>> real_name(b"%wink%2e474954")
    b'.GIT'
    """
    if not name.startswith(_QUOTED):
        return name
    return bytes.fromhex(name[len(_QUOTED) :].decode("ascii"))


@lru_cache(maxsize=4096)
def tree_path(path: str, *, is_plain: bool = True) -> tuple[bytes, ...]:
    """All names of a path; `is_plain` is about the last one."""
    *above, last = [os.fsencode(part) for part in path.split("/")]
    return (*[tree_name(part) for part in above], tree_name(last, is_plain=is_plain))


def reference(kind: str, name: str) -> str:
    """What git knows a checkpoint by, as `checkpoints` or `listings`.

    >>> reference("checkpoints", "v1.0"), reference("checkpoints", "a..b")
    ('refs/wink/checkpoints/v1.0', 'refs/wink/checkpoints/a%2e%2eb')
    """
    given = name.replace(".", "%2e") if ".." in name or name.endswith((".", ".lock")) else name
    return f"refs/wink/{kind}/{given}"


def _is_taken(name: bytes, *, is_plain: bool) -> bool:
    # The macOS file system passes over some characters, all beyond ASCII; Windows takes `\\` for a separator.
    folded = name.translate(None, _BEYOND_ASCII).lower()
    if b"git" not in folded and b"~" not in folded and b"mailmap" not in folded:
        return True
    if name in _SAFE:
        return is_plain
    return not any(
        part.startswith(_SPECIAL) or (b"~" in part and part.startswith(_SHORT)) for part in folded.split(b"\\")
    )
