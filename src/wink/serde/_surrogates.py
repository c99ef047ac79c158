"""Carry lone surrogates, which UTF-8 cannot write, through a parser that insists on UTF-8.

They turn up in file names that are not UTF-8 (`os.fsdecode`), and in what models write when they are cut off inside an emoji.
Each is replaced by a private-use character that does not occur in the text, and put back in the parsed value.
"""

import dataclasses
import json
from collections import deque
from pathlib import PurePath
from typing import Any, Final, cast

from wink.dataclass import dataclass
from wink.serde._extras import extras, keep_extras
from wink.serde._text import has_lone_surrogate

_SURROGATES: Final = range(0xD800, 0xE000)
_PLANES: Final = tuple(range(0x10F800 - 0x10000, 0xF0000 - 1, -len(_SURROGATES)))


@dataclass(frozen=True, slots=True)
class Masked:
    """JSON text without lone surrogates, and what has to be put back."""

    text: str
    back: dict[int, int]


def mask(text: str | bytes) -> Masked | None:
    """`text` with lone surrogates replaced; `None` when there are none, or it is no JSON anyway."""
    try:
        value = json.loads(text)
        plain = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return None
    if not has_lone_surrogate(plain):
        return None
    used = set(map(ord, plain))
    start = next(start for start in _PLANES if used.isdisjoint(range(start, start + len(_SURROGATES))))
    there = {code: start + index for index, code in enumerate(_SURROGATES)}
    return Masked(plain.translate(there), {masked: code for code, masked in there.items()})


def unmask(value: Any, masked: Masked) -> Any:
    """`value` with its surrogates put back; dataclasses are fixed in place."""
    if isinstance(value, str) and type(value) is str:
        return value.translate(masked.back)
    if isinstance(value, PurePath):
        return type(value)(str(value).translate(masked.back))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            item = getattr(value, field.name, None)
            fixed = unmask(item, masked)
            if fixed is not item:
                object.__setattr__(value, field.name, fixed)
        if found := extras(value):
            keep_extras(value, unmask(dict(found), masked))
        return value
    if isinstance(value, dict):
        pairs = cast("dict[Any, Any]", value).items()
        return {unmask(key, masked): unmask(item, masked) for key, item in pairs}
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        kind: Any = type(cast("object", value))
        items = [unmask(item, masked) for item in cast("list[Any]", value)]
        return kind(*items) if hasattr(kind, "_fields") else kind(items)
    return value
