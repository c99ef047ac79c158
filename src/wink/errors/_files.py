"""Errors of the file layer."""

from __future__ import annotations

import errno
import os

from wink.errors._core import WinkError

__all__ = [
    "EditFailed",
    "FileConflict",
    "FileTooLarge",
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

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(errno.EPERM, reason, path)
        self.path, self.reason = path, reason

    def __reduce__(self) -> tuple[type[PathRefused], tuple[str, str]]:
        return type(self), (self.path, self.reason)

    def __str__(self) -> str:
        return f"{self.path!r} {self.reason}"


class ReadOnlyFilesystem(WinkError, PermissionError):
    """A change was asked of a filesystem, or of a call's handle, that only reads; `reason` says why it does."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(errno.EROFS, reason, path)
        self.path, self.reason = path, reason

    def __reduce__(self) -> tuple[type[ReadOnlyFilesystem], tuple[str, str]]:
        return type(self), (self.path, self.reason)

    def __str__(self) -> str:
        return f"{self.path!r} cannot be changed: {self.reason}"


class FileConflict(WinkError, OSError):
    """Somebody else saved a file in the moment in which it was to be changed; their version stands, ours was dropped."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EBUSY, os.strerror(errno.EBUSY), path)
        self.path = path

    def __reduce__(self) -> tuple[type[FileConflict], tuple[str]]:
        return type(self), (self.path,)

    def __str__(self) -> str:
        return f"{self.path!r} was saved by somebody else while it was being changed; read it again"


class NotText(WinkError, ValueError):
    """A file was read as text and is not text in that encoding; `size` is in bytes."""

    def __init__(self, path: str, size: int, encoding: str, reason: str) -> None:
        self.path, self.size, self.encoding, self.reason = path, size, encoding, reason
        super().__init__(path, size, encoding, reason)

    def __str__(self) -> str:
        return (
            f"{self.path!r} is not {self.encoding} text, it {self.reason} ({self.size} bytes); "
            f"use read_bytes, or name its encoding"
        )


class FileTooLarge(WinkError, OSError):
    """A file, or the part that was asked for, is too large to be held in memory; sizes are in bytes."""

    def __init__(self, path: str, size: int, limit: int, remedy: str) -> None:
        super().__init__(errno.EFBIG, os.strerror(errno.EFBIG), path)
        self.path, self.size, self.limit, self.remedy = path, size, limit, remedy

    def __reduce__(self) -> tuple[type[FileTooLarge], tuple[str, int, int, str]]:
        return type(self), (self.path, self.size, self.limit, self.remedy)

    def __str__(self) -> str:
        return f"{self.path!r} has {self.size} bytes, more than the {self.limit} that are read at once; {self.remedy}"


class EditFailed(WinkError, ValueError):
    """The text to replace is not in the file, is there several times, or the edit would change nothing.

    `lines` are the 1-based numbers of the lines where the text was found, or where something like it is.
    """

    def __init__(self, path: str, reason: str, lines: tuple[int, ...] = ()) -> None:
        self.path, self.reason, self.lines = path, reason, lines
        super().__init__(path, reason, lines)

    def __str__(self) -> str:
        return f"cannot edit {self.path!r}: {self.reason}"


class PatternError(WinkError, ValueError):
    """A glob pattern or regular expression cannot be used; `reason` says what in it is not supported."""

    def __init__(self, pattern: str, reason: str) -> None:
        self.pattern, self.reason = pattern, reason
        super().__init__(pattern, reason)

    def __str__(self) -> str:
        shown = self.pattern if len(self.pattern) <= 80 else f"{self.pattern[:77]}..."
        return f"the pattern {shown!r} {self.reason}"


class SnapshotMismatch(WinkError, ValueError):
    """A snapshot was given to a filesystem that did not take it."""

    def __init__(self, snapshot_id: str) -> None:
        self.snapshot_id = snapshot_id
        super().__init__(snapshot_id)

    def __str__(self) -> str:
        return f"snapshot {self.snapshot_id} was taken by another filesystem; restore it there"
