"""Writing values as JSON."""

import datetime as dt
import enum
import json
import pickle
from collections import UserDict
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import Any

import pytest

from wink.serde import SerdeError, dump, dumps, parse


class Level(enum.IntEnum):
    LOW = 1


@dataclass(frozen=True, slots=True)
class Item:
    name: str
    note: str | None = None


@dataclass
class Order:
    items: list[Item]
    total: float = field(default=0.0, metadata={"alias": "sum"})
    secret: InitVar[int] = 0
    count: int = field(init=False, default=0)

    @property
    def first(self) -> Item:
        """The first item."""
        return self.items[0]

    @cached_property
    def size(self) -> int:
        """How many there are."""
        return len(self.items)

    @property
    def _hidden(self) -> int:
        return 1


def test_dataclasses_are_written_by_alias_without_what_init_does_not_take() -> None:
    """What is written can be read back, so only what `parse` takes is there."""
    order = Order([Item("a")], 2.5)

    assert dump(order) == {"items": [{"name": "a", "note": None}], "sum": 2.5}
    assert dump(order, by_alias=False)["total"] == 2.5


def test_none_can_be_left_out() -> None:
    """Models pay for every `null`."""
    assert dump(Order([Item("a")]), exclude_none=True) == {"items": [{"name": "a"}], "sum": 0.0}


def test_computed_values_can_be_added() -> None:
    """Public properties and derived fields, for readers that cannot compute."""
    written = dump(Order([Item("a")]), computed=True)

    assert written["first"] == {"name": "a", "note": None}
    assert (written["size"], written["count"]) == (1, 0)
    assert "_hidden" not in written


def test_a_property_that_fails_is_named() -> None:
    """A raised exception says nothing of where."""
    with pytest.raises(SerdeError) as caught:
        dump([Order([])], computed=True)

    assert caught.value.path == "$[0].first"
    assert "IndexError" in caught.value.reason


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Level.LOW, 1),
        ((1, (2, 3)), [1, [2, 3]]),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        ({2: 3, "x": 4, Level.LOW: 5}, {"2": 3, "x": 4, "1": 5}),
        ({True: 1}, {"true": 1}),
        ({dt.date(2030, 1, 2): 1}, {"2030-01-02": 1}),
        (UserDict(a=1), {"a": 1}),
        (dt.timedelta(days=-1, microseconds=5), "-P0DT86399.999995S"),
        (b"\xff\xef", "_-8="),
        (1e16, 1e16),
    ],
)
def test_values_of_other_types_become_json(value: object, written: object) -> None:
    """Equal values give equal JSON, sets included."""
    assert dump(value) == written
    assert json.loads(dumps(value)) == written


def test_equal_sets_are_written_alike() -> None:
    """Hash order must not leak into stored text."""
    names = [f"n{number}" for number in range(50)]

    assert dumps(frozenset(names)) == dumps(frozenset(reversed(names)))


@pytest.mark.parametrize(
    ("value", "path", "reason"),
    [
        ({"a": [1, object()]}, "$.a[1]", "JSON cannot hold a value of type 'object'"),
        (Order([Item(print)]), "$.items[0].name", "JSON cannot hold a value of type 'builtin_function_or_method'"),  # type: ignore[arg-type]
        ([float("inf")], "$[0]", "inf is not a JSON number"),
        (Order([], float("nan")), "$.sum", "nan is not a JSON number"),
        ({"a": {(1,): 2}}, "$.a", "JSON keys are strings; 'tuple' cannot be one"),
        ({1: "a", "1": "b"}, "$", "two keys are both written as '1'"),
        ({1.5: "a"}, "$", "JSON keys are strings; 'float' cannot be one"),
    ],
)
def test_what_json_cannot_hold_is_refused_by_path(value: object, path: str, reason: str) -> None:
    """Whoever returned it finds it."""
    with pytest.raises(SerdeError) as caught:
        dump(value)

    error = caught.value
    assert (error.path, error.reason) == (path, reason)
    assert str(pickle.loads(pickle.dumps(error))) == f"{path}: {reason}"


def test_endless_values_are_refused() -> None:
    """A list that holds itself has no end."""
    endless: list[Any] = []
    endless.append(endless)

    with pytest.raises(SerdeError, match="contains itself"):
        dump(endless)


@pytest.mark.parametrize("depth", [140, 160, 400])
def test_what_is_written_can_be_read_back_or_is_refused(depth: int) -> None:
    """Text nested more deeply than the parser reads would be lost."""
    deep: Any = "]]]"
    for _ in range(depth):
        deep = [deep]

    if depth < 150:
        assert parse(list[Any], dumps(deep)) == deep
    else:
        with pytest.raises(SerdeError, match="nested too deeply"):
            dumps(deep)


def test_integers_beyond_the_interpreters_limit_are_refused() -> None:
    """Python itself refuses to write them (CVE-2020-10735)."""
    with pytest.raises(SerdeError, match="too many digits"):
        dumps([10**5000])


def test_lone_surrogates_are_escaped() -> None:
    """No file or socket takes them as UTF-8, and other text stays readable."""
    assert dumps(Item("caf\u00e9")) == '{"name":"caf\u00e9","note":null}'
    assert dumps(Item("\udcff")) == '{"name":"\\udcff","note":null}'
    assert dumps(["\ud83d", "\U0001f600"]).isascii()
