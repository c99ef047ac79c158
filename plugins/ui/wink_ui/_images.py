"""Give the sides of a changed image to an `<img>`: by what the first bytes say it is, never as a page of its own."""

from __future__ import annotations

import base64
import os
from typing import Final

from starlette.responses import Response

from wink.filesystem import FileChange, FileVersion

LARGEST: Final = 256 << 10
"""So many bytes has an image at most that a page contains."""
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
    kind = None if content is None else _kind(content) or _svg(change.path, content)
    if content is None or kind is None:
        return None
    headers = {
        "content-disposition": "attachment",
        "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    }
    return Response(content, media_type=kind, headers=headers)


def images_at(change: FileChange, place: str) -> list[tuple[str, int, str]]:
    """The sides of a change that there is an image of, each with its bytes and its address."""
    return [(side, version.size, f"{place}&side={side}") for side, version in _sides(change)] if place else []


class Embedded:
    """Images for a page that is a file, as data in their addresses: of raster types, as many as fit.

    SVG images stand there as the text that they are: as data, a person could open one as a page that runs its scripts.
    """

    def __init__(self, most: int) -> None:
        self._room = most
        self.left_out = 0

    def images_in(self, change: FileChange, place: str) -> list[tuple[str, int, str]]:
        """As `images_at`; one that is left out has no address. Where a secret was masked in it, it is no image any more."""
        del place  # there is none
        found: list[tuple[str, int, str]] = []
        for side, version in _sides(change):
            content = version.content(LARGEST)
            kind = None if content is None or len(content) != version.size else _kind(content)
            if content is not None and kind is None:
                continue
            if content is None or len(content) > self._room:
                self.left_out += 1
                found.append((side, version.size, ""))
                continue
            self._room -= len(content)
            found.append((side, version.size, f"data:{kind};base64,{base64.b64encode(content).decode()}"))
        return found


def _sides(change: FileChange) -> list[tuple[str, FileVersion]]:
    if not is_image(change.path):
        return []
    sides: tuple[tuple[str, FileVersion | None], ...] = ("before", change.before), ("after", change.after)
    return [(name, version) for name, version in sides if version is not None and version.kind == "file"]


def _kind(content: bytes) -> str | None:
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _STARTS if content.startswith(start)), None)


def _svg(path: str, content: bytes) -> str | None:
    return "image/svg+xml" if path.lower().endswith(".svg") and b"<svg" in content[:4096] else None
