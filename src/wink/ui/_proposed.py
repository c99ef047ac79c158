"""Show what a call that has not run yet would do to a file, where its arguments say so much."""

from __future__ import annotations

import json
from typing import Any

from wink.errors import WinkError
from wink.filesystem import DIFFABLE_BYTES, FileChange, Filesystem, FileVersion
from wink.record import Masking
from wink.ui._diffs import FileDiff, file_diff


def proposed(arguments: str, files: Filesystem, masking: Masking) -> FileDiff | None:
    """The diff that writing or editing a file would make, without secrets, or None where that cannot be told."""
    values: dict[str, Any] = json.loads(arguments)
    path, content = values.get("file_path", values.get("path")), values.get("content")
    old, new = values.get("old_string"), values.get("new_string")
    if not isinstance(path, str):
        return None
    before = _text(files, path)
    if isinstance(content, str):
        after = content
    elif isinstance(old, str) and isinstance(new, str) and before is not None and old and old in before:
        after = before.replace(old, new, -1 if values.get("replace_all") else 1)
    else:
        return None
    if max(len(after), len(before or "")) > DIFFABLE_BYTES:
        return None
    found = None if before is None else _version(before, masking)
    return file_diff(FileChange(path, found, _version(after, masking)))


def _text(files: Filesystem, path: str) -> str | None:
    try:
        if files.stat(path).size_bytes > DIFFABLE_BYTES:
            return "x" * (DIFFABLE_BYTES + 1)
        return files.read(path).content
    except (OSError, WinkError):
        return None


def _version(text: str, masking: Masking) -> FileVersion:
    data = masking.content(text.encode("utf-8", "backslashreplace"))
    return FileVersion("file", len(data), 0o644, load=lambda: data)
