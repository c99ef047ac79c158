"""What the file tools answer with, and how the model reads it."""

from __future__ import annotations

import re
from typing import Any, Final

from wink.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a directory; `size` is in bytes, and None for anything but a file and where it cannot be asked for."""

    name: str
    kind: str
    size: int | None = None


@dataclass(frozen=True, slots=True)
class DirectoryListing:
    """The names in a directory, directories first; `truncated` says that there are more."""

    path: str
    entries: tuple[Entry, ...]
    truncated: bool = False

    def render(self) -> str:
        """One name a line: `name/` for a directory, `name@` for a link, a file's size after its name."""
        more = ["(there are more; find them with glob)"] if self.truncated else []
        return "\n".join([*map(_entry_line, self.entries), *more])


@dataclass(frozen=True, slots=True)
class FileText:
    """Some lines of a text file.

    `first_line` counts from 1; `notes` are remarks about what the lines alone do not show.
    """

    path: str
    content: str
    first_line: int
    total_lines: int
    notes: tuple[str, ...] = ()

    @property
    def last_line(self) -> int:
        """The number of the last line that is shown."""
        return number_lines(self.content, self.first_line)[1]

    def render(self) -> str:
        r"""The lines with their numbers, then how to go on.

        >>> print(FileText("a.txt", "one\ntwo\n", 1, 5).render().replace("\t", " "))
             1 one
             2 two
        (lines 1-2 of 5; to go on, call read_file with offset=2)
        """
        numbered, last = number_lines(self.content, self.first_line)
        more = f"lines {self.first_line}-{last} of {self.total_lines}; to go on, call read_file with offset={last}"
        notes = [*([more] if last < self.total_lines else []), *self.notes]
        return "\n".join([*([numbered] if numbered else []), *(f"({note})" for note in notes)])


@dataclass(frozen=True, slots=True)
class FileBytes:
    """Some bytes of a file, in base64; `offset` and `size`, which is that of the whole file, are in bytes."""

    path: str
    content: str
    offset: int
    size: int

    @property
    def end(self) -> int:
        """Where the bytes end that are shown."""
        return self.offset + len(self.content) // 4 * 3 - self.content.count("=")

    def render(self) -> str:
        """The bytes in base64, then how to go on.

        >>> print(FileBytes("logo.png", "iVBORw==", 0, 9).render())
        iVBORw==
        (bytes 0-3 of 9; to go on, call read_bytes with offset=4)
        """
        more = f"(bytes {self.offset}-{self.end - 1} of {self.size}; to go on, call read_bytes with offset={self.end})"
        lines = [self.content or "(the file is empty)", *([more] if self.end < self.size else [])]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that was created or overwritten; `size` is in bytes, and `lines` None where bytes were written."""

    path: str
    created: bool
    size: int
    lines: int | None

    def render(self) -> str:
        """Nothing beyond the message."""
        return ""


@dataclass(frozen=True, slots=True)
class EditedFile:
    """A file in which text was replaced, and its lines around the first replacement as they are now."""

    path: str
    replacements: int
    snippet: str
    first_line: int

    def render(self) -> str:
        """The new lines with their numbers."""
        return number_lines(self.snippet, self.first_line)[0]


@dataclass(frozen=True, slots=True)
class MovedFile:
    """A file or directory that has another path now."""

    source_path: str
    target_path: str

    def render(self) -> str:
        """Nothing beyond the message."""
        return ""


@dataclass(frozen=True, slots=True)
class MadeLink:
    """A symbolic link that was made; both paths are relative to the workspace's root."""

    path: str
    target_path: str

    def render(self) -> str:
        """Nothing beyond the message."""
        return ""


@dataclass(frozen=True, slots=True)
class ChangedMode:
    """A file or directory that has other permission bits now, in octal."""

    path: str
    mode: str
    before: str

    def render(self) -> str:
        """Nothing beyond the message."""
        return ""


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """Paths whose names match, relative to the workspace's root."""

    pattern: str
    paths: tuple[str, ...]
    truncated: bool = False

    def render(self) -> str:
        """One path a line."""
        more = ["(there are more; give a narrower pattern or path)"] if self.truncated else []
        return "\n".join([*map(shown, self.paths), *more])


@dataclass(frozen=True, slots=True)
class MatchedLine:
    """One line that matches; `line` counts from 1."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class FoundLines:
    """Lines whose text matches."""

    pattern: str
    matches: tuple[MatchedLine, ...]
    truncated: bool = False

    def render(self) -> str:
        """`path:line: text`, one match a line.

        >>> print(FoundLines("TODO", (MatchedLine("a.py", 3, "# TODO: name it"),)).render())
        a.py:3: # TODO: name it
        """
        lines = [f"{shown(match.path)}:{match.line}: {match.text}" for match in self.matches]
        if self.truncated:
            lines.append("(there are more; give a narrower pattern, path or glob)")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class RemovedPath:
    """A file or directory that is gone."""

    path: str

    def render(self) -> str:
        """Nothing beyond the message."""
        return ""


RESULTS: Final[tuple[type[Any], ...]] = (
    DirectoryListing,
    FileText,
    FileBytes,
    FoundFiles,
    FoundLines,
    WrittenFile,
    EditedFile,
    MovedFile,
    MadeLink,
    ChangedMode,
    RemovedPath,
)
"""Every type that a file tool answers with."""


def number_lines(text: str, first: int) -> tuple[str, int]:
    r"""The lines of `text` numbered as `cat -n` does, and the last number.

    >>> number_lines("a\n\nb", 9)
    ('     9\ta\n    10\t\n    11\tb', 11)
    """
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    numbered = (f"{first + index:>6}\t{line.removesuffix(chr(13))}" for index, line in enumerate(lines))
    return "\n".join(numbered), first + len(lines) - 1


def shown(name: str) -> str:
    r"""A name without what would break its line or the request that it is sent in; such names come from outside.

    >>> print(shown("new\nline"), shown("\udcff"), shown("é"))
    new\nline \udcff é
    """
    return re.sub("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]", lambda found: ascii(found[0])[1:-1], name)


def count(number: int, one: str, many: str = "") -> str:
    """A number with its noun.

    >>> count(1, "line"), count(2, "line"), count(0, "entry", "entries")
    ('1 line', '2 lines', '0 entries')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"


def _entry_line(entry: Entry) -> str:
    name = shown(entry.name)
    if entry.kind == "directory":
        return f"{name}/"
    if entry.kind == "link":
        return f"{name}@"
    return name if entry.size is None else f"{name}  {count(entry.size, 'byte')}"
