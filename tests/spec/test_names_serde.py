"""Programs that use serde as the specification names it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, Literal, Optional, TypeVar

import pytest

from wink.serde import dump, extras, parse, schema

T = TypeVar("T")


class Color(Enum):
    """An enumeration of text."""

    RED = "red"
    BLUE = "blue"


@dataclass
class Order:
    """Not frozen, with every key that `metadata` may have, and a computed property."""

    number: int = field(metadata={"alias": "orderNumber", "description": "Which order.", "ge": 1, "lt": 100})
    code: str = field(default="ab", metadata={"min_length": 2, "max_length": 4, "regex": "^[a-z]+$"})
    weight: float = field(default=1.0, metadata={"gt": 0, "le": 10})
    color: Color = Color.RED
    size: Literal["s", "m"] = "s"
    note: Optional[str] = None  # noqa: UP045 - as people write it

    @property
    def doubled(self) -> int:
        return self.number * 2


@dataclass(frozen=True, slots=True)
class Slotted:
    """One that has no room for anything else."""

    name: str


@dataclass
class Box(Generic[T]):
    """A generic one."""

    item: T


def test_text_and_python_values_are_read_alike() -> None:
    """Defaults are filled in, aliases are used, enums and literals are values."""
    expected = Order(7, color=Color.BLUE, size="m")

    assert parse(Order, '{"orderNumber": 7, "color": "blue", "size": "m"}') == expected
    assert parse(Order, {"orderNumber": 7, "color": "blue", "size": "m"}, extra="forbid") == expected
    assert parse(Order, {"nr": 7, "color": "blue", "size": "m"}, aliases={"number": "nr"}) == expected
    assert parse(Order, {"orderNumber": "7", "color": "blue", "size": "m"}, coerce=True) == expected


def test_every_problem_is_told_with_its_path() -> None:
    """And the error is a `ValueError`, which programs catch."""
    with pytest.raises(ValueError) as caught:
        parse(Order, {"orderNumber": 0, "code": "A", "weight": 0, "color": "green", "size": "xl", "more": 1})

    for path in ("$.orderNumber", "$.code", "$.weight", "$.color", "$.size", "$.more"):
        assert path in str(caught.value)


def test_extras_are_refused_dropped_or_kept() -> None:
    """Those of slotted classes are kept aside as well, and written back."""
    with pytest.raises(ValueError, match="more"):
        parse(Slotted, {"name": "x", "more": 1})
    assert dump(parse(Slotted, {"name": "x", "more": 1}, extra="ignore")) == {"name": "x"}

    allowed = parse(Slotted, {"name": "x", "more": 1}, extra="allow")
    assert extras(allowed) == {"more": 1}
    assert dump(allowed) == {"name": "x", "more": 1}


def test_the_options_of_dump() -> None:
    """By alias unless told otherwise, with everything unless told otherwise, without what is computed."""
    order = Order(7)

    assert dump(order) == {"orderNumber": 7, "code": "ab", "weight": 1.0, "color": "red", "size": "s", "note": None}
    assert "note" not in dump(order, exclude_none=True)
    assert dump(order, by_alias=False)["number"] == 7
    assert dump(order, computed=True)["doubled"] == 14
    assert parse(Order, dump(order)) == order


def test_the_schema_says_what_parse_takes() -> None:
    """With the keywords of JSON Schema 2020-12."""
    described = schema(Order)

    assert described["additionalProperties"] is False
    assert schema(Order, extra="allow")["additionalProperties"] is True
    assert described["required"] == ["orderNumber"]
    assert described["properties"]["orderNumber"] == {
        "type": "integer",
        "minimum": 1,
        "exclusiveMaximum": 100,
        "description": "Which order.",
    }
    code = described["properties"]["code"]
    assert (code["minLength"], code["maxLength"], code["pattern"]) == (2, 4, "^[a-z]+$")


def test_generic_dataclasses_are_read_by_their_argument() -> None:
    """`Box[Slotted]` is not `Box[int]`."""
    assert parse(Box[Slotted], {"item": {"name": "x"}}) == Box(Slotted("x"))
    with pytest.raises(ValueError, match=r"\$\.item"):
        parse(Box[int], {"item": {"name": "x"}})


def test_local_classes_come_before_those_of_the_module() -> None:
    """A class defined in a function may share its name with one of the module, as tests often do."""

    @dataclass
    class Slotted:
        number: int

    @dataclass
    class Holder:
        held: Slotted
        more: list[Holder] = field(default_factory=list)

    assert parse(Holder, {"held": {"number": 1}, "more": [{"held": {"number": 2}}]}) == Holder(
        Slotted(1), [Holder(Slotted(2))]
    )
