"""Change single members of a JSON text, and leave every other byte of it as it is.

Reading and writing it anew would be shorter, and would lose what somebody has laid out by hand, keys that stand there twice,
and numbers that Python writes otherwise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

_BLANK: Final = re.compile(r"[ \t\r\n]*")
_REST: Final = re.compile(r"[ \t]*(?=[\r\n])")
_read: Final = json.JSONDecoder().raw_decode


class Part(NamedTuple):
    """A member of an object, or an item of an array with no key: where it, and its value, begin and end in the text."""

    key: str
    value: Any
    start: int
    at: int
    end: int


class Change(NamedTuple):
    """What is to stand in the text from `start` to `end`."""

    start: int
    end: int
    text: str


def top(text: str) -> int:
    """Where the value begins.

    >>> top("  {}")
    2
    """
    return _skip(text, 0)


def parts(text: str, at: int) -> list[Part]:
    """What the object or array that begins there holds; the text is known to be JSON.

    >>> [(one.key, text[one.start : one.end]) for text in ['{"a": [1], "b": 2}'] for one in parts(text, 0)]
    [('a', '"a": [1]'), ('b', '"b": 2')]
    """
    found: list[Part] = []
    place = _skip(text, at + 1)
    while text[place] not in "]}":
        start, key = place, ""
        if text[at] == "{":
            key, place = _read(text, place)
            place = _skip(text, _skip(text, place) + 1)
        value, end = _read(text, place)
        found.append(Part(key, value, start, place, end))
        place = _skip(text, end)
        if text[place] == ",":
            place = _skip(text, place + 1)
    return found


def without(text: str, at: int, gone: Collection[int]) -> list[Change]:
    """Take parts, by their numbers, out of the object or array that begins there; of one that is empty then, the brackets are left.

    >>> applied("[1, 2,\\n 3]", without("[1, 2,\\n 3]", 0, {0, 2})), applied("[ 1 ]", without("[ 1 ]", 0, {0}))
    ('[2]', '[]')
    """
    found = parts(text, at)
    if len(gone) == len(found):
        return [Change(at + 1, _skip(text, found[-1].end), "")] if found else []
    first = min(set(range(len(found))) - set(gone))
    return [
        Change(found[one].start, found[one + 1].start, "")
        if one < first
        else Change(found[one - 1].end, found[one].end, "")
        for one in sorted(gone)
    ]


def with_items(text: str, at: int, items: Sequence[Any]) -> list[Change]:
    """Put items behind those of the array that begins there."""
    return _with(text, at, [("", item) for item in items])


def with_members(text: str, at: int, members: Mapping[str, Any], commas: Collection[int] = ()) -> list[Change]:
    r"""Put members behind those of the object that begins there, laid out as those are.

    `commas` are those of `Plain`: behind one of them no other is put.

    >>> print(applied('{"a": 1}', with_members('{"a": 1}', 0, {"b": []})))
    {"a": 1, "b": []}
    >>> print(applied('{\n    "a": 1\n}', with_members('{\n    "a": 1\n}', 0, {"b": [2]})))
    {
        "a": 1,
        "b": [
            2
        ]
    }
    """
    return _with(text, at, [(json.dumps(key) + ": ", value) for key, value in members.items()], commas)


def applied(text: str, changes: Iterable[Change]) -> str:
    """The text with changes, none of which touches another."""
    for one in sorted(changes, reverse=True):
        text = text[: one.start] + one.text + text[one.end :]
    return text


def inverse(text: str, changes: Iterable[Change]) -> list[Change]:
    """What leads back from the text with these changes to this one."""
    found: list[Change] = []
    moved = 0
    for one in sorted(changes):
        start = one.start + moved
        found.append(Change(start, start + len(one.text), text[one.start : one.end]))
        moved += len(one.text) - (one.end - one.start)
    return found


def _with(text: str, at: int, new: Sequence[tuple[str, Any]], commas: Collection[int] = ()) -> list[Change]:
    if not new:
        return []
    found = parts(text, at)
    line = "\r\n" if "\r\n" in text else "\n"
    if found:
        indent, end = _indent(text, found[-1].start), found[-1].end
        loose = [one for one in commas if end <= one < _skip(text, end)]
        if indent is None:
            own = ", ".join(f"{key}{json.dumps(value)}" for key, value in new)
            return [Change(loose[0] + 1, loose[0] + 1, f" {own}") if loose else Change(end, end, f", {own}")]
        own = ",".join(f"{line}{indent}{_laid_out(text, key, value, line + indent)}" for key, value in new)
        behind = _line_end(text, end)  # where a comment on what comes before ends, which has become blanks
        if loose:
            return [Change(max(behind, loose[0] + 1), max(behind, loose[0] + 1), own)]
        return [Change(end, end, f",{own}")] if behind == end else [Change(end, end, ","), Change(behind, behind, own)]
    begin = text.rfind("\n", 0, at) + 1
    outer = line + text[begin : _skip(text, begin)]
    inner = outer + _unit(text)
    own = ",".join(inner + _laid_out(text, key, value, inner) for key, value in new)
    close = _skip(text, at + 1)
    kept = text.rfind(line, at + 1, close)  # up to there comments may stand, which have become blanks
    return [Change(close if kept < 0 else kept, close, own + outer)]


def _laid_out(text: str, key: str, value: Any, line: str) -> str:
    return key + json.dumps(value, indent=_unit(text)).replace("\n", line)


def _unit(text: str) -> str:
    """By what the text indents."""
    found = parts(text, top(text))
    return (_indent(text, found[0].start) if found else None) or "  "


def _indent(text: str, at: int) -> str | None:
    """The blanks in front of what begins a line, None where it does not."""
    begin = text.rfind("\n", 0, at) + 1
    before = text[begin:at]
    return before if begin and not before.strip() else None


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _line_end(text: str, at: int) -> int:
    """The end of the line where nothing else stands in it, otherwise the place itself."""
    found = _REST.match(text, at)
    return found.end() if found else at
