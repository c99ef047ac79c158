"""Say what pydantic found in words for whoever wrote the JSON."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from wink.errors import Problem
from wink.serde._shapes import Shape, fields_of, shape_of
from wink.serde._text import step

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails, ValidationError

# What was expected, for values of the wrong JSON type and for text that does not read as the right one.
EXPECTED: Final = {
    "int": "an integer",
    "float": "a number",
    "finite_number": "a finite number",
    "decimal": "a decimal number",
    "string": "a string",
    "bool": "true or false",
    "none_required": "null",
    "list": "an array",
    "tuple": "an array",
    "set": "an array",
    "frozen_set": "an array",
    "deque": "an array",
    "iterable": "an array",
    "dict": "an object",
    "mapping": "an object",
    "ordered_dict": "an object",
    "dataclass": "an object",
    "model": "an object",
    "model_attributes": "an object",
    "bytes": "base64 text",
    "date": "a date such as 2024-01-31",
    "time": "a time such as 09:30:00",
    "datetime": "a date and time such as 2024-01-31T09:30:00+00:00",
    "time_delta": "a duration such as PT1H30M",
    "uuid": "a UUID",
    "url": "a URL",
    "path": "a path",
    "complex": "a complex number",
    "fraction": "a fraction",
    "ip_any_address": "an IP address",
}  # fmt: skip
_SUFFIXES: Final = ("_type", "_parsing", "_from_float", "_exact_type", "_invalid_encoding", "_from_datetime_inexact")
_LIMITS: Final = {
    "greater_than": ("gt", "greater than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}


def problems_in(error: "ValidationError", annotation: Any) -> list[Problem]:
    """Every problem in a validation error of `annotation`, in order."""
    details = [_Detail(detail["loc"], detail) for detail in error.errors(include_url=False)]
    return list(dict.fromkeys(_problems(details, shape_of(annotation), "$")))


class _Detail:
    """One of pydantic's errors, and how much of its location is still to go."""

    __slots__ = ("error", "rest")

    def __init__(self, rest: tuple[int | str, ...], error: "ErrorDetails") -> None:
        self.rest, self.error = rest, error

    def inner(self) -> "_Detail":
        return _Detail(self.rest[1:], self.error)


def _problems(details: Sequence[_Detail], shape: Shape, path: str) -> list[Problem]:
    if shape.kind == "union" and details and all(detail.rest for detail in details):
        return _union_problems(details, shape, path)
    found: list[Problem] = []
    groups: dict[int | str, list[_Detail]] = {}
    for detail in details:
        if not detail.rest:
            groups.setdefault("", []).append(detail)
            continue
        groups.setdefault(detail.rest[0], []).append(detail)
    for key, group in groups.items():
        if not group[0].rest:
            found += [Problem(path, _message(detail.error)) for detail in group]
            continue
        if shape.kind == "mapping" and all(detail.rest[1:2] == ("[key]",) for detail in group):
            key_problems = _problems([_Detail(d.rest[2:], d.error) for d in group], shape_of(shape.args[0]), path)
            found += [Problem(path, f"the key {key!r} {problem.message}") for problem in key_problems]
            continue
        unknown = [detail for detail in group if detail.error["type"] in _UNKNOWN and len(detail.rest) == 1]
        if unknown:
            found.append(Problem(step(path, key), _unknown_field(str(key), shape)))
            continue
        child = child_shape(shape, key)
        found += _problems([detail.inner() for detail in group], child, step(path, key))
    return found


_UNKNOWN: Final = frozenset({"unexpected_keyword_argument", "extra_forbidden"})


def child_shape(shape: Shape, key: int | str) -> Shape:
    """The shape of what lies one step beneath `shape`."""
    match shape.kind:
        case "dataclass":
            for plan, annotation in fields_of(shape):
                if key in (plan.key, plan.name):
                    return shape_of(annotation)
        case "items":
            return shape_of(shape.args[0])
        case "tuple" if isinstance(key, int) and key < len(shape.args):
            return shape_of(shape.args[key])
        case "mapping":
            return shape_of(shape.args[1])
        case _:
            pass
    return Shape("leaf", Any)


def _union_problems(details: Sequence[_Detail], shape: Shape, path: str) -> list[Problem]:
    branches: dict[int, list[_Detail]] = {}
    for detail in details:
        branches.setdefault(int(str(detail.rest[0])[1:]), []).append(detail.inner())
    # A branch that got past the JSON type is the one that was meant; the fewer its errors the likelier.
    meant = [
        (index, branch)
        for index, branch in branches.items()
        if any(detail.rest or _expected(detail.error) is None for detail in branch)
    ]
    if meant:
        index, branch = min(meant, key=lambda entry: (_wrong_tag(entry[1]), len(entry[1])))
        return _problems(branch, shape_of(shape.args[index]), path)
    phrases = dict.fromkeys(_expected(detail.error) or "" for branch in branches.values() for detail in branch)
    shown = describe(next(iter(branches.values()))[0].error["input"])
    return [Problem(path, f"must be {_either(list(phrases))}, not {shown}")]


def _wrong_tag(branch: Sequence[_Detail]) -> bool:
    return any(detail.error["type"] == "literal_error" and len(detail.rest) == 1 for detail in branch)


def _unknown_field(key: str, shape: Shape) -> str:
    if shape.kind != "dataclass":
        return "is not a known field; leave it out"
    plans = [plan for plan, _ in fields_of(shape) if plan.in_init]
    if any(key == plan.name != plan.key for plan in plans):
        return f"is the same field as {next(plan.key for plan in plans if plan.name == key)!r}; give one of them"
    known = [plan.key for plan in plans]
    if not known:
        return "is not a known field; there are none"
    from difflib import get_close_matches

    close = get_close_matches(key, known, n=1)
    if close:
        return f"is not a known field; did you mean {close[0]!r}?"
    return f"is not a known field; the fields are {', '.join(map(repr, known))}"


def _expected(error: "ErrorDetails") -> str | None:
    """What was expected, when the JSON type is wrong or the text does not read as the right one."""
    kind = error["type"]
    if kind in EXPECTED:
        return EXPECTED[kind]
    for suffix in _SUFFIXES:
        if kind.endswith(suffix):
            return EXPECTED.get(kind.removesuffix(suffix))
    return None


def _message(error: "ErrorDetails") -> str:
    kind, context = error["type"], error.get("ctx", {})
    expected = _expected(error)
    if expected is not None:
        return f"must be {expected}, not {describe(error['input'])}"
    if kind in _LIMITS:
        name, words = _LIMITS[kind]
        return f"must be {words} {context[name]}, not {describe(error['input'])}"
    if kind in ("missing", "missing_argument", "missing_keyword_only_argument"):
        return "is required"
    if kind in ("enum", "literal_error"):
        return f"must be {context['expected']}, not {describe(error['input'])}"
    if kind in ("string_too_short", "bytes_too_short"):
        return _too_short(context["min_length"], len(error["input"]), "character")
    if kind in ("string_too_long", "bytes_too_long"):
        return f"must have at most {_count(context['max_length'], 'character')}, not {len(error['input'])}"
    if kind == "too_short":
        return _too_short(context["min_length"], context["actual_length"], "item")
    if kind == "too_long":
        return f"must have at most {_count(context['max_length'], 'item')}, not {context['actual_length'] or 'more'}"
    if kind == "string_pattern_mismatch":
        return f"must match {context['pattern']!r}, not {describe(error['input'])}"
    if kind in ("value_error", "assertion_error"):
        return str(context["error"]) or "is not valid"
    if kind == "json_invalid":
        return not_json(str(context["error"]))
    if kind == "string_unicode":
        return "cannot be read: half of a surrogate pair stands where none may"
    return _adapted(error["msg"])


def not_json(reason: str) -> str:
    """The message for text that is not JSON; `reason` is the parser's, with line and column."""
    if "recursion limit" in reason:
        return f"is nested too deeply ({reason.partition(' at ')[2]})"
    if "number out of range" in reason:
        return f"has a number that is too large ({reason.partition(' at ')[2]})"
    return f"is not valid JSON: {reason}"


def describe(value: object) -> str:
    """A JSON value in a few words; short scalars are quoted as they came."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, (list, tuple, set, frozenset)):
        return "an array"
    if value is None or isinstance(value, (bool, int, float, str)):
        try:
            text = json.dumps(value, ensure_ascii=False)
        except ValueError:  # an integer too long to be written out
            return "a very large number"
        if len(text) <= 40:
            return text
        return "a long string" if isinstance(value, str) else "a very large number"
    return "a value"


def _too_short(least: int, actual: int, noun: str) -> str:
    if least == 1:
        return "must not be empty"
    return f"must have at least {_count(least, noun)}, not {actual}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _either(phrases: list[str]) -> str:
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} or {phrases[-1]}"


def _adapted(message: str) -> str:
    text = re.sub(r"^(Input|Value|String|Number|URL) should ", "must ", message).rstrip(".")
    return text[:1].lower() + text[1:]
