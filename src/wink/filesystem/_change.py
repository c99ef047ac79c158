"""What a transaction did to one path, and how a unified diff shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from wink.dataclass import dataclass, field
from wink.filesystem._quoting import quoted_path

if TYPE_CHECKING:
    Load: TypeAlias = Callable[[], bytes | None]
else:
    Load = Any  # what is read back from JSON, such as the calls in a session's snapshot, has no content to load


ChangeKind = Literal["created", "modified", "deleted"]
"""What became of a path."""

DIFFABLE_BYTES = 64 * 1024
"""Content above this size is not kept for a diff; the size and digest still are."""

COPIED_BYTES = 64 << 20
"""Larger content is not copied, neither into the history nor by an undo: as a pre-image it stays the inode that it is."""


@dataclass(slots=True)
class Kept:
    """By what one side of a change on the disk is known again, and where it is.

    `modified_ns` is in nanoseconds since the epoch, `staged` the name of a pre-image in staging, `digest` the SHA-256 of a
    file's content where the call itself knew it. `changed_ns` is when anything of the file changed last, of what is there
    now: unlike the time of content nobody can set it. `left_ns` is the same as it was when the call had left the file, where it did
    not know the content; 0 where it did. `meaning` is the same for all contents of a git index that say the same.
    """

    inode: int
    modified_ns: int
    staged: str | None = None
    digest: str | None = None
    changed_ns: int = 0
    meaning: str | None = None
    left_ns: int = 0


@dataclass(frozen=True, slots=True)
class FileVersion:
    """One side of a change: a file, directory or link as it was, or as it is.

    `size` is in bytes; `target` is a link's body. `load` gives a small file's content, or None where it is gone or
    larger than `DIFFABLE_BYTES`. `kept` is what a record needs to find the version again later.
    """

    kind: Literal["file", "directory", "link", "other"]
    size: int
    mode: int
    target: str | None = None
    load: Load | None = field(default=None, compare=False, repr=False)
    kept: Kept | None = field(default=None, compare=False, repr=False)

    def content(self) -> bytes | None:
        """The content, as long as it is small and still at hand."""
        return None if self.load is None else self.load()


@dataclass(frozen=True, slots=True)
class FileChange:
    """The net change of one path: `before` is None for what was created, `after` for what was deleted."""

    path: str
    before: FileVersion | None
    after: FileVersion | None
    moved_from: str | None = None

    @property
    def kind(self) -> ChangeKind:
        """Created, modified or deleted."""
        if self.before is None:
            return "created"
        return "deleted" if self.after is None else "modified"

    def without_content(self) -> FileChange:
        """The same facts, holding no file's content."""
        return FileChange(self.path, _without_content(self.before), _without_content(self.after), self.moved_from)

    def diff(self) -> str:
        """A unified diff between `a/path` and `b/path`, one line for what is binary, large, or no longer at hand."""
        return unified_diff(self)


def _without_content(version: FileVersion | None) -> FileVersion | None:
    # not `replace`, which costs four times as much: this is done for each call
    return version and FileVersion(version.kind, version.size, version.mode, version.target)


def with_load(version: FileVersion, load: Load) -> FileVersion:
    """The version with content that `load` gives."""
    return FileVersion(version.kind, version.size, version.mode, version.target, load, version.kept)


def backwards(changes: Iterable[FileChange]) -> tuple[FileChange, ...]:
    """What going back changes, where these were made."""
    changes = tuple(changes)
    moved = {change.moved_from: change.path for change in changes if change.moved_from is not None}
    return tuple(
        FileChange(change.path, change.after, change.before, moved.get(change.path) if change.after is None else None)
        for change in changes
    )


def unified_diff(change: FileChange) -> str:
    """The diff between `a/path` and `b/path`; one line for what has no lines to show.

    A last line without a newline is followed by a line that says so, as git writes it.
    """
    before, after = change.before, change.after
    old_path, new_path = change.moved_from or change.path, change.path
    if any(side is not None and side.kind != "file" for side in (before, after)):
        return f"{_describe(change)}\n"
    old, new = _text(before), _text(after)
    header = _mode_lines(change)
    if old is None or new is None:
        return header + f"{_describe(change)}\n"
    if old == new:
        return header or f"{_describe(change)}\n"
    from difflib import unified_diff as lines_of

    lines = lines_of(
        _lines(old),
        _lines(new),
        "/dev/null" if before is None else quoted_path(f"a/{old_path}"),
        "/dev/null" if after is None else quoted_path(f"b/{new_path}"),
    )
    return header + "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _text(version: FileVersion | None) -> str | None:
    """One side's text; None where it is binary, large or gone."""
    if version is None:
        return ""
    content = version.content()
    if content is None or b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _lines(text: str) -> list[str]:
    # Not splitlines(): a form feed or a Unicode separator is no end of a line.
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _mode_lines(change: FileChange) -> str:
    before, after = change.before, change.after
    if before is None or after is None or before.mode == after.mode:
        return ""
    return f"{quoted_path(change.path)}: mode {before.mode:o} became {after.mode:o}\n"


def _describe(change: FileChange) -> str:
    before, after = change.before, change.after
    if before is None and after is not None:
        moved = f", moved from {quoted_path(change.moved_from)}" if change.moved_from else ""
        return f"{quoted_path(change.path)}: created {_what(after)}{moved}"
    if after is None and before is not None:
        return f"{quoted_path(change.path)}: deleted {_what(before)}"
    assert before is not None
    assert after is not None
    if before.kind == after.kind == "directory":
        return _mode_lines(change).rstrip("\n") or f"{quoted_path(change.path)}: directory touched"
    return f"{quoted_path(change.path)}: {_what(before)} became {_what(after)}"


def _what(version: FileVersion) -> str:
    if version.kind == "file":
        return f"a file of {version.size} bytes"
    if version.kind == "link":
        return f"a link to {quoted_path(version.target or '')}"
    return "a directory" if version.kind == "directory" else "something that is no file"
