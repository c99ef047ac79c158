"""Say what a call that waits for a person would do to a file, by the arguments that tools for files have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from io import BytesIO
from typing import Any

from wink.errors import WinkError
from wink.filesystem import COMPARED_BYTES, FileChange, Filesystem, FileVersion, file_version


def proposed_change(
    arguments: Mapping[str, Any], files: Filesystem, *, mask: Callable[[bytes], bytes] = bytes
) -> FileChange | None:
    """What a call that writes or edits a file would do, as far as its arguments say; None where that cannot be told.

    `mask` takes secrets out of the file's content before and after. Files above `COMPARED_BYTES` are told by sizes and
    digests, where the whole content is given; an edit of one is not.
    """
    path, content = arguments.get("file_path", arguments.get("path")), arguments.get("content")
    old, new = arguments.get("old_string"), arguments.get("new_string")
    if not isinstance(path, str):
        return None
    before = _there(files, path)
    text = None if before is None else before.content()
    if isinstance(content, str):
        after = content.encode("utf-8", "backslashreplace")
    elif isinstance(old, str) and isinstance(new, str) and old and text is not None:
        sought, put = (one.encode("utf-8", "surrogatepass") for one in (old, new))
        if sought not in text:
            return None
        after = text.replace(sought, put, -1 if arguments.get("replace_all") else 1)
    else:
        return None
    return FileChange(path, before if text is None else _file(mask(text)), _file(mask(after)))


def _there(files: Filesystem, path: str) -> FileVersion | None:
    try:
        size = files.stat(path).size_bytes
        if size > COMPARED_BYTES:
            return file_version(size, 0o644, lambda: files.open_read(path))
        return _file(files.read_bytes(path))
    except (OSError, WinkError):
        return None


def _file(content: bytes) -> FileVersion:
    return file_version(len(content), 0o644, partial(BytesIO, content))
