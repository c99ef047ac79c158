"""Make text from anywhere safe to show: as text, with what cannot be seen written out."""

from __future__ import annotations

import re
from typing import Final

from markupsafe import Markup, escape

# Controls but tab and newline; what has no width, fills without ink or turns the direction of text; tags; halves of
# surrogate pairs, which no encoding takes.
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff"
    "\U0001d173-\U0001d17a\U000e0000-\U000e01ef]"
)
_BREAKS: Final = re.compile(r"[\t\n]")
_UNSEEN_OR_BREAK: Final = re.compile(f"{_UNSEEN.pattern[:-1]}\t\n]")


def visible(text: str) -> str:
    r"""The text with characters written out that nobody would see, or that would move others.

    >>> print(visible("a\u202eb\x1b[0m"))
    a\u202eb\x1b[0m
    """
    return _UNSEEN.sub(_escape_of, text)


def one_line(text: str) -> str:
    r"""`visible`, on one line.

    >>> print(one_line("a\nb"))
    a\nb
    """
    return _BREAKS.sub(_escape_of, visible(text))


def shown(text: str) -> Markup:
    r"""The text as HTML that is only text, in which what was written out is marked.

    >>> print(shown("<b>\u202e"))
    &lt;b&gt;<span class="ctl">\u202e</span>
    """
    return _marked(text, _UNSEEN)


def shown_line(text: str) -> Markup:
    """`shown`, on one line."""
    return _marked(text, _UNSEEN_OR_BREAK)


def is_plain(text: str) -> bool:
    """Whether the text can be edited as it is shown: nothing in it is written out."""
    return _UNSEEN.search(text) is None and "\r" not in text


def _marked(text: str, pattern: re.Pattern[str]) -> Markup:
    if not pattern.search(text):
        return escape(text)
    parts: list[str] = []
    at = 0
    for found in pattern.finditer(text):
        parts += (escape(text[at : found.start()]), f'<span class="ctl">{_escape(found[0])}</span>')
        at = found.end()
    return Markup("".join((*parts, escape(text[at:]))))  # noqa: S704  each part is escaped


def _escape_of(found: re.Match[str]) -> str:
    return _escape(found[0])


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()
