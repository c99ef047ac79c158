"""What looking for files gives back."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TypeVar

from wink.dataclass import dataclass

T = TypeVar("T")


class Listing(tuple[T, ...]):
    """Found entries in order; `truncated` says that there are more than the limit let through.

    >>> found = Listing(["a.py", "b.py"], truncated=True)
    >>> found[0], len(found), found.truncated
    ('a.py', 2, True)
    """

    truncated: bool

    def __new__(cls, items: Iterable[T] = (), *, truncated: bool = False) -> Listing[T]:
        self = super().__new__(cls, items)
        self.truncated = truncated
        return self


@dataclass(frozen=True, slots=True)
class FileStat:
    """One file or directory. `size_bytes` and `mode` are those at the end of links; `target` is a link's own body."""

    path: str
    is_file: bool
    is_directory: bool
    size_bytes: int
    mode: int
    modified_at: datetime
    is_link: bool = False
    target: str | None = None


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One name in a directory. A link is a file or a directory when it leads to one, and neither when it leads nowhere."""

    name: str
    path: str
    is_file: bool
    is_directory: bool
    is_link: bool = False


@dataclass(frozen=True, slots=True)
class GlobMatch:
    """A path that fits a pattern; links are not followed and count as files."""

    path: str
    is_file: bool


@dataclass(frozen=True, slots=True)
class GrepMatch:
    """The first match in one line.

    `line_number` counts from 1, `match_start` and `match_end` are character positions in `line_content`, which has no
    newline and is a part of the line when `clipped`.
    """

    path: str
    line_number: int
    line_content: str
    match_start: int
    match_end: int
    clipped: bool = False
