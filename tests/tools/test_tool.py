"""Declaring tools."""

import copy
import functools
import pickle
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import pytest

from wink.errors import DuplicateToolName, OutputParseError, PromptEvaluationError, VisibilityExpansionRequired
from wink.serde import ParseError
from wink.tools import PromptValidationError, Tool, ToolContext, ToolExample, ToolHandler, ToolResult

T = TypeVar("T")


@dataclass(frozen=True)
class Query:
    """What to look for."""

    text: str = field(metadata={"description": "the words", "min_length": 1})
    limit: int = 10


@dataclass(frozen=True)
class Hit:
    line: int


@dataclass(frozen=True)
class Narrow(Hit):
    column: int = 0


@dataclass
class Page(Generic[T]):
    item: T


def search(params: Query, *, context: ToolContext) -> ToolResult[Hit]:
    """Search the notes.

    The rest is for developers.
    """
    return ToolResult.ok(Hit(params.limit))


class Searcher:
    def __call__(self, params: Query, *, context: ToolContext) -> ToolResult[Hit]:
        return ToolResult.ok(Hit(1))

    def method(self, params: Query, *, context: ToolContext) -> ToolResult[Hit]:
        return ToolResult.ok(Hit(1))

    async def later(self, params: Query, *, context: ToolContext) -> ToolResult[Hit]:
        return ToolResult.ok(Hit(1))


class AsyncSearcher:
    async def __call__(self, params: Query, *, context: ToolContext) -> ToolResult[Hit]:
        return ToolResult.ok(Hit(1))


def configured(root: str, params: Query, *, context: ToolContext, depth: int = 1) -> ToolResult[Hit]:
    return ToolResult.ok(Hit(1))


def promised(params: Query, *, context: ToolContext) -> Awaitable[ToolResult[Hit]]:
    raise AssertionError


def refusal(build: Callable[[], object]) -> PromptValidationError:
    with pytest.raises(PromptValidationError) as caught:
        build()
    return caught.value


def test_types_are_computed_from_the_arguments() -> None:
    """Adapters, policies and the executor ask for them."""
    tool = Tool[Query, list[Hit]]("search", "  Search the notes.\n", None)

    assert (tool.params_type, tool.result_type, tool.result_container) == (Query, Hit, "array")
    assert (tool.name, tool.description) == ("search", "Search the notes.")
    assert (tool.effects, tool.timeout, tool.extra, tool.accepts_overrides) == ("workspace", None, "forbid", True)
    assert repr(tool) == "Tool[Query, list[Hit]]('search')"


@pytest.mark.parametrize(
    ("result", "container"),
    [(Hit, "object"), (None, "object"), (list[Hit], "array"), (Sequence[Hit], "array"), (tuple[Hit, ...], "array")],
)
def test_results_are_dataclasses_or_sequences_of_them(result: Any, container: str) -> None:
    """Reducers find slices by the dataclass."""
    tool = Tool[Query, result]("search", "Search.")

    assert tool.result_type is (None if result is None else Hit)
    assert tool.result_container == container


def test_types_come_from_the_handler_when_they_are_not_given() -> None:
    """Nobody should write them twice."""
    tool = Tool("search", "Search.", search)

    assert (tool.params_type, tool.result_type) == (Query, Hit)


def test_wrap_takes_everything_from_the_function() -> None:
    """The shortest way to a tool, with and without options."""
    plain, optioned = Tool.wrap(search), Tool.wrap(effects="read", timeout=2)(search)

    assert (plain.name, plain.description, plain.handler) == ("search", "Search the notes.", search)
    assert (optioned.effects, optioned.timeout) == ("read", 2.0)
    assert "docstring" in str(refusal(lambda: Tool.wrap(configured)))


@pytest.mark.parametrize(
    ("handler", "is_async"),
    [
        (search, False),
        (Searcher(), False),
        (Searcher().method, False),
        (functools.partial(configured, "root"), False),
        (functools.partial(search), False),
        (lambda params, *, context: ToolResult.error("no"), False),
        (lambda params, *, context, **more: ToolResult.error("no"), False),
        (Searcher().later, True),
        (AsyncSearcher(), True),
        (functools.partial(Searcher().later), True),
        (promised, True),
    ],
)
def test_everything_callable_can_be_a_handler(handler: Any, is_async: bool) -> None:
    """And the executor knows whether to await it."""
    tool = Tool[Query, Hit]("search", "Search.", handler)

    assert tool.handler is handler
    assert tool.is_async is is_async
    assert isinstance(handler, ToolHandler)


def test_handlers_may_be_wider_than_the_tool() -> None:
    """Parameters are contravariant, results covariant."""

    def wide(params: object, *, context: Any) -> ToolResult[Narrow]:
        return ToolResult.ok(Narrow(1))

    def either(params: Query | Hit, *, context: ToolContext) -> ToolResult[Any]:
        return ToolResult.ok(Hit(1))

    def maybe(params: Query, *, context: ToolContext) -> ToolResult[Hit | None]:
        return ToolResult.ok(None)

    assert Tool[Query, Hit]("a", "b", wide).result_type is Hit
    assert Tool("a", "b", maybe).result_type is Hit
    assert Tool[Query, Hit]("a", "b", either).params_type is Query


def test_annotations_for_type_checkers_only_are_no_mistake() -> None:
    """Names imported under TYPE_CHECKING do not exist at run time; the others are still checked."""

    def handler(params: "OnlyForCheckers", *, context: ToolContext) -> "ToolResult[Hit]":  # type: ignore[name-defined]  # noqa: F821
        return ToolResult.ok(Hit(1))

    assert Tool[Query, Hit]("a", "b", handler).handler is handler
    assert "ToolResult[Hit]" in str(refusal(lambda: Tool[Query, Query]("a", "b", handler)))
    assert "have no annotation" in str(refusal(lambda: Tool("a", "b", handler)))


def _positional_context(params: Query, context: ToolContext) -> ToolResult[Hit]:
    raise AssertionError


def _without_context(params: Query) -> ToolResult[Hit]:
    raise AssertionError


def _wrong_context(params: Query, *, context: int) -> ToolResult[Hit]:
    raise AssertionError


def _wrong_params(params: Hit, *, context: ToolContext) -> ToolResult[Hit]:
    raise AssertionError


def _no_params(*, context: ToolContext) -> ToolResult[Hit]:
    raise AssertionError


def _too_many(params: Query, other: int, *, context: ToolContext) -> ToolResult[Hit]:
    raise AssertionError


def _bare_result(params: Query, *, context: ToolContext) -> Hit:
    raise AssertionError


def _list_result(params: Query, *, context: ToolContext) -> ToolResult[list[Hit]]:
    raise AssertionError


def _no_result(params: Query, *, context: ToolContext) -> ToolResult[None]:
    raise AssertionError


@pytest.mark.parametrize(
    ("handler", "reason"),
    [
        (_positional_context, "`context` must be keyword-only"),
        (_without_context, "does not take `context`"),
        (_wrong_context, "context is annotated int; it must be ToolContext"),
        (_wrong_params, "takes Hit, but the tool's parameters are Query"),
        (_no_params, "takes no positional parameters object"),
        (_too_many, "requires 'other' too"),
        (_bare_result, "returns Hit; annotate it -> ToolResult[...]"),
        (_list_result, "returns ToolResult[list[Hit]], but the tool's result is Hit"),
        (_no_result, "returns ToolResult[None], but the tool's result is Hit"),
        (5, "must be callable, not 5"),
    ],
)
def test_handlers_that_could_not_be_called_are_refused_at_once(handler: Any, reason: str) -> None:
    """A mistake shows when the module is imported, not when a model calls."""
    error = refusal(lambda: Tool[Query, Hit]("search", "Search.", handler))

    assert reason in str(error)
    assert error.tool == "search"


@pytest.mark.parametrize("name", ["", "Search", "a b", "a" * 65, "é", "a\n", "a.b", 5])
def test_names_that_providers_refuse_are_refused(name: Any) -> None:
    """The rule of the specification: 1-64 of a-z, 0-9, _ and -."""
    assert "is no tool name" in str(refusal(lambda: Tool[None, None](name, "x")))


@pytest.mark.parametrize(
    ("description", "reason"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("x" * 201, "has 201 characters"),
        ("caf\u00e9", "'\u00e9'"),
        (5, "must be a string"),
    ],
)
def test_descriptions_are_short_ascii(description: Any, reason: str) -> None:
    """So that they pass every provider."""
    assert reason in str(refusal(lambda: Tool[None, None]("t", description)))
    assert Tool[None, None]("t", " " + "x" * 200 + " ").description == "x" * 200


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda: Tool[int, None]("t", "x"), "parameters must be a dataclass or None, not int"),
        (lambda: Tool[Query, str]("t", "x"), "result must be a dataclass"),
        (lambda: Tool[Query, list[int]]("t", "x"), "not list[int]"),
        (lambda: Tool[Query, tuple[Hit, Hit]]("t", "x"), "has a fixed length"),
        (lambda: Tool[Any, Hit]("t", "x"), "not Any"),
        (lambda: Tool("t", "x"), "neither types nor a handler"),
        (lambda: Tool[None, None]("t", "x", effects="write"), "effects must be one of 'read', 'workspace'"),  # type: ignore[arg-type]
        (lambda: Tool[None, None]("t", "x", extra="no"), "extra must be one of 'forbid'"),  # type: ignore[arg-type]
        (lambda: Tool[None, None]("t", "x", timeout=0), "positive number of seconds"),
        (lambda: Tool[None, None]("t", "x", timeout=True), "positive number of seconds"),
    ],
)
def test_wrong_arguments_are_refused(build: Callable[[], object], reason: str) -> None:
    """Each with the tool's name and what would do."""
    error = refusal(build)

    assert reason in str(error)
    assert error.tool == "t"


def test_one_type_is_not_enough() -> None:
    """`Tool[Query]` is a slip of the pen."""
    with pytest.raises(TypeError, match="two types"):
        Tool[Query]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("example", "reason"),
    [
        (ToolExample("d", Hit(1), Hit(1)), "has input Hit(line=1), but the tool's parameters are Query"),
        (ToolExample("d", Query("x"), [Hit(1)]), "has output [Hit(line=1)], but the tool's result is Hit"),
        (ToolExample("d", Query("x"), None), "has output None"),
        (ToolExample("", Query("x"), Hit(1)), "1-200 characters"),
        (ToolExample("x" * 201, Query("x"), Hit(1)), "1-200 characters"),
        ("example", "must be a ToolExample"),
    ],
)
def test_examples_of_other_types_are_refused(example: Any, reason: str) -> None:
    """A wrong example teaches a model wrong calls."""
    error = refusal(lambda: Tool[Query, Hit]("search", "Search.", None, [example]))

    assert reason in str(error)
    assert str(error).startswith("tool 'search'")


def test_examples_of_arrays_and_of_nothing_are_taken() -> None:
    """Containers may be lists or tuples; no parameters are None."""
    listed = ToolExample("d", Query("x"), [Hit(1)])
    nothing = ToolExample("d", None, None)

    assert Tool[Query, tuple[Hit, ...]]("t", "x", None, (listed,)).examples == (listed,)
    assert Tool[None, None]("t", "x", None, [nothing]).examples == (nothing,)


def test_check_finds_what_only_compiled_types_show() -> None:
    """Construction stays cheap; the first render checks the rest, naming tool and dataclass."""

    @dataclass
    class Opaque:
        stream: Callable[[], int]

    unreadable = Tool[Opaque, None]("t", "x")
    empty = Tool[Query, None]("t", "x", None, [ToolExample("d", Query(""), None)])

    error = refusal(unreadable.check)
    assert "Opaque.stream: JSON cannot hold" in str(error)
    assert (error.tool, error.dataclass) == ("t", Opaque)
    assert "example 1 does not keep the tool's rules: $.text: must not be empty" in str(refusal(empty.check))
    Tool[Query, Hit]("t", "x", search).check()


def test_arguments_are_parsed_from_text_and_mappings() -> None:
    """Providers send either."""
    tool = Tool[Query, Hit]("search", "Search.")

    assert tool.parse('{"text": "x"}') == tool.parse({"text": "x"}) == Query("x")
    with pytest.raises(ParseError) as caught:
        tool.parse({"limit": "3", "n": 1})
    assert [problem.path for problem in caught.value.problems] == ["$.text", "$.limit", "$.n"]
    assert Tool[Query, Hit]("search", "Search.", extra="ignore").parse({"text": "x", "n": 1}) == Query("x")


@pytest.mark.parametrize("arguments", ["", " \n", "{}", "{ }", {}, b""])
def test_a_tool_without_parameters_takes_nothing(arguments: Any) -> None:
    """Models send an empty object, an empty string, or blanks."""
    assert Tool[None, None]("t", "x").parse(arguments) is None


@pytest.mark.parametrize("arguments", ['{"a": 1}', {"a": 1}, "[]", "null", "{", "5"])
def test_a_tool_without_parameters_refuses_everything_else(arguments: Any) -> None:
    """Arguments that are ignored would mislead a model."""
    with pytest.raises(ParseError):
        Tool[None, None]("t", "x").parse(arguments)


def test_no_text_counts_as_no_arguments() -> None:
    """The required ones are then named."""
    with pytest.raises(ParseError, match=r"\$\.text: is required"):
        Tool[Query, None]("t", "x").parse("")


def test_generic_parameters_keep_their_arguments() -> None:
    """`Page[int]` is checked as such."""
    tool = Tool[Page[int], Page[int]]("t", "x")

    assert tool.params_type is Page
    assert tool.parse({"item": 1}) == Page(1)
    with pytest.raises(ParseError):
        tool.parse({"item": "1"})


def test_the_schema_is_a_new_dict_each_time() -> None:
    """Adapters change it to their provider's dialect."""
    tool = Tool[Query, Hit]("search", "Search.")

    tool.schema()["properties"].clear()

    assert set(tool.schema()["properties"]) == {"text", "limit"}
    assert Tool[None, None]("t", "x").schema() == {"type": "object", "properties": {}, "additionalProperties": False}


def test_tools_never_change() -> None:
    """They are shared by prompts and threads; replacing makes another one, with the same checks."""
    tool = Tool[Query, list[Hit]]("search", "Search.", effects="read", timeout=3)

    with pytest.raises(AttributeError, match="cannot be changed"):
        tool.name = "other"
    with pytest.raises(AttributeError):
        del tool.name
    assert copy.deepcopy(tool) is copy.copy(tool) is tool
    other = tool.replace(name="find")
    assert (other.name, other.timeout, other.result_container, tool.name) == ("find", 3.0, "array", "search")
    assert refusal(lambda: tool.replace(name="No Name"))


def test_errors_of_prompts_survive_pickling() -> None:
    """With facts and text."""
    errors = [
        PromptValidationError("bad", ("a", "b"), "t", Query),
        DuplicateToolName("t", "section 'a'", "section 'b'"),
        PromptEvaluationError("late", "tool", "p"),
        VisibilityExpansionRequired({("a",): "full"}, "why", ("a",)),
        OutputParseError("no JSON", "text", Hit),
    ]
    for error in errors:
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
    assert str(errors[0]) == "section 'a/b', tool 't', dataclass Query: bad"
    assert isinstance(errors[1], PromptValidationError)
