"""Write a path so that it can be shown: programs may give a file any name that has no slash and no zero byte in it."""

from __future__ import annotations

import re
from typing import Final

# Text, not compiled: importing should cost nothing.
_QUOTED: Final = '["\\\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]'
_SURROGATE: Final = "[\ud800-\udfff]"
_LETTERS: Final = {
    "\a": "\\a", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\v": "\\v", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\",
}  # fmt: skip


def quoted_path(path: str) -> str:
    r"""A path as git writes it: in double quotes and C's escapes where it has controls, quotes or backslashes in it.

    So it is with bytes that are no UTF-8, which stand in a path as lone surrogates (`os.fsdecode`) and are written as `\377`
    here; other letters than ASCII stay as they are, as under git's `core.quotePath=false`.

    >>> quoted_path("src/a b.py"), quoted_path("a\n--- b"), quoted_path("\udcff"), quoted_path("fran\u00e7ais")
    ('src/a b.py', '"a\\n--- b"', '"\\377"', 'français')
    """
    if not re.search(_QUOTED, path):
        return path
    return f'"{re.sub(_QUOTED, _escaped, path)}"'


def path_in_json(path: str) -> str:
    r"""A path for JSON, which can hold any text, but no bytes: only one with such bytes in it is quoted, or one that looks so.

    >>> path_in_json("a\nb"), path_in_json("\udcffb"), path_in_json('"q"')
    ('a\nb', '"\\377b"', '"\\"q\\""')
    """
    return quoted_path(path) if path.startswith('"') or re.search(_SURROGATE, path) else path


def _escaped(found: re.Match[str]) -> str:
    letter = found[0]
    if letter in _LETTERS:
        return _LETTERS[letter]
    is_byte = "\udc80" <= letter <= "\udcff"  # what `os.fsdecode` makes of one that is no UTF-8
    return "".join(
        f"\\{byte:03o}" for byte in letter.encode("utf-8", "surrogateescape" if is_byte else "surrogatepass")
    )
