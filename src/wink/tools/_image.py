"""Images that a tool gives to a model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, cast

MediaType = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]

_BEGINNINGS: Final[tuple[tuple[bytes, MediaType], ...]] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


@dataclass(frozen=True, slots=True)
class Image:
    """An image in one of the formats that every provider takes: PNG, JPEG, GIF or WebP.

    The media type is read from the data. Raises `ValueError` for anything else: a provider refuses a whole request for
    one image that is none.

    >>> Image(b"GIF89a" + bytes(20)).media_type
    'image/gif'
    """

    data: bytes = field(repr=False)
    media_type: MediaType = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.data), bytes):
            raise ValueError(f"an image is made of bytes, not of a {type(self.data).__name__}")
        object.__setattr__(self, "media_type", _media_type(self.data))


def _media_type(data: bytes) -> MediaType:
    for beginning, media_type in _BEGINNINGS:
        if data.startswith(beginning):
            return media_type
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    raise ValueError("these bytes are no PNG, JPEG, GIF or WebP image")
