"""The functions that an author would naturally write, each as a tool: its schema, a call of it, and a call that is wrong."""

from __future__ import annotations

import asyncio
import datetime as dt
import decimal
import enum
import functools
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, Optional, TypedDict

import pytest
from pydantic import BaseModel, Field
from pydantic.dataclasses import dataclass as pydantic_dataclass

from wink import PromptValidationError, ToolContext, ToolResult, tool
from wink.adapters import PROVIDERS, compile_tools
from wink.prompt import Prompt, PromptTemplate, ToolsSection
from wink.runtime import ToolCall, ToolExecutor, ToolReply
from wink.session import Session
from wink.tools import FunctionTool, Image, Tool

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
NULL = {"type": "null"}


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass(frozen=True)
class Point:
    """A place."""

    x: int
    y: int = 0


@dataclass
class Fields:
    count: int = Field(default=1, ge=1, description="how many")
    name: str = Field(alias="called", default="it")


class Movie(TypedDict):
    title: str
    year: NotRequired[int]


class Person(BaseModel):
    name: str = Field(min_length=1)
    age: int = 0


@pydantic_dataclass
class Pet:
    name: str


class Pair(NamedTuple):
    left: int
    right: int


GIF = b"GIF89a" + bytes(20)


# -- parameters


def nothing() -> str:
    """Do it."""
    return "done"


def text(path: str) -> str:
    """Do it."""
    return path


def with_default(path: str, n: int = 0) -> str:
    """Do it."""
    return f"{path}:{n}"


def number(x: float) -> float:
    """Do it."""
    return x * 2


def yes_or_no(on: bool) -> str:
    """Do it."""
    return "on" if on else "off"


def choice(mode: Literal["r", "w"] = "r") -> str:
    """Do it."""
    return mode


def described(path: Annotated[str, "where to look"]) -> str:
    """Do it."""
    return path


def constrained(n: Annotated[int, Field(ge=1, le=5, description="how many")]) -> str:
    """Do it."""
    return str(n)


def field_default(n: int = Field(3, ge=1)) -> str:
    """Do it."""
    return str(n)


def annotated_default(n: Annotated[int, Field(default=4, lt=9)]) -> str:
    """Do it."""
    return str(n)


def optional(name: Optional[str] = None) -> str:  # noqa: UP045
    """Do it."""
    return name or "nobody"


def implicit_none(name: str = None) -> str:  # type: ignore[assignment]  # noqa: RUF013
    """Do it."""
    return name or "nobody"


def either(key: int | str) -> str:
    """Do it."""
    return repr(key)


def listed(items: list[int]) -> str:
    """Do it."""
    return str(sum(items))


def mutable_default(items: list[str] = []) -> str:  # noqa: B006
    """Do it."""
    items.append("x")
    return str(len(items))


def long_enough(items: Annotated[list[str], Field(min_length=1)]) -> str:
    """Do it."""
    return " ".join(items)


def sequence(items: Sequence[str] = ()) -> str:
    """Do it."""
    return " ".join(items)


def unique(items: set[str]) -> str:
    """Do it."""
    return " ".join(sorted(items))


def fixed(pair: tuple[int, str]) -> str:
    """Do it."""
    return f"{pair[0]}{pair[1]}"


def mapped(counts: dict[str, int]) -> str:
    """Do it."""
    return str(sum(counts.values()))


def anything(value: Any) -> str:
    """Do it."""
    return type(value).__name__


def place(path: Path) -> str:
    """Do it."""
    return path.suffix


def coloured(colour: Colour = Colour.RED) -> str:
    """Do it."""
    return colour.name


def levelled(level: Level) -> str:
    """Do it."""
    return level.name


def dated(day: dt.date) -> str:
    """Do it."""
    return str(day.year)


def identified(id: uuid.UUID) -> str:
    """Do it."""
    return id.hex[:4]


def exact(price: decimal.Decimal) -> str:
    """Do it."""
    return str(price)


def from_dataclass(point: Point, scale: int = 1) -> str:
    """Do it."""
    return str(point.x * scale)


def whole(point: Point) -> str:
    """Do it."""
    return f"{point.x},{point.y}"


def whole_fields(params: Fields) -> str:
    """Do it."""
    return f"{params.count} {params.name}"


def points(them: list[Point]) -> str:
    """Do it."""
    return str(len(them))


def typed_dict(movie: Movie) -> str:
    """Do it."""
    return movie["title"]


def model(person: Person) -> str:
    """Do it."""
    return person.name


def models(people: list[Person]) -> str:
    """Do it."""
    return people[0].name


def pet(pet: Pet, again: bool = False) -> str:
    """Do it."""
    return pet.name


def positional(a: int, /, b: int, *, c: int = 3) -> str:
    """Do it."""
    return f"{a}{b}{c}"


def with_context(name: str, context: ToolContext) -> str:
    """Do it."""
    context.filesystem.write(name, "hi")
    return name


def named_context(name: str, *, ctx: ToolContext) -> str:
    """Do it."""
    return f"{name} {ctx.call_id}"


def context_first(context: ToolContext, name: str) -> str:
    """Do it."""
    return name


def google(path: str, n: int = 1) -> str:
    """Do it.

    Carefully.

    Args:
        path: where to look
        n (int): how often

    Returns:
        What is there.
    """
    return path * n


def numpy(path: str, n: int = 1) -> str:
    """Do it.

    Parameters
    ----------
    path : str
        where to look
    n : int
        how often
    """
    return path * n


def sphinx(path: str, n: int = 1) -> str:
    """Do it.

    :param path: where to look
    :param n: how often
    """
    return path * n


DESCRIBED = {
    "path": {"type": "string", "description": "where to look"},
    "n": {"type": "integer", "description": "how often", "default": 1},
}


# -- kinds of functions


async def later(path: str) -> str:
    """Do it."""
    await asyncio.sleep(0)
    return path


async def later_with_context(path: str, *, context: ToolContext) -> ToolResult[Point]:
    """Do it."""
    return ToolResult.ok(Point(1), path)


def generator(n: int) -> Generator[str, None, int]:
    """Do it."""
    for number in range(n):
        yield f"step {number}"
    return n


def iterator(n: int) -> Iterator[tuple[int, int]]:
    """Do it."""
    for number in range(n):
        yield number, n


async def later_generator(n: int) -> AsyncIterator[Any]:
    """Do it."""
    for number in range(n):
        yield number
    yield "all"


class Counter:
    """Something with a state."""

    def __init__(self, start: int) -> None:
        self.value = start

    @tool
    def count(self, by: int = 1) -> int:
        """Do it."""
        self.value += by
        return self.value

    @tool(effects="read")
    async def look(self, by: int) -> int:
        """Do it."""
        return self.value + by

    @staticmethod
    def fixed(n: int) -> int:
        """Do it."""
        return n

    def plain(self, n: int) -> int:
        """Do it."""
        return self.value + n

    def __call__(self, n: int) -> str:
        return "called" * n


def partly(prefix: str, path: str) -> str:
    """Do it."""
    return prefix + path


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


# -- results


def returns_dict(a: str) -> dict[str, int]:
    """Do it."""
    return {a: 1}


def returns_list(a: str) -> list[str]:
    """Do it."""
    return [a, a]


def returns_nothing(a: str) -> None:
    """Do it."""


def returns_dataclass(x: int) -> Point:
    """Do it."""
    return Point(x)


def returns_model(a: str) -> Person:
    """Do it."""
    return Person(name=a)


def returns_maybe(a: str) -> Point | None:
    """Do it."""
    return None if a == "no" else Point(1)


def returns_result(a: str) -> ToolResult[str]:
    """Do it."""
    return ToolResult.ok(a, "here:")


def returns_image(a: str) -> Image:
    """Do it."""
    return Image(GIF)


def returns_anything(a: str):  # type: ignore[no-untyped-def]
    """Do it."""
    return a


ONE_STRING = {"a": STRING}
REF = "#/$defs/"

# function, the properties of its schema, a call, its reply, a call that is wrong, what the reply says
SHAPES: tuple[tuple[Any, dict[str, Any], str, str, str, str], ...] = (
    (nothing, {}, "", "done", '{"a": 1}', "nothing takes no arguments; send {}"),
    (text, {"path": STRING}, '{"path": "a"}', "a", '{"path": 1}', "$.path: must be a string, not 1"),
    (with_default, {"path": STRING, "n": {**INTEGER, "default": 0}}, '{"path": "a"}', "a:0", '{"n": "1"}', '$.n: must be an integer, not "1"'),
    (number, {"x": {"type": "number"}}, '{"x": 1}', "2.0", '{"x": null}', "$.x: must be a number, not null"),
    (yes_or_no, {"on": {"type": "boolean"}}, '{"on": true}', "on", '{"on": 1}', "$.on: must be true or false, not 1"),
    (choice, {"mode": {"enum": ["r", "w"], "type": "string", "default": "r"}}, "{}", "r", '{"mode": "x"}', "$.mode: must be 'r' or 'w'"),
    (described, {"path": {**STRING, "description": "where to look"}}, '{"path": "a"}', "a", "{}", "$.path: is required"),
    (constrained, {"n": {**INTEGER, "minimum": 1, "maximum": 5, "description": "how many"}}, '{"n": 5}', "5", '{"n": 6}', "$.n: must be at most 5, not 6"),
    (field_default, {"n": {**INTEGER, "minimum": 1, "default": 3}}, "{}", "3", '{"n": 0}', "$.n: must be at least 1, not 0"),
    (annotated_default, {"n": {**INTEGER, "exclusiveMaximum": 9, "default": 4}}, "{}", "4", '{"n": 9}', "$.n: must be less than 9, not 9"),
    (optional, {"name": {"anyOf": [STRING, NULL], "default": None}}, '{"name": null}', "nobody", '{"name": 1}', "$.name: must be a string, not 1"),
    (implicit_none, {"name": {"anyOf": [STRING, NULL], "default": None}}, "{}", "nobody", '{"name": 1}', "$.name: must be a string, not 1"),
    (either, {"key": {"anyOf": [INTEGER, STRING]}}, '{"key": 1}', "1", '{"key": []}', "$.key: must be an integer or a string, not an array"),
    (listed, {"items": {"type": "array", "items": INTEGER}}, '{"items": [1, 2]}', "3", '{"items": [1, "2"]}', '$.items[1]: must be an integer, not "2"'),
    (mutable_default, {"items": {"type": "array", "items": STRING, "default": []}}, "{}", "1", '{"items": 1}', "$.items: must be an array, not 1"),
    (long_enough, {"items": {"type": "array", "items": STRING, "minItems": 1}}, '{"items": ["a"]}', "a", '{"items": []}', "$.items: must not be empty"),
    (sequence, {"items": {"type": "array", "items": STRING, "default": []}}, '{"items": ["a", "b"]}', "a b", '{"items": [1]}', "$.items[0]: must be a string"),
    (unique, {"items": {"type": "array", "items": STRING, "uniqueItems": True}}, '{"items": ["b", "a"]}', "a b", '{"items": {}}', "$.items: must be an array"),
    (fixed, {"pair": {"type": "array", "prefixItems": [INTEGER, STRING], "minItems": 2, "maxItems": 2}}, '{"pair": [1, "a"]}', "1a", '{"pair": [1]}', "$.pair[1]: is required"),
    (mapped, {"counts": {"type": "object", "additionalProperties": INTEGER}}, '{"counts": {"a": 1}}', "1", '{"counts": {"a": "b"}}', "$.counts.a: must be an integer"),
    (anything, {"value": {}}, '{"value": [1]}', "list", "{}", "$.value: is required"),
    (place, {"path": {"type": "string", "format": "path"}}, '{"path": "a/b.py"}', ".py", '{"path": 1}', "$.path: must be a string, not 1"),
    (coloured, {"colour": {"enum": ["red", "blue"], "type": "string", "default": "red"}}, '{"colour": "blue"}', "BLUE", '{"colour": "x"}', "$.colour: must be 'red' or 'blue'"),
    (levelled, {"level": {"enum": [1, 2], "type": "integer"}}, '{"level": 2}', "HIGH", '{"level": 3}', "$.level: must be 1 or 2"),
    (dated, {"day": {"type": "string", "format": "date"}}, '{"day": "2026-01-31"}', "2026", '{"day": "soon"}', "$.day: must be a date"),
    (identified, {"id": {"type": "string", "format": "uuid"}}, f'{{"id": "{uuid.UUID(int=1)}"}}', "0000", '{"id": "1"}', "$.id: must be a UUID"),
    (exact, {"price": ...}, '{"price": "1.10"}', "1.10", '{"price": "x"}', "$.price: must be a decimal number"),
    (from_dataclass, {"point": {"$ref": f"{REF}Point"}, "scale": {**INTEGER, "default": 1}}, '{"point": {"x": 2}, "scale": 2}', "4", '{"point": {"y": 1}}', "$.point.x: is required"),
    (whole, {"x": INTEGER, "y": {**INTEGER, "default": 0}}, '{"x": 1}', "1,0", '{"z": 1}', "$.x: is required"),
    (whole_fields, {"count": {**INTEGER, "minimum": 1, "description": "how many", "default": 1}, "called": {**STRING, "default": "it"}}, '{"called": "me"}', "1 me", '{"count": 0}', "$.count: must be at least 1, not 0"),
    (points, {"them": {"type": "array", "items": {"$ref": f"{REF}Point"}}}, '{"them": [{"x": 1}]}', "1", '{"them": [{}]}', "$.them[0].x: is required"),
    (typed_dict, {"movie": ...}, '{"movie": {"title": "a"}}', "a", '{"movie": {}}', "$.movie.title: is required"),
    (model, {"person": ...}, '{"person": {"name": "a"}}', "a", '{"person": {"name": ""}}', "$.person.name: must not be empty"),
    (models, {"people": ...}, '{"people": [{"name": "a"}]}', "a", '{"people": [{}]}', "$.people[0].name: is required"),
    (pet, {"pet": {"$ref": f"{REF}Pet"}, "again": {"type": "boolean", "default": False}}, '{"pet": {"name": "a"}}', "a", '{"pet": {}}', "$.pet.name: is required"),
    (positional, {"a": INTEGER, "b": INTEGER, "c": {**INTEGER, "default": 3}}, '{"a": 1, "b": 2}', "123", '{"a": 1}', "$.b: is required"),
    (with_context, {"name": STRING}, '{"name": "f"}', "f", '{"context": 1}', "$.name: is required"),
    (named_context, {"name": STRING}, '{"name": "f"}', "f c1", '{"name": "f", "ctx": 1}', "$.ctx: is not a known field"),
    (context_first, {"name": STRING}, '{"name": "f"}', "f", "[]", "must be an object, not an array"),
    (google, DESCRIBED, '{"path": "a"}', "a", '{"path": "a", "m": 1}', "$.m: is not a known field"),
    (numpy, DESCRIBED, '{"path": "a", "n": 2}', "aa", '{"path": "a", "n": 1.5}', "$.n: must be an integer, not 1.5"),
    (sphinx, DESCRIBED, '{"path": "a"}', "a", "{", "is not valid JSON"),
    (later, {"path": STRING}, '{"path": "a"}', "a", "{}", "$.path: is required"),
    (later_with_context, {"path": STRING}, '{"path": "a"}', 'a\n\n{"x":1,"y":0}', "{}", "$.path: is required"),
    (generator, {"n": INTEGER}, '{"n": 2}', "2", "{}", "$.n: is required"),
    (iterator, {"n": INTEGER}, '{"n": 2}', "OK", "{}", "$.n: is required"),
    (later_generator, {"n": INTEGER}, '{"n": 2}', "all", "{}", "$.n: is required"),
    (Counter(1).count, {"by": {**INTEGER, "default": 1}}, '{"by": 2}', "3", '{"by": []}', "$.by: must be an integer"),
    (Counter(1).look, {"by": INTEGER}, '{"by": 2}', "3", "{}", "$.by: is required"),
    (Counter.fixed, {"n": INTEGER}, '{"n": 2}', "2", "{}", "$.n: is required"),
    (Counter(1).plain, {"n": INTEGER}, '{"n": 2}', "3", "{}", "$.n: is required"),
    (tool(name="called", description="Do it.")(Counter(1)), {"n": INTEGER}, '{"n": 1}', "called", "{}", "$.n: is required"),
    (tool(name="partly", description="Do it.")(functools.partial(partly, "x")), {"path": STRING}, '{"path": "a"}', "xa", "{}", "$.path: is required"),
    (decorated(text), {"path": STRING}, '{"path": "a"}', "a", "{}", "$.path: is required"),
    (returns_dict, ONE_STRING, '{"a": "b"}', '{"b":1}', "{}", "$.a: is required"),
    (returns_list, ONE_STRING, '{"a": "b"}', '["b","b"]', "{}", "$.a: is required"),
    (returns_nothing, ONE_STRING, '{"a": "b"}', "OK", "{}", "$.a: is required"),
    (returns_dataclass, {"x": INTEGER}, '{"x": 1}', '{"x":1,"y":0}', "{}", "$.x: is required"),
    (returns_model, ONE_STRING, '{"a": "b"}', '{"name":"b","age":0}', "{}", "$.a: is required"),
    (returns_maybe, ONE_STRING, '{"a": "no"}', "OK", "{}", "$.a: is required"),
    (returns_result, ONE_STRING, '{"a": "b"}', "here:\n\nb", "{}", "$.a: is required"),
    (returns_image, ONE_STRING, '{"a": "b"}', "OK", "{}", "$.a: is required"),
    (returns_anything, ONE_STRING, '{"a": "b"}', "b", "{}", "$.a: is required"),
)  # fmt: skip


def made(function: Any) -> Tool[Any, Any]:
    return function if isinstance(function, Tool) else tool(function)


def prompt_of(one: Tool[Any, Any]) -> Prompt:
    from wink.filesystem import Filesystem, InMemoryFilesystem

    template = PromptTemplate(ns="shapes", key="one", sections=[ToolsSection("One", [one])])
    return Prompt(template).bind(resources={Filesystem: InMemoryFilesystem()})


def called(one: Tool[Any, Any], arguments: str, session: Session | None = None) -> ToolReply:
    prompt, session = prompt_of(one), session or Session()
    executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
    return executor.execute(ToolCall(one.name, arguments, "c1"))


@pytest.mark.parametrize(("function", "properties", "good", "reply", "bad", "problem"), SHAPES)
def test_a_natural_function_is_a_tool(
    function: Any, properties: Mapping[str, Any], good: str, reply: str, bad: str, problem: str
) -> None:
    """As all providers are shown it, with a call that works and one that says what was wrong."""
    one = made(function)

    for provider in PROVIDERS:
        compiled, misfits = compile_tools(prompt_of(one).render(session=Session()), provider)
        assert (len(compiled), misfits) == (1, ())
        assert (compiled[0].name, compiled[0].description) == (one.name, "Do it.")
        shown = compiled[0].schema
        assert shown["additionalProperties"] is False
        assert {name: ... if properties.get(name) is ... else said for name, said in shown["properties"].items()} == (
            properties
        )
    answer = called(one, good)
    assert (answer.success, answer.text) == (True, reply)
    refused = called(one, bad)
    assert not refused.success
    assert problem in refused.text


def test_there_are_as_many_shapes_as_people_write() -> None:
    """At least forty."""
    assert len(SHAPES) >= 40


def test_a_tool_is_still_its_function() -> None:
    """Nobody should have to choose between calling it and giving it to a model."""
    one = tool(with_default)

    assert one("a", n=2) == "a:2"
    assert asyncio.run(tool(later)("a")) == "a"
    assert isinstance(one, FunctionTool)
    assert one.function is with_default


def test_dataclasses_reach_reducers_however_they_are_returned() -> None:
    """A session is told of what a tool found."""
    session = Session()

    called(made(returns_dataclass), '{"x": 7}', session)

    assert session[Point].latest() == Point(7)


def test_a_default_is_new_for_every_call() -> None:
    """What one call puts into it, the next must not find."""
    one = made(mutable_default)

    assert [called(one, "{}").text for _ in range(3)] == ["1", "1", "1"]


def test_a_method_needs_its_instance() -> None:
    """Of the class itself it is no tool, and says so before a model is shown it."""
    with pytest.raises(PromptValidationError, match=r"take it from an instance, as in Counter\(\.\.\.\)\.count"):
        prompt_of(Counter.count).render(session=Session())

    counter = Counter(1)
    assert (counter.count(2), counter.value) == (3, 3)


def test_one_error_says_all_that_is_wrong() -> None:
    """An author fixes them in one go."""

    def Wrong(a, b: socket.socket, *args: int, c: Missing = 1, **more: Any) -> str:  # noqa: F821
        return ""

    with pytest.raises(PromptValidationError) as caught:
        tool(Wrong)

    said = str(caught.value)
    for part in (
        "'Wrong' is no tool name",
        "no description",
        "'a' has no type",
        "it takes *args",
        "'Missing'",
        "it takes **more",
    ):
        assert part in said


def test_a_type_that_json_cannot_hold_is_refused_when_the_tool_is_made() -> None:
    """Not in the first call."""

    def odd(a: Awaitable[int], b: threading.Lock) -> str:  # type: ignore[valid-type]
        """Do it."""
        return ""

    import threading

    globals()["threading"] = threading
    with pytest.raises(PromptValidationError) as caught:
        tool(odd)
    assert "parameter 'a': " in str(caught.value)
    assert "parameter 'b': " in str(caught.value)


@pytest.mark.parametrize("function", [classmethod(text), 5, lambda: ""])
def test_what_is_no_function_with_a_name_is_refused(function: Any) -> None:
    """With a line that says why."""
    with pytest.raises(PromptValidationError):
        tool(function)


def test_long_docstrings_in_any_language_are_kept() -> None:
    """The first paragraph describes the tool; nothing of the rest is lost."""

    def wörter(pfad: str) -> str:
        """Zähle die Wörter
        einer Datei.

        Leerzeichen zählen nicht.

        Args:
            pfad: wo sie liegt
        """
        return pfad

    wörter.__name__ = "woerter"
    one = tool(wörter)

    assert one.description == "Zähle die Wörter einer Datei."
    assert one.details == "Leerzeichen zählen nicht."
    assert one.schema()["properties"]["pfad"]["description"] == "wo sie liegt"

    def endless() -> None:
        pass

    endless.__doc__ = "word " * 400 + "\n\nMore."
    one = tool(endless)
    assert len(one.description) <= 1000
    assert one.description.endswith("\u2026")
    assert one.details == " ".join(["word"] * 400) + "\n\nMore."


def test_replacing_a_name_keeps_the_function() -> None:
    """Sections rename tools that would clash."""
    one = tool(with_default).replace(name="other", description="Etwas anderes: ä.")

    assert (one.name, one("a")) == ("other", "a:0")
    assert called(one, '{"path": "b"}').text == "b:0"
