"""What a tree of files must be able to do so that handles, transactions and rollback can be built on it.

A store knows nothing of handles, stamps, lines or text. Paths are what `workspace_path` gives, as text: relative, with
`/` between names, `""` for the root, no `.` and no `..`. Errors are Python's own (`FileNotFoundError`,
`IsADirectoryError`, …) and `PathRefused`; their `filename` is the path as given here, never a path of the host.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO, Literal, Protocol

from wink.dataclass import dataclass
from wink.filesystem._change import FileChange

NodeKind = Literal["file", "directory", "link", "other"]
"""What is at a path; `other` is a socket, a FIFO or a device."""


@dataclass(frozen=True, slots=True)
class Node:
    """What a store says of one name.

    `size` is in bytes, `mode` the permission bits, `modified_ns` nanoseconds since the epoch, 0 where it is not known. Two
    equal `identity` values mean the same content, unless the file changed within the clock's grain of `modified_ns`, or that
    is 0; a store whose content cannot change in place never has that doubt. `target` is a link's body.
    """

    kind: NodeKind
    size: int
    mode: int
    modified_ns: int
    identity: tuple[int, ...]
    target: str | None = None


class Staging(Protocol):
    """New content on its way, private to its writer until `ChangeSet.put` publishes it."""

    def write(self, data: bytes, /) -> int:
        """Append `data`."""
        ...

    def discard(self) -> None:
        """Forget the content; harmless after a `put`."""
        ...


class ChangeSet(Protocol):
    """The changes of one transaction, each undoable. Nothing is stored before the first change."""

    @property
    def position(self) -> int:
        """How many changes were made; `undo(position)` comes back to here."""
        ...

    def stage(self) -> Staging:
        """Start new content."""
        ...

    def put(
        self,
        path: str,
        content: bytes | Staging,
        *,
        exclusive: bool = False,
        existing: bool = False,
        mode: int | None = None,
        replacing: bytes | str | None = None,
    ) -> Node:
        """Make `path` a file with this content, atomically; links are followed as far as they stay inside.

        The parent directory must exist. An existing file keeps its mode and extended attributes, unless `mode` says
        otherwise; other hard links to it keep the old content. `exclusive` raises `FileExistsError` where the name is taken, and
        `existing` raises `FileNotFoundError`, with nothing done, where there is no file.
        `replacing` is what the file must contain until it is replaced, or for a large one the SHA-256 of that in
        hexadecimal digits; otherwise `FileConflict`.
        """
        ...

    def delete(self, path: str, *, recursive: bool = False) -> None:
        """Remove a file, a link itself, an empty directory, or with `recursive` a whole one."""
        ...

    def move(self, source: str, target: str, *, overwrite: bool = False) -> None:
        """Give what is at `source` the name `target`; with `overwrite` a file there is replaced."""
        ...

    def mkdir(self, path: str) -> None:
        """Make one directory; its parent must exist."""
        ...

    def chmod(self, path: str, mode: int) -> None:
        """Set the permission bits."""
        ...

    def symlink(self, path: str, target: str) -> None:
        """Make a relative link that stays inside the tree."""
        ...

    def changes(self, since: int = 0) -> tuple[FileChange, ...]:
        """The net change of each path since a position, in the order of first change; unchanged ones are left out."""
        ...

    def between(self, since: object, until: object | None = None) -> tuple[FileChange, ...]:
        """Like `changes`, between two moments in either order: positions, or None for now.

        With `until` before `since` they are what going back changes. Change sets that were begun only to be asked know the
        marks of a `MarkingStore` as moments too.
        """
        ...

    def prepare(self) -> None:
        """Do all that can fail before the commit point; with `durability="power"` reach the disk."""
        ...

    def publish(self) -> None:
        """The commit point has passed: let the changes stand."""
        ...

    def leave(self) -> None:
        """Let go of the changes as they are, neither kept nor undone, for recovery to judge."""
        ...

    def undo(self, to: int = 0) -> None:
        """Take back everything after a position, newest first; raises `RollbackFailed`. `undo(0)` ends the change set."""
        ...


class Store(Protocol):
    """One tree of files."""

    @property
    def root(self) -> str:
        """Where the tree is, for people: an absolute path, or `memory:`."""
        ...

    def node(self, path: str, *, follow: bool = True) -> Node:
        """What is at `path`; with `follow`, at the end of its links."""
        ...

    def open(self, path: str) -> tuple[BinaryIO, Node]:
        """A stream over a regular file, and its node as of opening; never blocks on FIFOs or devices."""
        ...

    def read(self, path: str, limit: int | None = None) -> tuple[bytes | None, Node]:
        """A whole regular file and its node as of opening; None for a content of more than `limit` bytes."""
        ...

    def scan(self, path: str) -> Iterator[tuple[str, NodeKind]]:
        """The names in a directory, in no order, links not followed."""
        ...

    def begin(self, transaction_id: str) -> ChangeSet:
        """A change set for one transaction; O(1), touching nothing."""
        ...


class MarkingStore(Store, Protocol):
    """A store that can come back to what was committed in it; one that cannot is not asked for snapshots.

    Change sets of such a store are `MarkingChangeSet`s.
    """

    def mark(self) -> object:
        """What is committed now, to come back to as long as somebody holds the mark; costs the same at any size.

        The store itself holds marks weakly, and keeps what commits replace only while a mark from before is held.
        Changes of change sets that are under way belong to after the mark, whenever they were made.
        """
        ...


class MarkingChangeSet(ChangeSet, Protocol):
    """A change set that can go back in its own changes, and beyond them to a mark, by changing more."""

    def rewind(self, to: object) -> None:
        """Make everything as it was at a position of this change set or at a mark: bytes, names, modes and links.

        What it does are changes like others: they can be undone, and every other moment, later ones too, can still be come
        back to.
        """
        ...


def failure(code: int, path: str) -> OSError:
    """Python's own exception for an error number."""
    return OSError(code, os.strerror(code), path or ".")
