"""What is dispatched on a session's dispatcher reaches its reducers, as tool handlers publish events there."""

from __future__ import annotations

import gc
from dataclasses import dataclass

import pytest

from wink.prompt import MarkdownSection, Prompt, PromptTemplate, Tool, ToolContext, ToolResult
from wink.runtime import ToolCall, ToolExecutor, ToolInvoked
from wink.session import Append, InProcessDispatcher, Replace, Session, SlicePolicy, SliceView, reducer


@dataclass(frozen=True)
class Noted:
    text: str = ""


@dataclass(frozen=True)
class NotedLoudly(Noted):
    pass


@dataclass(frozen=True)
class Count:
    number: int = 0

    @reducer(on=Noted)
    def more(self, event: Noted) -> Count:
        return Count(self.number + 1)


def counting(**options: object) -> Session:
    session = Session(**options)  # type: ignore[arg-type]
    session.install(Count, Count())
    return session


def test_dispatched_event_reaches_the_reducers() -> None:
    """A handler publishes through `context.session.dispatcher`, and the session's reducers take notice."""
    session, heard = counting(), []
    session.dispatcher.subscribe(Noted, heard.append)

    assert session.dispatcher.dispatch(Noted("a")).ok
    assert session[Count].latest() == Count(1)
    assert heard == [Noted("a")]
    session.dispatcher.dispatch(NotedLoudly())
    assert session[Count].latest() == Count(1), "reducers are for exactly one type"


def test_without_a_reducer_nothing_is_kept() -> None:
    """Watchers are told of every model's turn; a session that nobody told to keep them must not fill up."""
    session = Session()
    assert session.dispatcher.dispatch(Noted()).handled_count == 0
    assert not session[Noted].all()


@pytest.mark.parametrize("succeeds", [True, False])
def test_dispatched_event_of_a_failing_call_is_taken_back(succeeds: bool) -> None:
    """Working state is rolled back with its call however the event came; a log stays."""
    session = counting()
    session[Noted].register(Noted, lambda _view, event: Append(event), policy=SlicePolicy.LOG)

    def note(params: None, *, context: ToolContext) -> ToolResult[None]:
        assert context.event_bus.dispatch(Noted("inside")).ok
        assert context.session[Count].latest() == Count(1)
        return ToolResult.ok(None) if succeeds else ToolResult.error("no")

    tool = Tool[None, None]("note", "Note.", note)
    prompt = Prompt(PromptTemplate(ns="spec", key="note", sections=[MarkdownSection("T", "x", tools=[tool])]))
    run = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
    assert run.execute(ToolCall("note")).success is succeeds

    assert session[Count].latest() == (Count(1) if succeeds else None)
    assert session[Noted].all() == (Noted("inside"),)


def test_published_event_is_counted_once() -> None:
    """`publish` asks the reducers itself, before it tells the subscribers."""
    session = counting()
    assert session.publish(Noted()).ok
    assert session[Count].latest() == Count(1)
    assert len(session[Noted]) == 1


def test_failing_reducer_is_a_failure_of_the_dispatch() -> None:
    """Nothing changes then, and the other subscribers hear of the event."""
    session, heard = counting(), []

    def broken(view: SliceView[Noted], event: Noted) -> Replace[Noted]:
        raise RuntimeError("oops")

    session[Noted].register(Noted, broken)
    session.dispatcher.subscribe(Noted, heard.append)
    result = session.dispatcher.dispatch(Noted())

    assert not result.ok
    assert "oops" in str(result.errors[0].error)
    assert session[Count].latest() is None
    assert heard == [Noted()]


def test_sessions_of_one_dispatcher_all_take_notice() -> None:
    """A child shares its parent's dispatcher; what a nested prompt publishes itself stays the child's."""
    parent = counting()
    child = counting(parent=parent)
    assert child.dispatcher is parent.dispatcher

    child.dispatcher.dispatch(Noted())
    assert (parent[Count].latest(), child[Count].latest()) == (Count(1), Count(1))
    child.publish(Noted())
    assert (parent[Count].latest(), child[Count].latest()) == (Count(1), Count(2))


def test_clone_takes_notice_of_its_own_dispatcher() -> None:
    """It goes its own way, with the same reducers."""
    session = counting()
    twin = session.clone()
    twin.dispatcher.dispatch(Noted())
    assert (session[Count].latest(), twin[Count].latest()) == (None, Count(1))


def test_dispatcher_keeps_no_session_alive() -> None:
    """A program may have one dispatcher for the many sessions that it makes."""
    dispatcher = InProcessDispatcher()
    session = counting(dispatcher=dispatcher)
    assert dispatcher.dispatch(Noted()).handled_count == 1
    del session
    gc.collect()
    dispatcher.dispatch(Noted())
    assert dispatcher.dispatch(Noted()).handled_count == 0


def test_calls_are_counted_once_each() -> None:
    """`ToolInvoked` is published for every call; a reducer for it must not meet it twice."""
    session = Session()
    session[Count].register(ToolInvoked, lambda view, event: Append(Count()))
    tool = Tool[None, None]("look", "Look.", lambda params, *, context: ToolResult.ok(None))
    prompt = Prompt(PromptTemplate(ns="spec", key="look", sections=[MarkdownSection("T", "x", tools=[tool])]))
    run = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
    run.execute(ToolCall("look"))
    assert len(session[Count]) == len(session[ToolInvoked]) == 1
