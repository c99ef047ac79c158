"""Give one side of a changed image to an `<img>`: by what its first bytes say it is, never as a page of its own."""

from __future__ import annotations

import os
from typing import Final

from starlette.responses import Response

from wink.filesystem import FileChange, FileVersion

_STARTS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_SUFFIXES: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg")


def is_image(path: str) -> bool:
    """Whether a file is worth a look as an image, by its name."""
    return os.path.splitext(path.lower())[1] in _SUFFIXES


def image_of(change: FileChange, side: str) -> Response | None:
    """The image before or after a change; None where it is none, too large, or not kept any more.

    A browser that is led to it keeps it as a file: an SVG image could run scripts as a page, and runs none in an `<img>`.
    """
    version = change.before if side == "before" else change.after
    content = None if version is None or version.kind != "file" else version.content()
    kind = None if content is None else _kind(change.path, content)
    if content is None or kind is None:
        return None
    headers = {
        "content-disposition": "attachment",
        "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    }
    return Response(content, media_type=kind, headers=headers)


def sides_of(change: FileChange) -> list[str]:
    """The sides of a change that there is an image of."""
    if not is_image(change.path):
        return []
    sides: tuple[tuple[str, FileVersion | None], ...] = ("before", change.before), ("after", change.after)
    return [name for name, version in sides if version is not None and version.kind == "file"]


def _kind(path: str, content: bytes) -> str | None:
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return "image/webp"
    if path.lower().endswith(".svg") and b"<svg" in content[:4096]:
        return "image/svg+xml"
    return next((kind for start, kind in _STARTS if content.startswith(start)), None)
