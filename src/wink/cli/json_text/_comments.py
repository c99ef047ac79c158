"""Read JSON with comments, and with commas before what closes, as editors' settings have it."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

# What has no end goes to the text's end in one step: looking for ends from each beginning would take the square of its length.
_TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.?)*+(?:"|\Z)|//[^\r\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_LOOSE: Final = re.compile(r'"(?:[^"\\]++|\\.?)*+(?:"|\Z)|,(?=[ \t\r\n]*[}\]])', re.DOTALL)


class Plain(NamedTuple):
    """A text with blanks for its comments and for the commas before a closing bracket, and where those commas stood."""

    text: str
    commas: frozenset[int]


def plain(text: str) -> Plain:
    r"""The same without what JSON does not know, each letter in its place; it need not be JSON then.

    >>> plain('{"a": "//", // one\n "b": [2,], /* last */ }')
    Plain(text='{"a": "//",       \n "b": [2 ]             }', commas=frozenset({27, 29}))
    """
    bare = _TOKEN.sub(lambda found: _blank(found[0]), text)
    commas = frozenset(found.start() for found in _LOOSE.finditer(bare) if found[0] == ",")
    return Plain("".join(" " if at in commas else one for at, one in enumerate(bare)) if commas else bare, commas)


def _blank(token: str) -> str:
    """As many blanks in one line as a comment has letters; what is none, or does not end, as it is."""
    is_comment = token.startswith("//") or (token.startswith("/*") and token.endswith("*/") and len(token) > 3)
    return " " * len(token) if is_comment else token
