"""Know what of a git repository is data, what git runs or is told by, and what an index says.

`git status` writes an index anew to note times and inodes, and it says the same as before. The format is git's
Documentation/gitformat-index.txt. Anybody may have made the file: whatever is not as that says means nothing here, and such
an index is then compared by its bytes. GitPython reads it too, but neither version 4 nor SHA-256, nor within bounds.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Final

_NAMES = """
    objects lfs refs logs packed-refs index HEAD ORIG_HEAD FETCH_HEAD MERGE_HEAD MERGE_MSG MERGE_MODE AUTO_MERGE
    SQUASH_MSG COMMIT_EDITMSG CHERRY_PICK_HEAD REVERT_HEAD REBASE_HEAD BISECT_LOG shallow gc.log
"""

GIT_DATA: Final = frozenset(_NAMES.split())
"""The names directly in a `.git` that programs may change: git reads them, and never does what they say."""

ALSO: Final = frozenset(("info", "info/refs"))
"""Further places, the first of them only as a directory: `git gc` writes a list of refs for web servers."""

_KEPT: Final = frozenset(("modules", "worktrees"))
_BEGINS: Final = GIT_DATA | _KEPT | {"info", "config"}
_TOLD: Final = re.compile(r"objects/info/(http-)?alternates")

restoring: Final[ContextVar[bool]] = ContextVar("wink_restoring", default=False)
"""Whether what was there is being put back: git's data, and nothing else of git's, and links wherever they lead."""


def is_git_data(path: str) -> bool:
    """Whether a normalised path is data in a `.git` directory, or in what that has for a submodule or a worktree.

    >>> is_git_data(".git/objects/ab/cdef"), is_git_data("lib/.git/HEAD"), is_git_data(".git/hooks/pre-commit")
    (True, True, False)
    >>> is_git_data(".git/modules/lib/a/HEAD"), is_git_data(".git/modules/lib/a/config")
    (True, False)
    """
    inside = _inside(path)
    rest = "/".join(inside)
    return rest in ALSO or (bool(inside) and inside[0] in GIT_DATA and not _TOLD.match(rest))


def is_git_config(path: str) -> bool:
    """Whether a normalised path is that of a repository's settings: of these a merge takes single keys.

    >>> is_git_config(".git/config"), is_git_config(".git/modules/lib/config"), is_git_config(".git/refs/heads/config")
    (True, True, False)
    """
    return _inside(path) == ["config"]


def is_git_object(path: str) -> bool:
    """Whether a normalised path lies among a repository's objects, which are named by what they are.

    >>> is_git_object(".git/objects/ab/cdef"), is_git_object(".git/modules/a/objects/pack"), is_git_object(".git/refs/objects")
    (True, True, False)
    """
    return _inside(path)[:1] == ["objects"]


def branch_at(path: str) -> tuple[str, bytes] | None:
    """The git directory that a path is a branch of, and the branch's full name; None for no branch.

    >>> branch_at("lib/.git/refs/heads/a/b")
    ('lib/.git', b'refs/heads/a/b')
    """
    at, _, branch = path.partition("/refs/heads/")
    is_branch = _inside(path)[:2] == ["refs", "heads"] and branch
    return (at, b"refs/heads/" + branch.encode("utf-8", "surrogateescape")) if is_branch else None


def _inside(path: str) -> list[str]:
    """The names in the git directory that a path is in, as far as they tell where that begins; none if it is in none."""
    names = path.split("/")
    inside = names[names.index(".git") + 1 :] if names.count(".git") == 1 else []
    while inside and inside[0] in _KEPT:
        at = next((number for number, name in enumerate(inside) if number > 1 and name in _BEGINS), len(inside))
        inside = inside[at:]
    return inside


MOST: Final = 1 << 22
"""Larger ones, of more than some 40,000 files, are compared by their bytes: a call that wrote one is not to wait for this."""

_LONGEST_PATH: Final = 4096
_HEADER: Final = struct.Struct(">4sII")
_MODE: Final = struct.Struct(">I")
_MODE_AT: Final = 24
_ID_AT: Final = 40
_EXTENDED: Final = 0x4000
_NAME: Final = 0x0FFF
# What of the flags git did not note for itself: assumed valid, and the stage.
_MEANT: Final = 0xB000
_CACHES: Final = frozenset((b"TREE", b"UNTR", b"FSMN", b"EOIE", b"IEOT"))


def is_git_index(path: str) -> bool:
    """Whether a path may be that of an index, as its content then says: a git directory, as that of a bare repository, has any name.

    >>> is_git_index(".git/index"), is_git_index("store.git/worktrees/a/index"), is_git_index(".git/index.lock")
    (True, True, False)
    """
    return path.rpartition("/")[2] == "index"


def git_index_meaning(content: bytes) -> str | None:
    """The same for indexes that say the same; None for what is none, or cannot be read.

    Path, mode, object, stage and the flags that people set make the difference, and extensions that are no caches.
    """
    if len(content) > MOST:
        return None
    from hashlib import sha1, sha256  # 4 ms to import, for OpenSSL

    for make in (sha1, sha256):
        # With `index.skipHash` there are zeros.
        end = len(content) - make().digest_size
        if end > 0 and (not any(content[end:]) or make(content[:end]).digest() == content[end:]):
            told = sha256()
            try:
                for part in _parts(content, end, make().digest_size):
                    told.update(b"%d:" % len(part) + part)
            except (ValueError, struct.error):
                continue
            return told.hexdigest()
    return None


def _parts(content: bytes, end: int, id_size: int) -> Iterator[bytes]:
    magic, version, count = _HEADER.unpack_from(content)
    if magic != b"DIRC" or version not in (2, 3, 4):
        raise ValueError(version)
    at, path = _HEADER.size, b""
    for _ in range(count):
        flags_at = at + _ID_AT + id_size
        (flags,) = struct.unpack_from(">H", content, flags_at)
        more, name_at = 0, flags_at + 2
        if flags & _EXTENDED:
            (more,) = struct.unpack_from(">H", content, name_at)
            name_at += 2
        removed = 0
        if version == 4:
            removed, name_at = _number(content, name_at, end)
        name_end = content.index(b"\0", name_at, end)
        if version == 4:
            if removed > len(path):
                raise ValueError(removed)
            path = path[: len(path) - removed] + content[name_at:name_end]
            following = name_end + 1
        else:
            path = content[name_at:name_end]
            following = at + (name_end - at + 8) // 8 * 8
        if not path or len(path) > _LONGEST_PATH or flags & _NAME != min(len(path), _NAME) or following > end:
            raise ValueError(path)
        yield path
        yield struct.pack(">HH", flags & _MEANT, more) + content[at + _MODE_AT : at + _MODE_AT + 4]
        yield content[at + _ID_AT : flags_at]
        at = following
    while at < end:
        name, (size,) = content[at : at + 4], _MODE.unpack_from(content, at + 4)
        at += 8
        if at + size > end:
            raise ValueError(size)
        if name not in _CACHES:
            yield name
            yield content[at : at + size]
        at += size


def _number(content: bytes, at: int, end: int) -> tuple[int, int]:
    """A number as git writes offsets, and where it ends."""
    value = content[at] & 0x7F
    while content[at] & 0x80:
        at += 1
        if at >= end or value > _LONGEST_PATH:
            raise ValueError(at)
        value = ((value + 1) << 7) | (content[at] & 0x7F)
    return value, at + 1
