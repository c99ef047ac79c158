"""Errors of the file layer."""

from __future__ import annotations

import errno
import os

from wink.errors._core import WinkError

__all__ = [
    "EditFailed",
    "FileConflict",
    "FileTooLarge",
    "WriteTooLarge",
    "NotText",
    "PathRefused",
    "PatternError",
    "ReadOnlyFilesystem",
    "SnapshotMismatch",
]


class PathRefused(WinkError, PermissionError):
    """A path names something that file tools must not touch, or nothing that could be a file's name.

    `reason` completes the sentence "'the/path' …".
    """

    says = "{path!r} {reason}"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(errno.EPERM, reason, path)
        self.path, self.reason = path, reason

    def __reduce__(self) -> tuple[type[PathRefused], tuple[str, str]]:
        return type(self), (self.path, self.reason)


class ReadOnlyFilesystem(WinkError, PermissionError):
    """A change was asked of a filesystem, or of a call's handle, that only reads; `reason` says why it does."""

    says = "{path!r} cannot be changed: {reason}"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(errno.EROFS, reason, path)
        self.path, self.reason = path, reason

    def __reduce__(self) -> tuple[type[ReadOnlyFilesystem], tuple[str, str]]:
        return type(self), (self.path, self.reason)


class FileConflict(WinkError, OSError):
    """Somebody else is saving a file that was to be changed, or just has; their version stands, ours was dropped.

    `reason` completes the sentence "'the/path' …", with a remedy.
    """

    says = "{path!r} {reason}"

    def __init__(
        self, path: str, reason: str = "was saved by somebody else while it was being changed; read it again"
    ) -> None:
        super().__init__(errno.EBUSY, os.strerror(errno.EBUSY), path)
        self.path, self.reason = path, reason

    def __reduce__(self) -> tuple[type[FileConflict], tuple[str, str]]:
        return type(self), (self.path, self.reason)


class NotText(WinkError, ValueError):
    """A file was read as text and is not text in that encoding; `size` is in bytes."""

    says = "{path!r} is not {encoding} text, it {reason} ({size} bytes); use read_bytes, or name its encoding"

    def __init__(self, path: str, size: int, encoding: str, reason: str) -> None:
        self.path, self.size, self.encoding, self.reason = path, size, encoding, reason
        super().__init__(path, size, encoding, reason)


class FileTooLarge(WinkError, OSError):
    """A file, or the part that was asked for, is too large to be held in memory; sizes are in bytes."""

    says = "{path!r} has {size} bytes, more than the {limit} that are read at once; {remedy}"

    def __init__(self, path: str, size: int, limit: int, remedy: str) -> None:
        super().__init__(errno.EFBIG, os.strerror(errno.EFBIG), path)
        self.path, self.size, self.limit, self.remedy = path, size, limit, remedy

    def __reduce__(self) -> tuple[type[FileTooLarge], tuple[str, int, int, str]]:
        return type(self), (self.path, self.size, self.limit, self.remedy)


class WriteTooLarge(WinkError, OSError):
    """A write would leave a file that is larger than one write may make; `size` is what it would have at least, in bytes."""

    says = (
        "{path!r} would have {size} bytes, more than the {limit} that a file may have; "
        "make several files of it, or raise max_file_bytes"
    )

    def __init__(self, path: str, size: int, limit: int) -> None:
        super().__init__(errno.EFBIG, os.strerror(errno.EFBIG), path)
        self.path, self.size, self.limit = path, size, limit

    def __reduce__(self) -> tuple[type[WriteTooLarge], tuple[str, int, int]]:
        return type(self), (self.path, self.size, self.limit)


class EditFailed(WinkError, ValueError):
    """The text to replace is not in the file, is there several times, or the edit would change nothing.

    `lines` are the 1-based numbers of the lines where the text was found, or where something like it is.
    """

    says = "cannot edit {path!r}: {reason}"

    def __init__(self, path: str, reason: str, lines: tuple[int, ...] = ()) -> None:
        self.path, self.reason, self.lines = path, reason, lines
        super().__init__(path, reason, lines)


class PatternError(WinkError, ValueError):
    """A glob pattern or regular expression cannot be used; `reason` says what in it is not supported."""

    def __init__(self, pattern: str, reason: str) -> None:
        self.pattern, self.reason = pattern, reason
        super().__init__(pattern, reason)

    def __str__(self) -> str:
        shown = self.pattern if len(self.pattern) <= 80 else f"{self.pattern[:77]}..."
        return f"the pattern {shown!r} {self.reason}"


class SnapshotMismatch(WinkError, ValueError):
    """A snapshot was given to a filesystem that did not take it, or that cannot come back to it any more.

    `reason` completes the sentence "snapshot 5 …".
    """

    says = "snapshot {snapshot_id} {reason}"

    def __init__(self, snapshot_id: str, reason: str = "was taken by another filesystem; restore it there") -> None:
        self.snapshot_id, self.reason = snapshot_id, reason
        super().__init__(snapshot_id, reason)
