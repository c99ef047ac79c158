"""Judge JSON text where parsers are lenient: repeated keys, NaN, lone surrogates, depth."""

import json
import re
from typing import Any, Final, cast

from wink.errors import Problem

MAX_DEPTH: Final = 150  # what the parser reads for certain; it refuses about 200
_LONE = re.compile("[\ud800-\udfff]")


class _Repeated(Exception):
    pass


class _NotFinite(Exception):
    pass


def _check_pairs(pairs: list[tuple[str, object]]) -> None:
    if len(dict(pairs)) != len(pairs):
        raise _Repeated


def _refuse_constant(name: str) -> None:
    raise _NotFinite(name)


# Without the search for white space around it, which takes as long as reading.
_check = json.JSONDecoder(object_pairs_hook=_check_pairs, parse_constant=_refuse_constant).raw_decode


def text_problems(text: str) -> list[Problem]:
    """What is wrong with valid JSON `text` all the same: keys given twice, and NaN or Infinity.

    >>> [str(problem) for problem in text_problems('{"a": {"b": 1, "b": 2}}')]
    ["$.a: has the key 'b' twice; give it once"]
    """
    try:
        _check(text.lstrip())
    except _Repeated:
        found: list[Problem] = []
        _walk(json.loads(text, object_pairs_hook=_Pairs), "$", found)
        return found
    except _NotFinite as error:
        return [Problem("$", f"{error} is not JSON; use null or a finite number")]
    return []


def step(path: str, key: object) -> str:
    """`path` one step further.

    >>> step(step("$.steps", 0), "a b")
    '$.steps[0]["a b"]'
    """
    if isinstance(key, int):
        return f"{path}[{key}]"
    text = str(key)
    return f"{path}.{text}" if text.isidentifier() else f"{path}[{json.dumps(text)}]"


class _Pairs(list[tuple[str, Any]]):
    """An object with its keys as they came."""


def _walk(value: object, path: str, found: list[Problem]) -> None:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, _ in value:
            if key in seen:
                found.append(Problem(path, f"has the key {key!r} twice; give it once"))
            seen.add(key)
        for key, item in value:
            _walk(item, step(path, key), found)
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            _walk(item, step(path, index), found)


def has_lone_surrogate(text: str) -> bool:
    """Whether `text` holds half of a surrogate pair, which UTF-8 cannot write."""
    return _LONE.search(text) is not None


def too_deep(text: str) -> bool:
    """Whether JSON `text` is nested more deeply than `parse` reads."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    depth = deepest = 0
    for mark in re.findall(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', text):
        if mark in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif mark in "]}":
            depth -= 1
    return deepest > MAX_DEPTH
