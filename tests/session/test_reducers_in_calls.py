"""A reducer that raises fails the call that dispatched the event, and takes back everything the call did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from wink.errors import ReducerError
from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.prompt import MarkdownSection, Prompt, PromptTemplate, Tool, ToolContext, ToolResult
from wink.runtime import ToolCall, ToolExecutor, ToolInvoked, ToolReply
from wink.session import Append, Replace, Session, SlicePolicy, SliceView, reducer
from wink.workspace import Workspace


@dataclass(frozen=True)
class Step:
    number: int


@dataclass(frozen=True)
class Seen:
    number: int


@dataclass(frozen=True)
class Total:
    """At most 10."""

    number: int = 0

    @reducer(on=Step)
    def add(self, event: Step) -> Total:
        if self.number + event.number > 10:
            raise ValueError("more than 10")
        return replace(self, number=self.number + event.number)


@dataclass
class Harness:
    """A session, files, and somebody who calls a tool whose handler the test writes."""

    session: Session = field(default_factory=Session)
    files: Filesystem = field(default_factory=InMemoryFilesystem)

    def call(self, handler: Callable[[ToolContext], Any]) -> ToolReply:
        def handle(params: None, *, context: ToolContext) -> ToolResult[Step]:
            context.filesystem.write("a.txt", "written by the call")
            given = handler(context)
            return given if isinstance(given, ToolResult) else ToolResult.ok(None, message="done")

        tool = Tool[None, Step](name="work", description="Work.", handler=handle)
        template = PromptTemplate(
            ns="tests",
            key="k",
            sections=[MarkdownSection("T", "x", tools=[tool])],
            resources={Filesystem: self.files},
        )
        prompt = Prompt(template)
        rendered = prompt.render(session=self.session)
        return ToolExecutor(prompt=prompt, rendered=rendered, session=self.session).execute(ToolCall("work", {}))

    def nothing_is_left(self) -> bool:
        (event,) = self.session[ToolInvoked].all()
        return (
            not self.files.exists("a.txt")
            and self.session[Step].all() == ()
            and self.session[Total].all() == (Total(8),)
            and not event.success
            and event.change.rolled_back
        )


@pytest.fixture
def harness() -> Harness:
    """With a total of 8, so that 5 more are too many."""
    harness = Harness()
    harness.session.install(Total, initial=Total)
    harness.session[Step].register(Step, lambda view, event: Append(event))
    harness.session.dispatch(Step(8))
    harness.session[Step].clear()
    return harness


def test_a_result_that_a_reducer_cannot_take_fails_the_call(harness: Harness) -> None:
    """The handler was done, and still nothing of it stands; the event keeps the reason."""
    reply = harness.call(lambda context: ToolResult.ok(Step(5)))

    assert not reply.success
    assert reply.text.startswith("work was taken back: the session could not take its result (ReducerError")
    assert harness.nothing_is_left()
    (event,) = harness.session[ToolInvoked].all()
    assert "Total.add" in (event.error or "")


def test_an_event_that_a_reducer_cannot_take_fails_the_call(harness: Harness) -> None:
    """When the handler dispatches it and lets the error pass."""
    reply = harness.call(lambda context: context.session.dispatch(Step(5)))

    assert not reply.success
    assert "ReducerError" in reply.text
    assert harness.nothing_is_left()


def test_a_handler_may_live_with_it(harness: Harness) -> None:
    """The event has changed no slice, and what the handler does then is its own business."""

    def handler(context: ToolContext) -> None:
        with pytest.raises(ReducerError, match=r"Total.add of slice Total failed on Step: it raised ValueError: more"):
            context.session.dispatch(Step(5))
        assert context.session[Step].all() == ()
        context.session.dispatch(Step(2))

    assert harness.call(handler).success
    assert (harness.session[Total].latest(), harness.session[Step].all()) == (Total(10), (Step(2),))
    assert harness.files.read("a.txt").content == "written by the call"


@pytest.mark.parametrize(
    "reduce",
    [
        lambda view, event: None,
        lambda view, event: (event,),
        lambda view, event: Append("no step"),
        lambda view, event: Replace((Step(1), Total())),
        lambda view, event: 1 // 0,
    ],
)
def test_nonsense_is_as_bad_as_raising(harness: Harness, reduce: Any) -> None:
    """A slice holds only what it can hold."""
    harness.session[Seen].register(Step, reduce)
    assert not harness.call(lambda context: ToolResult.ok(Step(1))).success
    assert harness.nothing_is_left()


def test_it_is_the_commit_that_fails_when_the_state_has_moved(harness: Harness) -> None:
    """The event was fine when the handler dispatched it; over what another thread wrote meanwhile it is not."""

    def handler(context: ToolContext) -> None:
        import threading

        context.session.dispatch(Step(2))
        thread = threading.Thread(target=harness.session.dispatch, args=(Step(1),))
        thread.start()
        thread.join(30)
        assert context.session[Total].latest() == Total(10)

    reply = harness.call(handler)

    assert not reply.success
    assert harness.session[Total].latest() == Total(9)
    assert harness.session[Step].all() == (Step(1),)
    assert not harness.files.exists("a.txt")


def test_a_reducer_that_fails_on_the_call_itself_fails_nothing(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    """The call has happened by then; the reducer is logged, and the event is kept."""
    harness.session[Seen].register(ToolInvoked, lambda view, event: 1 // 0)
    assert harness.call(lambda context: ToolResult.ok(Step(1))).success
    assert harness.session[Total].latest() == Total(9)
    assert len(harness.session[ToolInvoked]) == 1
    assert "a reducer failed on ToolInvoked" in caplog.text


def test_a_call_inside_a_call_fails_alone(harness: Harness) -> None:
    """The outer call goes on with what it had."""

    def handler(context: ToolContext) -> None:
        context.session.dispatch(Step(1))
        inner = Tool[None, Step](
            name="inner", description="Inner.", handler=lambda params, *, context: ToolResult.ok(Step(5))
        )
        prompt = Prompt(PromptTemplate(ns="t", key="inner", sections=[MarkdownSection("T", "x", tools=[inner])]))
        rendered = prompt.render(session=context.session)
        run = ToolExecutor(prompt=prompt, rendered=rendered, session=context.session)
        assert not run.execute(ToolCall("inner", {})).success
        assert context.session[Total].latest() == Total(9)

    assert harness.call(handler).success
    assert harness.session[Total].latest() == Total(9)
    assert [event.success for event in harness.session[ToolInvoked]] == [False, True]


def test_logs_stay_whatever_a_reducer_does(harness: Harness) -> None:
    """What was written to a log before the failure happened."""
    harness.session[Seen].register(Seen, lambda view, event: Append(event), policy=SlicePolicy.LOG)

    def handler(context: ToolContext) -> None:
        context.session.dispatch(Seen(1))
        context.session.dispatch(Step(5))

    assert not harness.call(handler).success
    assert harness.session[Seen].all() == (Seen(1),)
    assert harness.nothing_is_left()


def test_a_reducer_sees_what_the_call_has_written(harness: Harness) -> None:
    """Several events of one call build on each other."""
    seen: list[int] = []

    def note(view: SliceView[Seen], event: Step) -> Append[Seen]:
        seen.append(len(view))
        return Append(Seen(event.number))

    harness.session[Seen].register(Step, note)

    def handler(context: ToolContext) -> None:
        context.session.dispatch(Step(1))
        context.session.dispatch(Step(1))

    assert harness.call(handler).success
    assert seen == [0, 1]


def test_on_the_disk_the_record_holds_nothing_of_it_either(tmp_path: Any) -> None:
    """Another process finds the state as it was before the call."""
    with Workspace.open(tmp_path) as workspace:
        harness = Harness(workspace.session("s"), workspace.filesystem)
        harness.session.install(Total, initial=Total)
        harness.session.dispatch(Step(8))
        assert not harness.call(lambda context: ToolResult.ok(Step(5))).success
    with Workspace.open(tmp_path) as workspace:
        assert workspace.session("s")[Total].all() == (Total(8),)
        assert not workspace.filesystem.exists("a.txt")
