"""Write contents that are no text: as git's binary patches, and for people by their kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_LINE: Final = 65
"""So many characters of base 85 stand in a line: 52 bytes."""
_CONTROLS: Final = bytes(set(range(32)) - set(b"\b\t\n\f\r\x1b"))
_KINDS: Final = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\0", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"\x7fELF", "an ELF program"),
    (b"MZ", "a Windows program"),
    (b"\0asm", "a WebAssembly module"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
    (b"wOF2", "a WOFF2 font"),
)


def is_binary(content: bytes) -> bool:
    """Whether this is no text: it has a zero byte in it, as git decides it, or control characters where it is no UTF-8."""
    if b"\0" in content:
        return True
    try:
        content.decode()
    except UnicodeDecodeError:
        return len(content.translate(None, _CONTROLS)) < len(content)
    return False


def kind_of(content: bytes) -> str:
    """What a content is for people, by how it begins; "" where that does not tell.

    >>> kind_of(b"%PDF-1.7"), kind_of(b"RIFF....WEBPVP8"), kind_of(b"plain")
    ('a PDF', 'a WebP image', '')
    """
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "a WebP image"
    return next((kind for begin, kind in _KINDS if content.startswith(begin)), "")


def binary_patch(old: bytes, new: bytes) -> Iterator[bytes]:
    """The lines by which `git apply` makes one content of the other, in both directions."""
    yield b"GIT binary patch\n"
    yield from _literal(new)
    yield from _literal(old)


def object_id(content: bytes | None) -> str:
    """The name that git has for a content, as those of its repositories that are not made for SHA-256; zeros for none."""
    if content is None:
        return "0" * 40
    from hashlib import sha1

    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _literal(content: bytes) -> Iterator[bytes]:
    from base64 import b85encode
    from zlib import compress

    yield b"literal %d\n" % len(content)
    packed = compress(content)
    text = b85encode(packed, pad=True)
    for at in range(0, len(text), _LINE):
        size = min(52, len(packed) - at // _LINE * 52)
        yield bytes((size + (64 if size <= 26 else 70),)) + text[at : at + _LINE] + b"\n"
    yield b"\n"
