"""Each row of the outcome table, with reply, session and files looked at together."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.runtime.conftest import Note, Rig, Text, change_everything, succeed

from wink.errors import (
    BudgetExceededError,
    DeadlineExceededError,
    PromptEvaluationError,
    ToolValidationError,
    VisibilityExpansionRequired,
)
from wink.limits import Budget, BudgetTracker, Deadline, TokenUsage
from wink.runtime import OUTCOMES, Ending, ToolCall
from wink.tools import ToolContext, ToolResult


def test_a_success_stays(rig: Rig) -> None:
    """The other side of every test below: what succeeds is there afterwards, once."""
    rig.tool(succeed)

    reply = rig.call("succeed", text="done")

    assert reply.success
    assert reply.text == "OK\n\nnoted done"
    assert rig.files() == {"a.txt": "done", "dir/b.txt": "before\n"}
    assert rig.notes() == ["before", "done"]
    assert rig.event.success
    assert rig.event.rendered_output == reply.text
    assert rig.event.change.paths == ("a.txt",)
    assert not rig.event.change.rolled_back


def test_a_failed_result_rolls_back(rig: Rig) -> None:
    """A handler that says that it failed has changed nothing."""

    @rig.tool
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        change_everything(context)
        return ToolResult[Note].error("the disk said no")

    reply = rig.call("fail")

    assert not reply.success
    assert reply.text == "the disk said no"
    rig.assert_nothing_happened()
    assert not rig.event.success
    assert rig.event.change.rolled_back
    assert set(rig.event.change.paths) == {"a.txt", "new/c.txt", "dir/b.txt"} | (set(rig.event.change.paths) & {"new"})
    assert "+half" in rig.event.change.diff()


RAISED = [
    (ToolValidationError("no such step"), "no such step"),
    (TypeError("unsupported operand"), "it takes Text(text: str)"),
    (ValueError("secret /etc/passwd"), "fail failed with ValueError"),
    (RuntimeError("boom"), "fail failed with RuntimeError"),
    (StopIteration("gone"), "fail failed with RuntimeError"),
    (TimeoutError("a socket"), "fail failed with TimeoutError"),
    (RecursionError("deep"), "fail failed with RecursionError"),
]


@pytest.mark.parametrize(("error", "expected"), RAISED, ids=[type(error).__name__ for error, _ in RAISED])
def test_an_exception_rolls_back_and_becomes_a_reply(rig: Rig, error: Exception, expected: str) -> None:
    """The run goes on; the model is told what it can use, and nothing of the host."""

    @rig.tool
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        change_everything(context)
        raise error

    reply = rig.call("fail")

    assert not reply.success
    assert expected in reply.text
    assert "/etc/passwd" not in reply.text
    rig.assert_nothing_happened()
    assert rig.event.rendered_output == reply.text
    assert rig.event.change.rolled_back


def test_the_event_keeps_the_text_that_the_model_is_not_shown(rig: Rig) -> None:
    """Whoever runs the agent needs the reason; both texts carry the same id."""

    @rig.tool
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        raise ValueError("secret /etc/passwd")

    reply = rig.call("fail")

    assert rig.event.error is not None
    assert "secret /etc/passwd" in rig.event.error
    error_id = reply.text.partition("(error ")[2].partition(")")[0]
    assert error_id
    assert error_id in rig.event.error


@pytest.mark.parametrize(
    "error",
    [
        VisibilityExpansionRequired({}, "more is needed", ("details",)),
        PromptEvaluationError("the model is gone", phase="request"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_ends_a_run_is_raised_again_after_the_rollback(rig: Rig, error: BaseException) -> None:
    """Nothing that stops the program may leave half a call behind."""

    @rig.tool
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        change_everything(context)
        raise error

    with pytest.raises(type(error)) as raised:
        rig.call("fail")

    assert raised.value is error
    rig.assert_nothing_happened()
    assert not rig.event.success
    assert rig.event.change.rolled_back


@pytest.mark.parametrize("error", [DeadlineExceededError("too late"), BudgetExceededError("total", 9, 5)])
def test_a_limit_passed_inside_a_call_becomes_an_evaluation_error(rig: Rig, error: Exception) -> None:
    """The loop around the executor knows one error for it, with the phase."""

    @rig.tool
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        change_everything(context)
        raise error

    with pytest.raises(PromptEvaluationError) as raised:
        rig.call("fail")

    assert raised.value.phase == "tool"
    assert raised.value.__cause__ is error
    rig.assert_nothing_happened()
    assert not rig.event.success


def test_a_deadline_that_has_passed_stops_the_call_before_its_handler(rig: Rig) -> None:
    """Nothing begins that could not end in time."""
    rig.deadline = Deadline(datetime.now(UTC) - timedelta(seconds=1))
    rig.tool(succeed)

    with pytest.raises(PromptEvaluationError, match="deadline") as raised:
        rig.call("succeed")

    assert raised.value.phase == "tool"
    rig.assert_nothing_happened()
    assert not rig.event.success


def test_a_used_up_budget_stops_the_call_before_its_handler(rig: Rig) -> None:
    """The same for tokens."""
    rig.budget_tracker = BudgetTracker(Budget(max_total_tokens=10))
    rig.budget_tracker.record(TokenUsage(input_tokens=11))
    rig.tool(succeed)

    with pytest.raises(PromptEvaluationError):
        rig.call("succeed")

    rig.assert_nothing_happened()


@dataclass(frozen=True, slots=True)
class Other:
    """Not what any tool here declares."""

    number: int = 1


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        (None, "returned None where a ToolResult was expected"),
        ("done", "returned a str where a ToolResult was expected"),
        (ToolResult(message="OK", value=Other()), "Note was expected, not a Other"),
        (ToolResult(message="OK", value=[Note("x")]), "Note was expected, not a list"),
        (ToolResult(message=3, value=None), "message is not text"),  # pyright: ignore[reportArgumentType]
    ],
)
def test_a_wrong_return_value_rolls_back(rig: Rig, returned: Any, expected: str) -> None:
    """A tool that breaks its own contract has not succeeded."""

    @rig.tool
    def fail(params: Text, *, context: ToolContext) -> Any:
        change_everything(context)
        return returned

    reply = rig.call("fail")

    assert not reply.success
    assert expected in reply.text
    rig.assert_nothing_happened()


@dataclass(frozen=True, slots=True)
class Locked:
    """A value that no record can keep."""

    lock: Any

    def render(self) -> str:
        return "locked"


def test_a_value_that_cannot_be_stored_rolls_back(rig: Rig) -> None:
    """Even where the model's text would not show it: a tool behaves the same with a record and without."""

    @rig.tool(result=Locked)
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Locked]:
        change_everything(context)
        return ToolResult[Locked].ok(Locked(threading.Lock()))

    reply = rig.call("fail")

    assert not reply.success
    rig.assert_nothing_happened()
    assert rig.session[Locked].all() == ()


@dataclass(frozen=True, slots=True)
class Unrenderable:
    """A value whose rendering fails."""

    def render(self) -> str:
        raise ValueError("no words")


def test_a_rendering_that_fails_rolls_back(rig: Rig) -> None:
    """The model would be told nothing of a change that is there."""

    @rig.tool(result=Unrenderable)
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Unrenderable]:
        change_everything(context)
        return ToolResult[Unrenderable].ok(Unrenderable())

    reply = rig.call("fail")

    assert not reply.success
    rig.assert_nothing_happened()
    assert rig.session[Unrenderable].all() == ()


def test_a_reducer_that_raises_rolls_back(rig: Rig) -> None:
    """Reducers are part of the transaction."""

    def refuse(view: Any, event: Any) -> Any:
        raise ValueError("not that")

    rig.session[Note].register(Other, refuse)

    @rig.tool(result=Other)
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Other]:
        change_everything(context)
        return ToolResult[Other].ok(Other())

    reply = rig.call("fail")

    assert not reply.success
    rig.assert_nothing_happened()


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_handler_that_takes_too_long_is_rolled_back_and_fenced(rig: Rig, kind: str) -> None:
    """What it does afterwards goes nowhere."""
    go_on, tried = threading.Event(), threading.Event()
    late: list[BaseException] = []

    def continue_late(context: ToolContext) -> None:
        go_on.wait(30)
        for attempt in (
            lambda: context.filesystem.write("a.txt", "late"),
            lambda: context.session[Note].append(Note("late")),
        ):
            try:
                attempt()
            except Exception as error:
                late.append(error)
        tried.set()

    def slow(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        try:
            change_everything(context)
        finally:  # On a busy machine its time may be up in the middle of that.
            continue_late(context)
        return ToolResult[Note].ok(Note("late"))

    async def slow_async(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        return slow(params, context=context)

    slow_async.__name__ = "slow"
    rig.tool(slow if kind == "sync" else slow_async, timeout=0.5)

    reply = rig.call("slow")
    go_on.set()

    assert not reply.success
    assert "timed out after 0.5 s" in reply.text
    assert tried.wait(30)
    assert [type(error).__name__ for error in late] == ["HandleRevoked", "HandleRevoked"]
    rig.assert_nothing_happened()
    assert len(rig.events) == 1


def test_an_unknown_tool_is_a_reply_that_names_the_tools(rig: Rig) -> None:
    """A model mistypes; it gets another chance."""
    rig.tool(succeed)

    reply = rig.call("suceed", text="x")

    assert not reply.success
    assert "did you mean 'succeed'?" in reply.text
    rig.assert_nothing_happened()
    assert rig.event.name == "suceed"
    assert not rig.event.success


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("{", "not valid"),
        ("[]", "not valid"),
        ('{"text": 5}', "$.text"),
        ('{"text": "x", "more": 1}', "$.more"),
        ('{"text": "\\ud800"}', ""),
    ],
)
def test_bad_arguments_are_a_reply_that_names_each_problem(rig: Rig, arguments: str, expected: str) -> None:
    """Bad JSON never ends a run."""

    @rig.tool
    def strict(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        raise ToolValidationError("reached")

    reply = rig.call("strict", arguments)

    assert not reply.success
    assert expected in reply.text
    reply.text.encode()
    rig.assert_nothing_happened()
    assert len(rig.events) == 1


def test_a_transaction_that_cannot_begin_stops_the_call(rig: Rig) -> None:
    """No handler runs without a way back."""

    class Stuck:
        def snapshot(self) -> object:
            raise OSError("no memory")

        def restore(self, state: object) -> None:
            raise AssertionError("never asked")

    rig.resources[Stuck] = Stuck()
    ran: list[str] = []

    @rig.tool
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        ran.append("ran")
        return ToolResult[Note].ok(Note("x"))

    rig.prompt.resources.get(Stuck)
    reply = rig.call("fail")

    assert not reply.success
    assert ran == []
    rig.assert_nothing_happened()
    assert len(rig.events) == 1
    del rig.resources[Stuck]


def test_the_table_covers_every_exception() -> None:
    """The last row catches whatever the others do not name: it is the handler's failure, and nobody else's."""
    assert OUTCOMES[-1] == (BaseException, Ending.FAIL_WITH_ID)


def test_every_call_gets_an_id_of_its_own(rig: Rig) -> None:
    """A provider that sends none must still be able to tell the answers apart."""
    rig.tool(succeed)

    first = rig.executor.execute(ToolCall("succeed", {"text": "1"}))
    second = rig.executor.execute(ToolCall("succeed", {"text": "2"}))
    third = rig.executor.execute(ToolCall("succeed", {"text": "3"}, "mine"))

    assert first.call_id != second.call_id
    assert third.call_id == "mine"
    assert [event.call_id for event in rig.events] == [first.call_id, second.call_id, "mine"]
