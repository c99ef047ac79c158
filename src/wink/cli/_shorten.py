"""Make texts fit on a screen: arguments, replies and diffs in brief, and nothing that a terminal would obey."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from wink.filesystem.diffs import FileDiff

ELLIPSIS: Final = "…"
# What moves a cursor, colours a screen or turns the direction of text: all controls but tab and newline, and bidi marks.
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_PLAIN_WORD: Final = re.compile(r"[\w./:@+-]+")
_VALUE_WIDTHS: Final = (1000, *range(160, 60, -20), *range(60, 3, -2))
_SEEN: Final = 4 * _VALUE_WIDTHS[0]
"""Of a longer text only so many characters are looked at: the others are never shown."""
_WORD_WIDTH: Final = 40
"""Up to this length words, such as paths, are shortened only where nothing else helps."""


def visible(text: str) -> str:
    r"""The text with its control characters written out, so that a file's content cannot play with a terminal.

    >>> visible("\x1b[2Jgone\tnot")
    '\\x1b[2Jgone\tnot'
    """
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    r"""`visible`, on one line: a name with a newline in it could pass for another line of a list.

    >>> print(one_line("a\n  - b"))
    a\n  - b
    """
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def diff_lines(diff: str) -> list[str]:
    """The lines of a diff, which end where its own do: other separators are a file's content, and would pass for lines of it."""
    return diff.removesuffix("\n").split("\n") if diff else []


def fit(text: str, width: int) -> str:
    """The text on one line of at most `width` characters.

    >>> fit("a long story", 7)
    'a long…'
    """
    line = visible(text.replace("\n", " ").expandtabs(4)).rstrip()
    return line if len(line) <= width else line[: max(width - 1, 0)].rstrip() + ELLIPSIS


def arguments(params: object, width: int) -> str:
    """Arguments as a person would write them, each shortened until all fit; those left at their defaults are left out.

    What is no object of JSON, as a model may send it, stays text.
    """
    if isinstance(params, str | int | float | list):
        return fit(str(cast("object", params)), width)
    given = [(name, _Shown(value)) for name, value in _given(params)]
    text = ""
    for value_width in _VALUE_WIDTHS if given else ():
        if text and value_width > width:
            continue
        text = " ".join(f"{name}={shown.within(value_width)}" for name, shown in given)
        if len(text) <= width:
            break
    return fit(text, width)


def changed_lines(diff: FileDiff) -> tuple[str, ...]:
    """Of what became of one file only the lines that changed, each with its number; a sentence for what has none."""
    from wink.filesystem.diffs import signed_lines

    found = [diff.summary] if diff.summary else []
    for hunk in diff.hunks:
        old, new = hunk.old, hunk.new
        for sign, line in signed_lines(hunk, *diff.lines):
            old, new = old + (sign != b"+"), new + (sign != b"-")
            if sign != b" ":
                text = line.decode("utf-8", "backslashreplace")
                found.append(f"{old if sign == b'-' else new:>4} {sign.decode()} {text}".rstrip())
    return tuple(found)


def counts(diff: FileDiff) -> str:
    """How many lines are added and removed: `+2 -1`."""
    numbers = (("+", diff.added), ("-", diff.removed))
    return " ".join(f"{sign}{number}" for sign, number in numbers if number)


def _given(params: object) -> Iterable[tuple[str, object]]:
    if isinstance(params, Mapping):
        yield from ((str(name), value) for name, value in cast("Mapping[Any, Any]", params).items())
    elif is_dataclass(params) and not isinstance(params, type):
        for part in fields(params):
            value = getattr(params, part.name)
            default = part.default if part.default_factory is MISSING else part.default_factory()
            if type(value) is not type(default) or value != default:
                yield part.name, value


class _Shown:
    """One value, written out once for all the widths that are tried: it may be a whole file."""

    __slots__ = ("_packed", "_text")

    def __init__(self, value: object) -> None:
        # Of a text in one line, to have where there is no room for how it is laid out.
        self._packed: str | None = None
        if isinstance(value, str):
            value = value[:_SEEN]
            self._text = value if _PLAIN_WORD.fullmatch(value) else json.dumps(value, ensure_ascii=False)
            if len(self._text) > _VALUE_WIDTHS[-1]:
                self._packed = json.dumps(" ".join(value.split()), ensure_ascii=False)
        else:
            self._text = json.dumps(value, ensure_ascii=False, default=_plain)

    def within(self, width: int) -> str:
        """The value in so many characters; a plain word may have a few more."""
        text = self._text
        if len(text) <= (width if text[:1] in ('"', "[", "{") else max(width, _WORD_WIDTH)):
            return visible(text)
        if self._packed is not None:
            text = self._packed
            if len(text) <= width:
                return visible(text)
        closing = {'"': '"', "[": "]", "{": "}"}.get(text[0], "")
        return visible(text[: width - 1 - len(closing)].rstrip("\\").rstrip()) + ELLIPSIS + closing


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: getattr(value, part.name) for part in fields(value)}
    if isinstance(value, (set, frozenset)):
        return list(cast("Iterable[object]", value))
    return str(value)
