"""What a transaction did to one path."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TypeAlias

from wink.dataclass import dataclass, field

if TYPE_CHECKING:
    from io import BufferedIOBase

    Load: TypeAlias = Callable[[], bytes | None]
    FindDigest: TypeAlias = Callable[[], str | None]
else:
    Load = FindDigest = (
        Any  # what is read back from JSON, such as the calls in a session's snapshot, has no content to load
    )


ChangeKind = Literal["created", "modified", "deleted"]
"""What became of a path."""

DIFFABLE_BYTES = 64 * 1024
"""Content above this size is not read, kept or written down by a call itself; a diff that somebody asks for reads more."""

COMPARED_BYTES = 16 << 20
"""Content above this size is not compared: a diff has its size and digest."""

DIGESTED_BYTES = 1 << 30
"""Larger files are not read to tell their digest: one with a hole may have terabytes."""

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

    `size` is in bytes; `target` is a link's body. `load` reads a file's content, and gives None where it is gone or larger
    than 16 MiB. `kept` is what a record needs to find the version again later, and `find_digest` reads what nobody has
    the digest of.
    """

    kind: Literal["file", "directory", "link", "other"]
    size: int
    mode: int
    target: str | None = None
    load: Load | None = field(default=None, compare=False, repr=False)
    kept: Kept | None = field(default=None, compare=False, repr=False)
    find_digest: FindDigest | None = field(default=None, compare=False, repr=False)

    def content(self, most: int | None = None) -> bytes | None:
        """The content, as long as it is still at hand, and with `most` as long as it has no more bytes than that."""
        return None if self.load is None or (most is not None and self.size > most) else self.load()

    def digest(self) -> str | None:
        """The SHA-256 of a file's content in hexadecimal; None where nobody knows it and the content is not at hand."""
        if self.kept is not None and self.kept.digest is not None:
            return self.kept.digest
        return None if self.find_digest is None else self.find_digest()


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

    def diff(self, most: int | None = None) -> str:
        r"""The diff in git's extended format; one line for what has no lines.

        That is what is binary, what is no longer at hand, and what has more bytes than `most`, or than 16 MiB.
        A last line without a newline is followed by a line that says so, and what is no UTF-8 is written as `\xff`.
        """
        from wink.filesystem.diffs import diffs_of

        return "".join(one.text() for one in diffs_of(self, most=most))


def _without_content(version: FileVersion | None) -> FileVersion | None:
    # not `replace`, which costs four times as much: this is done for each call
    return version and FileVersion(version.kind, version.size, version.mode, version.target)


def file_version(size: int, mode: int, open_content: Callable[[], BinaryIO | BufferedIOBase | None]) -> FileVersion:
    """A file of so many bytes, whose content, or where that is larger than 16 MiB its digest, is read when it is asked for.

    `open_content` gives a stream of it, or None where that is not at hand any more; it may raise `OSError` for that, too.
    """

    def read(of: Callable[[BinaryIO | BufferedIOBase], Any]) -> Any:
        try:
            stream = open_content()
            if stream is None:
                return None
            with stream:
                return of(stream)
        except OSError:
            return None

    def content(stream: BinaryIO | BufferedIOBase) -> bytes | None:
        found = stream.read(COMPARED_BYTES + 1)
        return found if len(found) <= COMPARED_BYTES else None

    if size <= COMPARED_BYTES:
        return FileVersion("file", size, mode, load=lambda: read(content))
    find = (lambda: read(stream_digest)) if size <= DIGESTED_BYTES else None
    return FileVersion("file", size, mode, find_digest=find)


def stream_digest(stream: BinaryIO | BufferedIOBase, start: bytes = b"") -> str:
    """The SHA-256 in hexadecimal of what a stream still has, after a `start` that was read before."""
    from hashlib import sha256  # 4 ms to import, for OpenSSL

    hasher = sha256(start)
    while chunk := stream.read(1 << 20):
        hasher.update(chunk)
    return hasher.hexdigest()


def with_load(version: FileVersion, load: Load) -> FileVersion:
    """The version with content that `load` gives."""
    return FileVersion(
        version.kind, version.size, version.mode, version.target, load, version.kept, version.find_digest
    )


def backwards(changes: Iterable[FileChange]) -> tuple[FileChange, ...]:
    """What going back changes, where these were made."""
    changes = tuple(changes)
    moved = {change.moved_from: change.path for change in changes if change.moved_from is not None}
    return tuple(
        FileChange(change.path, change.after, change.before, moved.get(change.path) if change.after is None else None)
        for change in changes
    )
