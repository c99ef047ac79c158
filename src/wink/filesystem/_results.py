"""What reading and changing a file gives back."""

from __future__ import annotations

from typing import Literal

from wink.dataclass import dataclass

WriteMode = Literal["overwrite", "create", "append"]
"""What to do with a file that is there: replace it, refuse, or write at its end."""


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
