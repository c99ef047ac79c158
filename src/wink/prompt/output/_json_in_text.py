"""Find the JSON in what a model wrote: alone, in a fenced block, or with prose around it."""

import json
import re
from collections.abc import Iterator
from typing import Final

from wink.dataclass import dataclass

__all__ = ["Broken", "Found", "is_json", "json_in"]

_FENCE: Final = re.compile(r"^ {0,3}(`{3,}+|~{3,}+)[^\n]*\n(.*?)^ {0,3}\1[`~]*+[ \t]*$", re.DOTALL | re.MULTILINE)

# A brace of prose is seldom followed by a key and a colon, nor a bracket by an object.
_OBJECT: Final = r'\{\s*+(?:\}|"(?:[^"\\]|\\.)*+"\s*+:)'
_BEGINNING: Final = re.compile(rf"{_OBJECT}|\[\s*+(?:\]|{_OBJECT})", re.DOTALL)
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|["{}\[\]]', re.DOTALL)
_decode: Final = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class Found:
    """A piece of the text that is a JSON object or array; `alone` when it was set apart from all prose."""

    text: str
    alone: bool


@dataclass(frozen=True, slots=True)
class Broken:
    """A piece of the text that begins as a JSON object or array does, and is none; `problem` says why."""

    problem: str


def json_in(text: str) -> Iterator[Found | Broken]:
    """Objects and arrays in `text`, the likeliest first: the whole text, fenced blocks, then whatever stands in it.

    What lies inside of another one is not found by itself, even if that is broken: the part of an answer is no answer.
    Linear in the length of the text.

    >>> [found.text for found in json_in('Sure! {curly} [1] {"a": "}"} and {"b": 2}.')]
    ['{"a": "}"}', '{"b": 2}']
    >>> list(json_in('{"a": {"b": 1}'))
    [Broken(problem='it breaks off')]
    """
    whole = text.strip().removeprefix("\ufeff")
    if is_json(whole):
        yield Found(whole, alone=True)
        return
    fenced = [match for match in _FENCE.finditer(text) if is_json(match[2].strip())]
    for match in fenced:
        yield Found(match[2].strip(), alone=True)
    known = {match[2].strip() for match in fenced}
    for found in _scattered(text):
        if isinstance(found, Broken) or found.text not in known:
            yield found


def is_json(text: str) -> bool:
    """Whether all of `text` is one JSON object or array."""
    if text[:1] not in ("{", "["):
        return False
    try:
        return _decode(text)[1] == len(text)
    except (ValueError, RecursionError):
        return False


def _scattered(text: str) -> Iterator[Found | Broken]:
    position = 0
    while (beginning := _BEGINNING.search(text, position)) is not None:
        start = beginning.start()
        try:
            _, position = _decode(text, start)
        except (ValueError, RecursionError) as error:
            end = _closing(text, start)
            yield Broken(_why(error, text, start, end))
            if end is None:
                return
            position = end
        else:
            yield Found(text[start:position], alone=False)


def _closing(text: str, start: int) -> int | None:
    """Where the bracket at `start` is closed again; brackets in strings do not count. `None` when it never is."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        match token[0]:
            case "{" | "[":
                depth += 1
            case "}" | "]":
                depth -= 1
                if depth == 0:
                    return token.end()
            case '"':
                return None  # a string that is not closed reaches to the end
            case _:
                pass
    return None


def _why(error: Exception, text: str, start: int, end: int | None) -> str:
    if end is None:
        return "it breaks off"
    if not isinstance(error, json.JSONDecodeError):
        return "it is nested too deeply"
    near = text[max(start, error.pos - 20) : min(end, error.pos + 20)].replace("\n", " ")
    return f"{error.msg} near {near!r}"
