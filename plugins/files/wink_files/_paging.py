"""Read as many lines as a model can take in at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from wink.dataclass import dataclass

if TYPE_CHECKING:
    from wink.filesystem import Filesystem

_FIRST_LINES: Final = 100
"""How many lines of a large file show how long its lines are."""


@dataclass(frozen=True, slots=True)
class Page:
    """Lines from `offset` on, of each the characters from `column` on; `cut` are those that go on. All count from 0."""

    path: str
    content: str
    offset: int
    lines: int
    total_lines: int
    cut: tuple[int, ...]
    column: int = 0
    next_column: int = 0


def read_page(
    files: Filesystem, path: str, offset: int, limit: int, *, max_chars: int, max_line_chars: int, column: int = 0
) -> Page:
    """Up to `limit` lines and about `max_chars` characters.

    What is read counts as seen, so no more is read than is shown: a large file is read in steps, whose sizes follow from
    the lines before. A line that is asked for alone may be as long as a page.
    """
    width = max(max_chars, max_line_chars) if limit == 1 else max_line_chars
    step = limit if files.stat(path).size_bytes <= max_chars else min(limit, _FIRST_LINES)
    content, lines, cut = "", 0, list[int]()
    while True:
        read = files.read(path, offset=offset + lines, limit=step, max_line_chars=width, column=column)
        content += read.content
        lines += read.content.count("\n") + (read.content[-1:] not in ("", "\n"))
        cut += read.clipped_lines
        left = min(limit - lines, read.total_lines - offset - lines)
        fits = (max_chars - len(content)) * lines // max(len(content), 1)
        # A rest of less than a tenth is not worth another read.
        if left <= 0 or fits * 10 < lines:
            return Page(read.path, content, offset, lines, read.total_lines, tuple(cut), column, column + width)
        step = min(left, fits)
