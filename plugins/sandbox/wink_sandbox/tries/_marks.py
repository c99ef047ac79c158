"""Know a file again that a try has seen or accepted: by what the system says of it, and by its content."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from typing import Any, Final

from wink.bounded import content_of
from wink.filesystem import git_index_meaning, is_git_index
from wink_sandbox import Differences

MODE: Final = 3
"""Where in a mark is the mode."""
CHANGED: Final = 4
"""Where in a mark is the time of the last change of anything."""
MOST: Final = 16 << 20
"""Bytes of the largest text that is merged."""
MOST_MERGED: Final = 4 * MOST
"""Bytes of what is merged: three times the largest text, with markers, where all lines conflict."""
_LOOKED_AT: Final = 8000
"""In so many bytes a NUL makes a file binary, as for git."""
_LARGEST: Final = 64 << 20
"""Larger content is not read to be known again: whatever happens to such a file in the workspace is in the way."""


def is_text(content: bytes) -> bool:
    """Whether something is merged by lines."""
    return len(content) <= MOST and b"\0" not in content[:_LOOKED_AT]


def mark_of(place: str, digest: str | None = None, known: Sequence[Any] | None = None) -> list[Any] | None:
    """By what a file is known again: inode, time, size and mode, the time of any change, and the content's digest.

    With `digest` that is the content; without it nothing is read where all else is as in the mark `known`.
    """
    try:
        found = os.lstat(place)
        facts = [found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode, found.st_ctime_ns]
        if digest is None and known and known[:-1] == facts:
            return list(known)
        digest = digest if digest is not None else digest_of(place)
        return [*facts, digest if os.lstat(place).st_ctime_ns == found.st_ctime_ns else None]
    except OSError:
        return None


def text_of(mode: int, content: bytes) -> str:
    return f"{mode:o} {hashlib.sha256(content).hexdigest()}"


def content_at(place: str, most: int) -> bytes | None:
    """The content of a file, if it has no more bytes than that."""
    try:
        return content_of(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), place, most)
    except OSError:
        return None


def digest_of(place: str) -> str | None:
    """What tells the content of a file, link or directory from another; None for what is too large or cannot be read.

    Of a git index that is what it says, whatever times git has noted in it.
    """
    try:
        found = os.lstat(place)
        if stat.S_ISLNK(found.st_mode):
            return os.readlink(place)
        if not stat.S_ISREG(found.st_mode):
            return ""  # what is in it has marks of its own
        if found.st_size > _LARGEST:
            return None
        with open(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            said = git_index_meaning(file.read()) if is_git_index(place) else None
            file.seek(0)
            return said or hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def contents(found: Differences) -> dict[str, str | None]:
    """The digests of what is about to be merged, None for what is deleted."""
    root = found.overlay.root
    return {
        step.path: None
        if step.kind == "drop"
        else digest_of(f"{root}/{step.path}" if step.kind == "mode" else found.source(step.path))
        for step in found.steps
    }
