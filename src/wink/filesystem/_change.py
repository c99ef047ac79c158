"""What a transaction did to one path."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    Load: TypeAlias = Callable[[], bytes | None]
else:
    Load = Any  # what is read back from JSON, such as the calls in a session's snapshot, has no content to load

ChangeKind = Literal["created", "modified", "deleted"]
"""What became of a path."""

DIFFABLE_BYTES = 64 * 1024
"""Content above this size is not kept for a diff; the size and digest still are."""


@dataclass(slots=True)
class Kept:
    """By what one side of a change on the disk is known again, and where it is.

    `modified_ns` is in nanoseconds since the epoch, `staged` the name of a pre-image in staging, `digest` the SHA-256 of a
    file's content where the call itself knew it. `changed_ns` is when anything of the file changed last, of what is there
    now: unlike the time of content nobody can set it, and no record keeps it. `meaning` is the same for all contents of a git
    index that say the same.
    """

    inode: int
    modified_ns: int
    staged: str | None = None
    digest: str | None = None
    changed_ns: int = 0
    meaning: str | None = None


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
        return replace(
            self,
            before=self.before and replace(self.before, load=None, kept=None),
            after=self.after and replace(self.after, load=None, kept=None),
        )

    def diff(self) -> str:
        """A unified diff between `a/path` and `b/path`, one line for what is binary, large, or no longer at hand."""
        from wink.filesystem._diff import unified_diff

        return unified_diff(self)


def backwards(changes: Iterable[FileChange]) -> tuple[FileChange, ...]:
    """What going back changes, where these were made."""
    changes = tuple(changes)
    moved = {change.moved_from: change.path for change in changes if change.moved_from is not None}
    return tuple(
        FileChange(change.path, change.after, change.before, moved.get(change.path) if change.after is None else None)
        for change in changes
    )
