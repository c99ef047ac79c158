"""Programs that use tools as the specification names them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, TypeVar

import pytest

from wink import Tool, ToolContext, ToolExample, ToolHandler, ToolRenderableResult, ToolResult, ToolValidationError
from wink.limits import Budget, BudgetTracker, Heartbeat, RunContext
from wink.prompt import MarkdownSection, Prompt, PromptTemplate, PromptValidationError, RenderedPrompt
from wink.runtime import ToolCall, ToolExecutor
from wink.session import Session

T = TypeVar("T")


@dataclass
class Params:
    """Plain and not frozen."""

    text: str
    times: int = 1


@dataclass
class Answer:
    """With a text of its own."""

    text: str

    def render(self) -> str:
        return f"<{self.text}>"


def repeat(params: Params, *, context: ToolContext) -> ToolResult[Answer]:
    """Say it again."""
    return ToolResult.ok(Answer(params.text * params.times), message="Done.")


def executor(*tools: Tool[Any, Any], session: Session | None = None) -> ToolExecutor:
    prompt = Prompt(PromptTemplate(ns="spec", key="tools", sections=[MarkdownSection("Tools", "x", tools=tools)]))
    session = session or Session()
    return ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)


def test_a_tool_can_be_written_by_position_and_by_keyword() -> None:
    """The order is part of the shape, and so are the names."""
    example = ToolExample("Twice", Params("a", 2), Answer("aa"))

    by_position = Tool[Params, Answer]("repeat", "  Repeat it. ", repeat, (example,), False)
    by_keyword = Tool[Params, Answer](
        name="repeat",
        description="Repeat it.",
        handler=repeat,
        examples=(ToolExample(description="Twice", input=Params("a", 2), output=Answer("aa")),),
        accepts_overrides=False,
    )

    for tool in (by_position, by_keyword):
        assert (tool.name, tool.description, tool.handler) == ("repeat", "Repeat it.", repeat)
        assert (tool.examples, tool.accepts_overrides) == ((example,), False)
        assert (tool.params_type, tool.result_type, tool.result_container) == (Params, Answer, "object")
    plain = Tool[None, None](name="noop", description="Do nothing.", handler=None)
    assert (plain.examples, plain.accepts_overrides, plain.params_type, plain.result_type) == ((), True, None, None)


@pytest.mark.parametrize("container", [list[Answer], Sequence[Answer], tuple[Answer, ...]])
def test_a_result_may_be_a_sequence(container: Any) -> None:
    """Its items are rendered one by one, and each goes to the session."""
    session = Session()

    def several(params: None, *, context: ToolContext) -> ToolResult[Any]:
        return ToolResult.ok((Answer("a"), Answer("b")))

    tool = Tool[None, container](name="several", description="Give several.", handler=several)

    assert (tool.result_type, tool.result_container) == (Answer, "array")
    assert executor(tool, session=session).execute(ToolCall("several")).text == "OK\n\n<a>\n\n<b>"
    assert session[Answer].all() == (Answer("a"), Answer("b"))


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": "Repeat"},
        {"name": "x" * 65},
        {"description": "  "},
        {"description": "x" * 201},
        {"description": "caf\u00e9"},
        {"handler": lambda params: None},
        {"handler": lambda params, context: None},
        {"examples": (ToolExample("Twice", Answer("a"), Answer("b")),)},
    ],
)
def test_what_cannot_work_is_refused_when_a_tool_is_built(arguments: dict[str, Any]) -> None:
    """Not at the first call."""
    fine: dict[str, Any] = {"name": "repeat", "description": "Repeat it.", "handler": repeat}

    with pytest.raises(PromptValidationError):
        Tool[Params, Answer](**fine | arguments)


def test_a_function_can_be_wrapped() -> None:
    """Name, description and types are the function's."""
    tool = Tool.wrap(repeat)

    assert (tool.name, tool.description) == ("repeat", "Say it again.")
    assert (tool.params_type, tool.result_type) == (Params, Answer)


class Service:
    """Something with handlers of every kind."""

    def method(self, params: Params, *, context: ToolContext) -> ToolResult[Answer]:
        return repeat(params, context=context)

    async def coroutine(self, params: Params, *, context: ToolContext) -> ToolResult[Answer]:
        await asyncio.sleep(0)
        return repeat(params, context=context)

    @staticmethod
    def static(params: Params, *, context: ToolContext) -> ToolResult[Answer]:
        return repeat(params, context=context)

    @classmethod
    def of_class(cls, params: Params, *, context: ToolContext) -> ToolResult[Answer]:
        return repeat(params, context=context)

    def __call__(self, params: Params, *, context: ToolContext) -> ToolResult[Answer]:
        return repeat(params, context=context)


@pytest.mark.parametrize(
    "handler",
    [repeat, Service().method, Service().coroutine, Service.static, Service.of_class, Service()],
    ids=["function", "method", "coroutine", "static", "class", "object"],
)
def test_a_handler_is_whatever_can_be_called_so(handler: ToolHandler[Params, Answer]) -> None:
    """In a loop or without one."""
    runner = executor(Tool[Params, Answer](name="repeat", description="Repeat it.", handler=handler))
    call = ToolCall("repeat", {"text": "a", "times": 2})

    assert isinstance(handler, ToolHandler)
    assert runner.execute(call).text == "Done.\n\n<aa>"
    assert asyncio.run(runner.aexecute(call)).text == "Done.\n\n<aa>"


def made_elsewhere() -> Tool[Any, Any]:
    """A tool whose classes nobody can name once this function has returned."""

    class Mood(Enum):
        GOOD = "good"

    @dataclass
    class Inner:
        mood: Mood

    @dataclass
    class Holder(Generic[T]):
        held: T
        more: list[Inner] = field(default_factory=list)

    @dataclass
    class Params:
        holder: Holder[Inner]

    @dataclass
    class Shown:
        inner: Inner | None

        def render(self) -> str:
            return self.inner.mood.value if self.inner else ""

    def show(params: Params, *, context: ToolContext) -> ToolResult[Shown]:
        return ToolResult.ok(Shown(params.holder.held))

    return Tool[Params, Shown](name="show", description="Show it.", handler=show)


def test_types_may_be_local_to_a_function_that_has_returned() -> None:
    """With annotations that are strings, as `from __future__ import annotations` makes them, and names of the module too."""
    reply = executor(made_elsewhere()).execute(ToolCall("show", {"holder": {"held": {"mood": "good"}}}))

    assert reply.text == "OK\n\ngood"


def test_results_have_their_factories_and_older_names(caplog: pytest.LogCaptureFixture) -> None:
    """`render()` is about the value; what the model is sent is the message with it."""

    @dataclass
    class Bare:
        n: int
        note: str | None = None

    ok, error = ToolResult.ok(Answer("a")), ToolResult.error("No.")
    assert (ok.message, ok.value, ok.payload, ok.success, ok.exclude_value_from_context) == (
        "OK",
        Answer("a"),
        Answer("a"),
        True,
        False,
    )
    assert (error.message, error.value, error.success) == ("No.", None, False)
    assert ToolResult[Answer]("m", Answer("a"), True, True) == ToolResult(
        message="m", value=Answer("a"), success=True, exclude_value_from_context=True
    )
    assert (ok.render(), error.render(), ToolResult.ok(None).render()) == ("<a>", "", "")
    with caplog.at_level(logging.WARNING):
        assert ToolResult.ok(Bare(1), message="x").render() == '{"n":1}'
    assert "Bare" in caplog.text
    assert ToolResult.ok({"a": None}).render() == '{"a":null}'
    assert ToolResult.ok([Answer("a"), Answer("b")]).render() == "<a>\n\n<b>"
    assert isinstance(Answer("a"), ToolRenderableResult)


def test_a_context_can_be_made_by_position() -> None:
    """As programs do that call handlers themselves."""
    prompt: Prompt[None] = Prompt(PromptTemplate(ns="spec", key="context"))
    session, beating, run = Session(), Heartbeat(), RunContext("run")
    rendered: RenderedPrompt[None] = prompt.render()
    adapter: Any = None

    context = ToolContext(prompt, rendered, adapter, session, None, beating, run)

    assert (context.prompt, context.rendered_prompt, context.session) == (prompt, rendered, session)
    assert (context.deadline, context.heartbeat, context.run_context, context.budget_tracker) == (
        None,
        beating,
        run,
        None,
    )
    assert context.event_bus is session.dispatcher
    assert context.resources is prompt.resources
    tracker = BudgetTracker(Budget(max_total_tokens=1))
    assert ToolContext(prompt, None, adapter, session, budget_tracker=tracker).budget_tracker is tracker
    beats: list[int] = []
    beating.add_callback(lambda: beats.append(1))
    context.beat()
    assert beats == [1]
    assert repeat(Params("a"), context=context).value == Answer("a")


def test_a_handler_may_refuse_its_arguments() -> None:
    """`ToolValidationError` is a failed result with its message, and a wrong argument never reaches the handler."""

    def picky(params: Params, *, context: ToolContext) -> ToolResult[Answer]:
        raise ToolValidationError("text must be longer")

    runner = executor(Tool[Params, Answer](name="picky", description="Refuse it.", handler=picky))

    refused, wrong = runner.execute(ToolCall("picky", {"text": ""})), runner.execute(ToolCall("picky", '{"txt": 1}'))
    assert (refused.success, refused.text, refused.result.value) == (False, "text must be longer", None)
    assert "$.txt" in wrong.text
    assert "$.text" in wrong.text
