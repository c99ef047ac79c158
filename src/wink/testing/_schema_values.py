"""JSON values that a schema allows, as hypothesis draws them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from datetime import UTC, timedelta, timezone
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

Values = SearchStrategy[Any]
_ROUND: Final = 5
"""How many properties that nobody describes, or items that nobody counts, there are at most."""


_ZONES: Final = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45)), timezone(timedelta(hours=-11))])


def json_values() -> Values:
    """Any JSON value, small."""
    plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
    deeper = st.lists(plain, max_size=3) | st.dictionaries(st.text(), plain, max_size=3)
    return plain | deeper | st.lists(deeper, max_size=2)


def values(schema: Mapping[str, Any]) -> Values:
    """Values that `schema` allows, as far as it says so in the words that wink's own schemas use; others are passed over."""
    return _Reader(schema).read(schema)


class _Reader:
    """Reads one schema; what it refers to is read once, when it is first drawn, so that it may refer to itself."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._known: dict[str, Values] = {}

    def read(self, schema: Mapping[str, Any]) -> Values:
        """What a part of the schema allows."""
        if "$ref" in schema:
            return self._referred(str(schema["$ref"]))
        if "const" in schema:
            return st.just(schema["const"])
        if "enum" in schema:
            return st.sampled_from(schema["enum"])
        for word in ("anyOf", "oneOf"):
            if word in schema:
                return st.one_of(*map(self.read, schema[word]))
        kinds: Any = schema.get("type")
        if isinstance(kinds, str):
            kinds = [kinds]
        if not kinds:
            return json_values()
        return st.one_of(*(self._of_type(kind, schema) for kind in kinds))

    def _referred(self, reference: str) -> Values:
        found = self._known.get(reference)
        if found is None:
            part: Any = self._root
            for name in reference.removeprefix("#/").split("/"):
                part = part[name]
            found = self._known[reference] = st.deferred(lambda: self.read(part))
        return found

    def _of_type(self, kind: str, schema: Mapping[str, Any]) -> Values:
        readers: Mapping[str, Callable[[Mapping[str, Any]], Values]] = {
            "array": self._array,
            "boolean": lambda _: st.booleans(),
            "integer": _integer,
            "null": lambda _: st.none(),
            "number": _number,
            "object": self._object,
            "string": _string,
        }
        return readers[kind](schema)

    def _array(self, schema: Mapping[str, Any]) -> Values:
        if "prefixItems" in schema:
            return st.tuples(*map(self.read, schema["prefixItems"])).map(list)
        least = schema.get("minItems", 0)
        items = self.read(schema.get("items", {}))
        unique = json.dumps if schema.get("uniqueItems") else None
        return st.lists(items, min_size=least, max_size=schema.get("maxItems", least + _ROUND), unique_by=unique)

    def _object(self, schema: Mapping[str, Any]) -> Values:
        described = {name: self.read(one) for name, one in schema.get("properties", {}).items()}
        required = set(schema.get("required", ()))
        known = st.fixed_dictionaries(
            {name: one for name, one in described.items() if name in required},
            optional={name: one for name, one in described.items() if name not in required},
        )
        more = schema.get("additionalProperties", not described)
        if more is False or (more is True and described):
            return known
        names = self.read({"type": "string", **schema.get("propertyNames", {})}).map(_text)
        others = st.dictionaries(
            names,
            self.read({} if more is True else more),
            min_size=schema.get("minProperties", 0),
            max_size=schema.get("maxProperties", _ROUND),
        )
        return st.builds(_both, known, others) if described else others


def _both(known: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    return {**others, **known}


def _text(name: object) -> str:
    """A property's name; an enumeration may have other values than texts."""
    return name if isinstance(name, str) else json.dumps(name)


def _integer(schema: Mapping[str, Any]) -> Values:
    step = int(schema.get("multipleOf", 1))
    least, most = schema.get("minimum"), schema.get("maximum")
    if (above := schema.get("exclusiveMinimum")) is not None:
        least = int(above) + 1
    if (below := schema.get("exclusiveMaximum")) is not None:
        most = int(below) - 1
    first = None if least is None else -(-int(least) // step)
    last = None if most is None else int(most) // step
    return st.integers(first, last).map(lambda number: number * step)


def _number(schema: Mapping[str, Any]) -> Values:
    least, most = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    return st.floats(
        above if least is None else least,
        below if most is None else most,
        exclude_min=above is not None,
        exclude_max=below is not None,
        allow_nan=False,
        allow_infinity=False,
    )


def _string(schema: Mapping[str, Any]) -> Values:
    form = str(schema.get("format", ""))
    if schema.get("contentEncoding") == "base64":
        return st.binary(max_size=64).map(lambda data: base64.b64encode(data).decode())
    forms: Mapping[str, Callable[[], Values]] = {
        "date": lambda: st.dates().map(lambda day: day.isoformat()),
        "date-time": lambda: st.datetimes(timezones=_ZONES).map(lambda time: time.isoformat()),
        "duration": lambda: st.integers(0, 10**6).map(lambda seconds: f"PT{seconds}S"),
        "time": lambda: st.times().map(lambda time: time.isoformat()),
        "uuid": lambda: st.uuids().map(str),
    }
    if form in forms:
        return forms[form]()
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if "pattern" in schema:
        fitting: SearchStrategy[str] = st.from_regex(str(schema["pattern"]))
        return fitting.filter(lambda text: least <= len(text) and (most is None or len(text) <= most))
    return st.text(min_size=least, max_size=most)
