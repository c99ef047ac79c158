"""What a tool's result or a section can carry besides text: images, sounds, and the content of something that has a URI."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias, cast

from wink.dataclass import dataclass, field

ImageType = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]

_IMAGES: Final[tuple[tuple[bytes, ImageType], ...]] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_SOUNDS: Final = (
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"\xff\xf3", "audio/mpeg"),
    (b"\xff\xf2", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
)
_MEDIA_TYPE: Final = re.compile(r"[a-z0-9][\w.+-]*/[a-z0-9][\w.+-]*(?:\s*;[\x20-\x7e]*)?", re.ASCII | re.IGNORECASE)
_URI: Final = r"[A-Za-z][A-Za-z0-9+.-]*:[!-~\u00a1-\U0010ffff]+"  # 3 ms to compile


@dataclass(frozen=True, slots=True)
class Image:
    """An image in one of the formats that every provider takes: PNG, JPEG, GIF or WebP.

    The media type is read from the data. Raises `ValueError` for anything else: a provider refuses a whole request for
    one image that is none.

    >>> Image(b"GIF89a" + bytes(20)).media_type
    'image/gif'
    """

    data: bytes = field(repr=False)
    media_type: ImageType = field(init=False)

    def __post_init__(self) -> None:
        _refuse_all_but_bytes(self.data, "an image")
        object.__setattr__(self, "media_type", _image_type(self.data))

    @property
    def described(self) -> str:
        """What it is, in a few words."""
        return f"image, {self.media_type}, {_size(self.data)}"

    @property
    def text(self) -> str:
        """Nothing: an image is no text."""
        return ""


@dataclass(frozen=True, slots=True)
class Audio:
    """A sound. The media type of WAV, MP3, Ogg and FLAC is read from the data, that of others has to be said.

    >>> Audio(b"RIFF" + bytes(4) + b"WAVE").media_type, Audio(bytes(8), "audio/basic").media_type
    ('audio/wav', 'audio/basic')
    """

    data: bytes = field(repr=False)
    media_type: str = ""

    def __post_init__(self) -> None:
        _refuse_all_but_bytes(self.data, "a sound")
        media_type = _sound_type(self.data) or self.media_type
        if not _MEDIA_TYPE.fullmatch(media_type) or not media_type.lower().startswith("audio/"):
            raise ValueError(f"{media_type!r} is no media type of a sound; say which it is, as in 'audio/aac'")
        object.__setattr__(self, "media_type", media_type)

    @property
    def described(self) -> str:
        """What it is, in a few words."""
        return f"audio, {self.media_type}, {_size(self.data)}"

    @property
    def text(self) -> str:
        """Nothing: a sound is no text."""
        return ""


@dataclass(frozen=True, slots=True)
class EmbeddedResource:
    """The content of what `uri` names, as text or bytes. The URI says where it is from; nobody has to be able to open it.

    >>> EmbeddedResource("log://build/7", "ok", "text/plain").described
    'resource log://build/7, text/plain'
    """

    uri: str
    content: str | bytes = field(repr=False)
    media_type: str = ""
    """Such as `text/markdown`; empty when it is not known."""

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.uri), str) or not re.fullmatch(_URI, self.uri):
            raise ValueError(f"{self.uri!r} is no URI; it begins with a scheme, as in 'file:///notes.md'")
        if not isinstance(cast("object", self.content), str | bytes):
            raise ValueError(f"the content of a resource is text or bytes, not a {type(self.content).__name__}")
        if self.media_type and not _MEDIA_TYPE.fullmatch(self.media_type):
            raise ValueError(f"{self.media_type!r} is no media type; they look like 'text/markdown'")

    @property
    def described(self) -> str:
        """What it is, in a few words."""
        more = (self.media_type, _size(self.content) if isinstance(self.content, bytes) else "")
        return ", ".join(part for part in (f"resource {self.uri}", *more) if part)

    @property
    def text(self) -> str:
        """What a model reads of it; nothing if the content is no text."""
        return f"[{self.described}]\n{self.content}" if isinstance(self.content, str) else ""

    @property
    def image(self) -> Image | None:
        """The content as an image, if it is one that models are shown."""
        try:
            return Image(self.content) if isinstance(self.content, bytes) else None
        except ValueError:
            return None


Attachment: TypeAlias = Image | Audio | EmbeddedResource
"""What can be attached to a tool's result, or to a section."""


def _size(data: bytes) -> str:
    length = len(data)
    return f"{length} bytes" if length < 10_000 else f"{length // 1000} kB"


def _refuse_all_but_bytes(data: object, what: str) -> None:
    if not isinstance(data, bytes):
        raise ValueError(f"{what} is made of bytes, not of a {type(data).__name__}")


def _image_type(data: bytes) -> ImageType:
    for beginning, media_type in _IMAGES:
        if data.startswith(beginning):
            return media_type
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    raise ValueError("these bytes are no PNG, JPEG, GIF or WebP image")


def _sound_type(data: bytes) -> str:
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        return "audio/wav"
    return next((media_type for beginning, media_type in _SOUNDS if data.startswith(beginning)), "")
