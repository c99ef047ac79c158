"""What lies in a git directory that anybody may have written: refs, by their files or packed, and each file read once and to a bound."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from typing import Final

from wink.bounded import content_of
from wink.errors import RecordCorrupt
from wink.state import opened_directory
from wink_sandbox import walk_tree

_MOST_BYTES: Final = 16 << 20
_LONGEST: Final = 4096
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
ID: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_PACKED: Final = re.compile(r"^([0-9a-f]{40}(?:[0-9a-f]{24})?) (refs/[^\n]+)$", re.MULTILINE)

UNREADABLE: Final = "and is git's own, and cannot be read: {}"


class NotMerged(Exception):
    """Why a repository cannot be merged."""


def within(path: str, at: str) -> str:
    """The path in a git directory."""
    return path[len(at) + 1 :] if at else path


def place_in(at: str, name: str) -> str:
    """The path in the workspace of what has a name in a git directory."""
    return f"{at}/{name}" if at else name


def read(base: str, path: str, most: int = _MOST_BYTES) -> bytes | None:
    """What a regular file says that is not reached through a link; None where there is none; raises `NotMerged` for anything else."""
    above, _, name = path.rpartition("/")
    place = f"{base}/{above}" if above else base
    if not os.path.lexists(f"{base}/{path}"):
        return None
    try:
        with opened_directory(place) as directory:
            fd = os.open(name, _READ, dir_fd=directory)
        return content_of(fd, f"{base}/{path}", most)
    except FileNotFoundError:
        return None
    except RecordCorrupt as error:
        raise NotMerged(UNREADABLE.format(f"{path!r} is no file that could be read, or too large")) from error
    except OSError as error:
        raise NotMerged(UNREADABLE.format(f"{path!r}: {error.strerror}")) from error


def text_of(content: bytes | None) -> str:
    """What a small file says, without what surrounds it; nothing where there is none, or too much."""
    return "" if content is None or len(content) > _LONGEST else content.decode("utf-8", "surrogateescape").strip()


def id_of(content: bytes | None) -> str | None:
    """The id that a ref names; None for anything else, as the name of another ref."""
    said = text_of(content)
    return said if ID.fullmatch(said) else None


def packed_refs(content: bytes | None) -> dict[str, str]:
    """The refs that git has packed into one file."""
    found = _PACKED.finditer((content or b"").decode("utf-8", "surrogateescape"))
    return {one[2]: one[1] for one in found}


def without_refs(content: bytes, refs: Iterable[str]) -> bytes:
    """Packed refs without some, and without what they are peeled to."""
    gone = {os.fsencode(ref) for ref in refs}
    kept, is_gone = list[bytes](), False
    for line in content.splitlines(keepends=True):
        if not line.startswith(b"^"):
            is_gone = line.rstrip(b"\n").partition(b" ")[2] in gone and not line.startswith(b"#")
        if not is_gone:
            kept.append(line)
    return b"".join(kept)


def files_below(place: str) -> Iterator[str]:
    """The paths of the regular files below a directory, from there."""
    return (path for path, found in walk_tree(place, closed=False) if stat.S_ISREG(found.st_mode))


def status_of(place: str) -> os.stat_result | None:
    """What is at a place itself, no link followed; None for nothing, or where that cannot be told."""
    try:
        return os.lstat(place)
    except OSError:
        return None


def is_directory(found: os.stat_result | None) -> bool:
    """Whether something is there, and a directory."""
    return found is not None and stat.S_ISDIR(found.st_mode)


def directories_above(paths: Iterable[str]) -> frozenset[str]:
    """Every directory above any of some relative paths."""
    return frozenset(above for path in paths for above in parents_of(path))


def parents_of(path: str) -> Iterator[str]:
    """The directories above a relative path, the uppermost first."""
    return (path[:at] for at in range(len(path)) if path[at] == "/")
