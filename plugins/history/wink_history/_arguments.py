"""Put together what a call has written out of its arguments, where the digest of that is known and proves it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

_MOST: Final = 64
"""So many contents are tried."""
_TEXTS: Final = 6
"""Of so many texts that stand together any two are taken for what was replaced and what by."""


def written_by(values: Any, found: bytes, size: int, is_it: Callable[[bytes], bool]) -> bytes | None:
    """What a call with these arguments made of a content, if one of the usual ways to write gives `size` bytes that are it.

    These are a text as a whole, one at the end, and texts replaced by others, one after the other.
    """
    tried = 0
    for content in _written(values, found):
        if len(content) == size:
            if is_it(content):
                return content
            tried += 1
            if tried == _MOST:
                break
    return None


def _written(values: Any, found: bytes) -> Iterator[bytes]:
    for one in _parts(values):
        texts = _texts(one)
        for text in texts:
            yield text
            yield found + text
        for old, new in _pairs(texts):
            if old in found:
                yield found.replace(old, new, 1)
                yield found.replace(old, new)
        edits = [_texts(edit)[:_TEXTS] for edit in _inner(one)] if isinstance(one, list) else []
        content = found
        for edit in edits:
            old, new = next((pair for pair in _pairs(edit) if pair[0] in content), (b"", b""))
            content = content.replace(old, new, 1) if old else content
        if edits:
            yield content


def _parts(values: Any, depth: int = 4) -> Iterator[Any]:
    """A value, and what it is made of."""
    yield values
    for one in _inner(values) if depth else ():
        if isinstance(one, (Mapping, list)):
            yield from _parts(one, depth - 1)


def _inner(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return list(cast("Mapping[str, Any]", value).values())[:_MOST]
    return cast("list[Any]", value)[:_MOST] if isinstance(value, list) else []


def _texts(value: Any) -> list[bytes]:
    return [text.encode("utf-8", "surrogatepass") for text in _inner(value) if isinstance(text, str)]


def _pairs(texts: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    texts = texts[:_TEXTS]
    return ((old, new) for at, old in enumerate(texts) if old for new in (*texts[at + 1 :], b""))
