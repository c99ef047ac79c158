"""Programs that use the runtime as the specification names it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from wink.errors import PromptEvaluationError
from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.prompt import DeadlineExceededError, MarkdownSection, Prompt, PromptTemplate, Tool, ToolContext, ToolResult
from wink.resources import Binding, ResourceRegistry
from wink.runtime import (
    Budget,
    BudgetTracker,
    CompositeSnapshot,
    Deadline,
    Heartbeat,
    InProcessDispatcher,
    RunContext,
    Session,
    TokenUsage,
    ToolCall,
    ToolExecutor,
    ToolInvoked,
    create_snapshot,
    restore_snapshot,
    tool_transaction,
)


@dataclass(frozen=True)
class Text:
    """Parameters, result and event."""

    text: str

    def render(self) -> str:
        return self.text


class Counter:
    """State that rolls back."""

    number = 0

    def snapshot(self) -> int:
        return self.number

    def restore(self, snapshot: int) -> None:
        self.number = snapshot


def write(params: Text, *, context: ToolContext) -> ToolResult[Text]:
    context.filesystem.write("a.txt", params.text)
    context.session.dispatch(params)
    if params.text == "bad":
        raise ValueError(params.text)
    return ToolResult.ok(Text("written"), message="Done.")


WRITE = Tool[Text, Text](name="write", description="Write it.", handler=write)


def prepared(tool: Tool[Any, Any] = WRITE, **limits: Any) -> tuple[ToolExecutor, Session, InMemoryFilesystem, Prompt]:
    files, session = InMemoryFilesystem(), Session(dispatcher=InProcessDispatcher())
    template = PromptTemplate(ns="spec", key="run", name="Run", sections=[MarkdownSection("T", "x", tools=[tool])])
    prompt = Prompt(template).bind(resources={Filesystem: files})
    rendered = prompt.render(session=session)
    return (
        ToolExecutor(prompt=prompt, rendered=rendered, session=session, adapter=None, **limits),
        session,
        files,
        prompt,
    )


def test_every_call_is_told_once_with_all_its_fields() -> None:
    """Good, failing, unknown and unreadable ones; at aware times, with the text that the model got."""
    run, session, files, _ = prepared()
    heard: list[ToolInvoked] = []
    session.dispatcher.subscribe(ToolInvoked, heard.append)
    earliest = datetime.now(UTC)

    calls = [
        ToolCall(name="write", arguments='{"text": "good"}', call_id="1"),
        ToolCall("write", {"text": "bad"}, "2"),
        ToolCall("unknown", call_id="3"),
        ToolCall("write", "{", "4"),
    ]
    replies = run.execute_batch(calls)

    assert [event.call_id for event in heard] == [reply.call_id for reply in replies] == ["1", "2", "3", "4"]
    assert [event.success for event in heard] == [reply.success for reply in replies] == [True, False, False, False]
    assert [event.rendered_output for event in heard] == [reply.text for reply in replies]
    assert [event.name for event in heard] == ["write", "write", "unknown", "write"]
    assert [event.params for event in heard] == [Text("good"), Text("bad"), None, None]
    assert {event.prompt_name for event in heard} == {"Run"}
    for event in heard:
        assert event.started_at.utcoffset() == timedelta(0)
        assert event.started_at >= earliest
        assert event.duration >= timedelta(0)
        assert event.decisions == ()
        assert event.result.success is event.success
    assert replies[0].text == "Done.\n\nwritten"
    assert [change.path for change in heard[0].change.files] == ["a.txt"]
    assert (files.read("a.txt").content, session[Text].all()) == ("good", (Text("good"), Text("written")))
    assert len(session[ToolInvoked].all()) == 4


def test_a_handler_is_given_the_runs_limits() -> None:
    """As they were given to the executor."""
    contexts: list[ToolContext] = []

    def look(params: None, *, context: ToolContext) -> ToolResult[None]:
        contexts.append(context)
        context.beat()
        return ToolResult.ok(None)

    limits: dict[str, Any] = {
        "deadline": Deadline(expires_at=datetime.now(UTC) + timedelta(hours=1)),
        "budget_tracker": BudgetTracker(budget=Budget(max_total_tokens=10)),
        "heartbeat": Heartbeat(),
        "run_context": RunContext(run_id="run"),
    }
    run, _, _, prompt = prepared(Tool[None, None](name="look", description="Look.", handler=look), **limits)
    assert run.execute(ToolCall("look")).success

    (context,) = contexts
    assert context.prompt is prompt
    assert {name: getattr(context, name) for name in limits} == limits


def test_a_passed_deadline_ends_the_evaluation() -> None:
    """Before the handler, and when the handler says so; the call is told all the same."""

    def late(params: None, *, context: ToolContext) -> ToolResult[None]:
        raise DeadlineExceededError("late")

    tool = Tool[None, None](name="late", description="Be late.", handler=late)
    for limits in ({}, {"deadline": Deadline(datetime.now(UTC) - timedelta(seconds=1))}):
        run, session, _, _ = prepared(tool, **limits)
        with pytest.raises(PromptEvaluationError) as raised:
            run.execute(ToolCall("late"))
        assert raised.value.phase == "tool"
        assert [event.success for event in session[ToolInvoked].all()] == [False]


def test_a_used_up_budget_ends_the_evaluation() -> None:
    """The tracker is asked before each call."""
    tracker = BudgetTracker(Budget(max_total_tokens=10))
    tracker.record(TokenUsage(input_tokens=10, output_tokens=5, cached_tokens=0))
    run, *_ = prepared(budget_tracker=tracker)

    with pytest.raises(PromptEvaluationError):
        run.execute(ToolCall("write", {"text": "x"}))


@pytest.mark.parametrize("opened", ["registry", "prompt"])
def test_a_block_is_a_transaction(opened: str) -> None:
    """Over state, files and resources; also for those who ask the resources for the files, as tools do."""
    files, counter, session = InMemoryFilesystem(), Counter(), Session()
    registry = ResourceRegistry.of(Binding.instance(Filesystem, files), Binding.instance(Counter, counter))
    prompt = Prompt(PromptTemplate(ns="spec", key="block")).bind(resources=registry)
    resources: Any = registry.open() if opened == "registry" else prompt.resources

    def change(text: str) -> None:
        resources.get(Filesystem).write(f"{text}.txt", text)
        resources.get(Counter).number += 1
        session.dispatch(Text(text))

    with resources:
        with tool_transaction(session, resources, tag="good"):
            change("good")
            assert resources.get(Filesystem).read("good.txt").content == "good"
        with pytest.raises(ValueError, match="bad"), tool_transaction(session, resources, tag="bad"):
            change("bad")
            raise ValueError("bad")
        with tool_transaction(session, resources) as transaction:
            assert transaction.filesystem is resources.get(Filesystem)
        assert resources.get(Filesystem) is files

    assert (files.exists("good.txt"), files.exists("bad.txt")) == (True, False)
    assert (counter.number, session[Text].all()) == (1, (Text("good"),))


def test_calls_inside_a_block_are_part_of_it() -> None:
    """What they committed goes when the block fails."""
    run, session, files, prompt = prepared()

    with pytest.raises(ValueError, match="no"), tool_transaction(session, prompt.resources, tag="outer"):
        assert run.execute(ToolCall("write", {"text": "inner"})).success
        assert prompt.resources.get(Filesystem).read("a.txt").content == "inner"
        raise ValueError("no")
    assert not files.exists("a.txt")
    assert session[Text].all() == ()

    with tool_transaction(session, prompt.resources, tag="outer"):
        assert run.execute(ToolCall("write", {"text": "inner"})).success
        assert not run.execute(ToolCall("write", {"text": "bad"})).success
    assert files.read("a.txt").content == "inner"


def test_state_can_be_taken_and_brought_back_by_hand() -> None:
    """Of everything that is bound, also what nobody has asked for yet; logs stay."""
    files, counter, session = InMemoryFilesystem(), Counter(), Session()
    with ResourceRegistry.build({Filesystem: files, Counter: counter}).open() as resources:
        session.dispatch(Text("before"))
        snapshot = create_snapshot(session, resources, tag="before")
        assert isinstance(snapshot, CompositeSnapshot)
        assert snapshot.tag == "before"
        assert create_snapshot(session=session, resource_context=resources).tag is None

        resources.get(Filesystem).write("a.txt", "x")
        resources.get(Counter).number = 5
        session.dispatch(Text("after"))
        restore_snapshot(session, resources, snapshot)

    assert (files.exists("a.txt"), counter.number, session[Text].all()) == (False, 0, (Text("before"),))


def test_a_resource_captured_elsewhere_shows_its_own_files() -> None:
    """What stands in for the files in one registry does not in another, nor after the block."""
    files, others, session = InMemoryFilesystem(), InMemoryFilesystem(), Session()
    with (
        ResourceRegistry.build({Filesystem: files}).open() as mine,
        ResourceRegistry.build({Filesystem: others}).open() as theirs,
        tool_transaction(session, mine),
    ):
        assert theirs.get(Filesystem) is others
        assert mine.get(Filesystem) is not files
