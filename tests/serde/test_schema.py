"""JSON Schema of dataclasses."""

import datetime as dt
import enum
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import pytest

from wink.serde import SerdeError, dumps, schema

T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Step:
    """One step.

    Notes for developers stay here.
    """

    title: str = field(metadata={"description": "what to do", "min_length": 1, "max_length": 500})
    done: bool = False


@dataclass
class Plan:
    steps: list[Step]
    first: Step | None = None


def test_a_field_is_described_with_its_constraints_and_default() -> None:
    """All that a model has to go by."""
    assert schema(Step) == {
        "type": "object",
        "description": "One step.",
        "properties": {
            "title": {"type": "string", "minLength": 1, "maxLength": 500, "description": "what to do"},
            "done": {"type": "boolean", "default": False},
        },
        "required": ["title"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(("extra", "more"), [("forbid", False), ("ignore", True), ("allow", True)])
def test_additional_properties_say_what_parse_does_at_every_level(extra: Any, more: bool) -> None:
    """Schema and parser must not disagree."""
    described = schema(Plan, extra=extra)

    assert described["additionalProperties"] is more
    assert described["$defs"]["Step"]["additionalProperties"] is more


@pytest.mark.parametrize(
    ("kind", "described"),
    [
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (Any, {}),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
        (
            tuple[int, str],
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
        ),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Colour, {"type": "string", "enum": ["red", "blue"]}),
        (dt.datetime, {"type": "string", "format": "date-time"}),
        (bytes, {"type": "string", "contentEncoding": "base64"}),
    ],
)
def test_types_have_their_json_schema(kind: Any, described: dict[str, Any]) -> None:
    """Plain, without titles, which cost tokens and say nothing."""
    assert schema(kind) == described


def test_constraints_reach_the_members_that_they_apply_to() -> None:
    """`ge` of `int | str | None` is the integer's."""

    @dataclass
    class Limited:
        x: int | str | None = field(default=None, metadata={"ge": 0, "lt": 5, "regex": "^a"})
        y: list[int] = field(default_factory=list, metadata={"max_length": 3})

    properties = schema(Limited)["properties"]

    assert properties["x"]["anyOf"] == [
        {"type": "integer", "minimum": 0, "exclusiveMaximum": 5},
        {"type": "string", "pattern": "^a"},
        {"type": "null"},
    ]
    assert properties["y"] == {"type": "array", "items": {"type": "integer"}, "maxItems": 3, "default": []}


def test_a_property_may_be_called_title() -> None:
    """Leaving out titles must not leave out fields."""
    assert "title" in schema(Step)["properties"]


def test_recursive_types_stand_alone_with_an_object_at_the_root() -> None:
    """Providers refuse a root that is a reference."""

    @dataclass
    class Tree:
        value: int
        children: "list[Tree]"

    described = schema(Tree)

    assert described["type"] == "object"
    assert described["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}
    assert set(described["$defs"]) == {"Tree"}


def test_types_of_one_name_do_not_share_a_definition() -> None:
    """Two specialisations of a generic are two types."""

    @dataclass
    class Box(Generic[T]):
        value: T

    @dataclass
    class Two:
        a: Box[int]
        b: Box[str]

    described = schema(Two)
    kinds = [described["$defs"][described["properties"][name]["$ref"][8:]]["properties"]["value"] for name in "ab"]

    assert kinds == [{"type": "integer"}, {"type": "string"}]
    assert all("/" not in name and "~" not in name for name in described["$defs"])


def test_keys_are_described_and_not_names() -> None:
    """The model writes keys."""

    @dataclass
    class Named:
        file_path: str = field(metadata={"alias": "filePath"})

    assert schema(Named)["required"] == ["filePath"]


def test_defaults_that_json_cannot_hold_are_left_out() -> None:
    """And factories, which could do anything, are not called."""

    def explode() -> list[int]:
        raise AssertionError

    @dataclass
    class Odd:
        a: float = float("inf")
        b: list[int] = field(default_factory=explode)

    properties = schema(Odd)["properties"]
    assert all("default" not in described for described in properties.values())


def test_a_schema_can_be_changed_without_harm() -> None:
    """Adapters bend it to their provider's dialect."""
    schema(Step)["properties"].clear()

    assert schema(Step)["properties"]


def test_types_without_a_schema_are_refused() -> None:
    """Where parsing would be refused too, with the field's name."""

    @dataclass
    class Bad:
        x: Callable[[], int]

    with pytest.raises(SerdeError) as caught:
        schema(Bad)

    assert caught.value.path == "Bad.x"
    assert dumps(schema(Step)) == json.dumps(schema(Step), separators=(",", ":"))
