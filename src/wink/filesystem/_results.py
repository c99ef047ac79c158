"""What the operations of a filesystem give back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeVar

T = TypeVar("T")

WriteMode = Literal["overwrite", "create", "append"]


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
class ReadResult:
    """Lines of a text file, exactly as they are in it, with their newlines.

    `offset` is the first line, counted from 0, `limit` the number of lines that were asked for. `truncated` says that
    more lines follow or that some were cut: those are `clipped_lines`, counted from 0.
    """

    content: str
    path: str
    total_lines: int
    offset: int = 0
    limit: int | None = None
    truncated: bool = False
    clipped_lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What was written: `bytes_written` of this operation, `size` of the file after it, both in bytes."""

    path: str
    bytes_written: int
    size: int
    mode: WriteMode = "overwrite"
    created: bool = False


@dataclass(frozen=True, slots=True)
class EditResult:
    """What an edit did: how many places it replaced, and the 1-based number of the first line of each."""

    path: str
    replacements: int
    size: int
    lines: tuple[int, ...]


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


@dataclass(frozen=True, slots=True, weakref_slot=True)
class FilesystemSnapshot:
    """A state that the filesystem which took it can come back to, as long as the snapshot is kept."""

    snapshot_id: str
    created_at: datetime
    root: str
    tag: str | None = None
    mark: object = field(default=None, repr=False, compare=False)
