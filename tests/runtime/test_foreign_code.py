"""Whatever tools, values, resources and subscribers do, a call ends once, says nothing of the host, and leaves no mess."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.runtime.conftest import Note, Rig, Text, change_everything, press_ctrl_c, succeed

from wink.errors import (
    CommitFailed,
    ProviderError,
    RollbackFailed,
    ToolValidationError,
    WorkspaceBusy,
    WorkspaceReadOnly,
)
from wink.resources import Binding, Scope
from wink.runtime import ToolCall, ToolInvoked, tool_transaction
from wink.tools import ToolContext, ToolResult
from wink.transactions import current_transaction


class Unspeakable(Exception):
    """An exception that fails at being described."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


def test_an_exception_that_cannot_be_described_still_rolls_back(rig: Rig) -> None:
    """Undoing comes before describing."""

    @rig.tool
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        change_everything(context)
        raise Unspeakable

    reply = rig.call("fail")

    assert "Unspeakable" in reply.text
    rig.assert_nothing_happened()
    assert rig.event.change.rolled_back


@pytest.mark.parametrize(
    "error",
    [
        CommitFailed("could not commit: /home/someone/secret"),
        ProviderError("Database", "OperationalError: /home/someone/secret"),
        WorkspaceBusy("workspace '/home/someone/secret'", 60.0),
        WorkspaceReadOnly("/home/someone/secret", "it is read-only"),
        OSError(2, "/home/someone/secret", "a.txt"),
        OSError(2, "No such file", "/home/someone/secret"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_a_handler_raises_rolls_back_and_keeps_the_host_to_itself(rig: Rig, error: Exception) -> None:
    """Errors of ours may come out of a handler too; only those written for a model are shown to it."""

    @rig.tool
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        change_everything(context)
        raise error

    reply = rig.call("fail")

    assert not reply.success
    assert "secret" not in reply.text
    rig.assert_nothing_happened()
    assert rig.event.error is not None
    assert "secret" in rig.event.error or isinstance(error, OSError)


def test_a_failure_to_roll_back_that_a_handler_passes_on_rolls_back_too(rig: Rig) -> None:
    """It may be that of a call within; what can be undone of the outer one is undone."""

    @rig.tool
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        change_everything(context)
        raise RollbackFailed(("x",), "of something inside")

    with pytest.raises(RollbackFailed):
        rig.call("fail")

    rig.assert_nothing_happened()


def test_a_message_that_cannot_be_encoded_is_escaped(rig: Rig) -> None:
    """A lone surrogate in a reply would make the provider's request fail, and the run with it."""

    @rig.tool
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        raise ToolValidationError("no \ud800")

    reply = rig.call("fail")

    assert reply.text.encode() == b"no \\ud800"


@pytest.mark.parametrize(
    "arguments", [{("a", 1): 2}, {"text": {1, 2}}, {"text": object()}], ids=["tuple-key", "set", "object"]
)
def test_arguments_that_no_json_expresses_are_a_reply(rig: Rig, arguments: Any) -> None:
    """In Python a call can be anything."""
    rig.tool(succeed)

    reply = rig.call("succeed", arguments)

    assert not reply.success
    rig.assert_nothing_happened()
    assert len(rig.events) == 1


def a_generator(params: Text, *, context: ToolContext) -> Any:
    """What somebody writes who thinks of streaming."""
    yield ToolResult[Note].ok(Note(params.text))


def test_a_generator_is_no_result(rig: Rig) -> None:
    """It has not even begun."""
    rig.tool(a_generator)

    reply = rig.call("a_generator")

    assert "returned a generator where a ToolResult was expected" in reply.text
    rig.assert_nothing_happened()


@pytest.mark.parametrize("timeout", [None, 60.0])
@pytest.mark.parametrize("mode", ["blocking", "cooperative", "blocking in a loop"])
def test_a_function_that_returns_an_awaitable_is_asynchronous(rig: Rig, timeout: float | None, mode: str) -> None:
    """A decorator hides `async def`; leaving the coroutine unawaited would lose the call."""

    async def work(params: Text, context: ToolContext) -> ToolResult[Note]:
        await asyncio.sleep(0)
        return succeed(params, context=context)

    @rig.tool(timeout=timeout)
    def hidden(params: Text, *, context: ToolContext) -> Any:
        return work(params, context)

    call = ToolCall("hidden", {})

    async def in_a_loop() -> Any:
        return rig.executor.execute(call)

    if mode == "blocking":
        reply = rig.executor.execute(call)
    else:
        reply = asyncio.run(rig.executor.aexecute(call) if mode == "cooperative" else in_a_loop())

    assert reply.success, reply.text
    assert rig.files()["a.txt"] == "after"


@pytest.mark.parametrize("timeout", [None, 60.0])
@pytest.mark.parametrize("mode", ["blocking", "cooperative"])
def test_a_stop_iteration_is_a_failure_like_any_other(rig: Rig, timeout: float | None, mode: str) -> None:
    """No future takes one, so that a thread's result would never arrive."""

    @rig.tool(timeout=timeout)
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        change_everything(context)
        raise StopIteration

    call = ToolCall("fail", {})
    reply = rig.executor.execute(call) if mode == "blocking" else asyncio.run(rig.executor.aexecute(call))

    assert "failed with RuntimeError" in reply.text
    rig.assert_nothing_happened()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(2)], ids=["interrupt", "exit"])
@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("timeout", [None, 60.0])
def test_what_a_handler_raises_does_not_end_the_loop(
    rig: Rig, error: BaseException, kind: str, timeout: float | None
) -> None:
    """Asyncio lets such exceptions out of the loop itself, past whoever awaits: it would end all that runs there."""

    def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        change_everything(context)
        raise error

    async def fail_async(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        return fail(params, context=context)

    fail_async.__name__ = "fail"
    rig.tool(fail if kind == "sync" else fail_async, timeout=timeout)

    reply = asyncio.run(rig.executor.aexecute(ToolCall("fail", {})))

    assert reply.text.startswith(f"fail failed with {type(error).__name__} (error ")
    rig.assert_nothing_happened()
    assert len(rig.events) == 1
    assert not rig.filesystem.write_lock.is_held


class Scoped:
    """A resource of one call, whose end is not quiet."""

    ends_with: Callable[[], object]

    def close(self) -> None:
        self.ends_with()


def raising(error: BaseException) -> Callable[[], object]:
    """A function that raises."""

    def fail() -> None:
        raise error

    return fail


ENDS = {"error": raising(ValueError("no")), "exit": raising(SystemExit(3)), "Ctrl-C": press_ctrl_c}


@pytest.mark.parametrize("end", ENDS)
def test_a_resource_that_cannot_be_closed_leaves_nothing_set(rig: Rig, end: str) -> None:
    """The call has its outcome; its turn is given back and its context is left, whatever closing does."""
    Scoped.ends_with = staticmethod(ENDS[end])
    rig.resources[Scoped] = Binding(Scoped, lambda _: Scoped(), scope=Scope.TOOL_CALL)

    @rig.tool
    def use(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        context.resources.get(Scoped)
        return succeed(params, context=context)

    if end != "Ctrl-C":
        assert rig.call("use").success
    else:
        with pytest.raises(KeyboardInterrupt):
            rig.call("use")

    assert rig.files()["a.txt"] == "after"
    assert current_transaction() is None
    assert not rig.filesystem.write_lock.is_held
    assert len(rig.events) == 1


@pytest.mark.parametrize("end", ENDS)
def test_a_subscriber_that_raises_changes_nothing(rig: Rig, end: str) -> None:
    """The call is over when subscribers hear of it."""

    def hear(event: ToolInvoked) -> None:
        ENDS[end]()

    rig.session.dispatcher.subscribe(ToolInvoked, hear)
    rig.tool(succeed)

    if end != "Ctrl-C":
        assert rig.call("succeed").success
    else:
        with pytest.raises(KeyboardInterrupt):
            rig.call("succeed")

    assert rig.files()["a.txt"] == "after"
    assert not rig.filesystem.write_lock.is_held
    assert len(rig.events) == 1


def test_a_subscriber_may_make_calls_itself(rig: Rig) -> None:
    """By then the turn has been given back."""
    rig.tool(succeed)

    def hear(event: ToolInvoked) -> None:
        if event.call_id == "first":
            rig.executor.execute(ToolCall("succeed", {"text": "second"}, "second"))

    rig.session.dispatcher.subscribe(ToolInvoked, hear)
    rig.executor.execute(ToolCall("succeed", {"text": "first"}, "first"))

    assert rig.files()["a.txt"] == "second"
    assert [event.call_id for event in rig.events] == ["first", "second"]


@dataclass(frozen=True, slots=True)
class Unrenderable:
    """A value whose rendering fails, with the tool's arguments not to blame."""

    def render(self) -> str:
        raise TypeError("secret")


def test_a_failing_rendering_is_not_blamed_on_the_arguments(rig: Rig) -> None:
    """A model that is told what the tool takes would only try other arguments."""

    @rig.tool(result=Unrenderable)
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Unrenderable]:
        change_everything(context)
        return ToolResult[Unrenderable].ok(Unrenderable())

    reply = rig.call("fail")

    assert "its result could not be rendered (TypeError" in reply.text
    assert "it takes" not in reply.text
    assert "secret" not in reply.text
    rig.assert_nothing_happened()
    assert rig.event.error is not None
    assert "secret" in rig.event.error


def test_a_failing_reducer_keeps_its_text_from_the_model(rig: Rig) -> None:
    """Reducers are foreign code; what they raise is for people."""

    def refuse(view: Any, event: Any) -> Any:
        raise ValueError("secret")

    rig.session[Note].register(Note, refuse)
    rig.tool(succeed)

    reply = rig.call("succeed")

    assert "the session could not take its result" in reply.text
    assert "secret" not in reply.text
    rig.assert_nothing_happened()


class Counter:
    """A resource that takes part in transactions."""

    def __init__(self) -> None:
        self.value = 0

    def snapshot(self) -> int:
        return self.value

    def restore(self, state: int) -> None:
        self.value = state


@pytest.mark.parametrize("lazy", [False, True], ids=["given", "made"])
def test_a_resource_that_a_failing_call_uses_first_is_rolled_back_too(rig: Rig, lazy: bool) -> None:
    """It may not have existed when the call began; it did before the call changed it."""
    counter = Counter()
    rig.resources[Counter] = Binding(Counter, lambda _: counter) if lazy else counter

    @rig.tool
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        context.resources.get(Counter).value += 1
        raise ValueError("no")

    rig.call("fail")

    assert counter.value == 0


def test_a_resource_that_an_inner_call_uses_first_is_rolled_back_with_the_outer_one(rig: Rig) -> None:
    """The inner call stands no longer than the outer one does."""
    counter = Counter()
    rig.resources[Counter] = Binding(Counter, lambda _: counter)

    @rig.tool
    def inner(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        context.resources.get(Counter).value += 1
        return ToolResult[Note].ok(Note("x"))

    @rig.tool
    def outer(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        assert rig.executor.execute(ToolCall("inner", {})).success
        raise ValueError("no")

    rig.call("outer")

    assert counter.value == 0


class Stubborn(Counter):
    """Cannot go back."""

    def restore(self, state: int) -> None:
        raise ValueError("secret")


@pytest.mark.parametrize("order", [(Stubborn, Counter), (Counter, Stubborn)])
def test_a_resource_that_cannot_be_restored_is_reported_and_the_rest_undone(rig: Rig, order: tuple[type, ...]) -> None:
    """Everything that can be taken back is; the run hears of what cannot."""
    for kind in order:
        rig.resources[kind] = kind()

    @rig.tool
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        change_everything(context)
        for kind in order:
            context.resources.get(kind).value += 1
        raise ValueError("no")

    with pytest.raises(RollbackFailed, match=r"Stubborn\.restore raised ValueError") as raised:
        rig.call("fail")

    assert raised.value.paths == ()
    rig.assert_nothing_happened()
    assert rig.prompt.resources.get(Counter).value == 0
    assert not rig.event.success
    assert not rig.event.change.rolled_back
    assert not rig.filesystem.write_lock.is_held


def test_nothing_of_a_call_is_left_in_the_context(rig: Rig) -> None:
    """After a success, a failure and an interruption alike; the filesystem can be used directly again."""

    @rig.tool
    def end(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        if params.text == "interrupt":
            press_ctrl_c()
        return ToolResult[Note].ok(Note("x")) if params.text == "ok" else ToolResult[Note].error("no")

    for text in ("ok", "fail"):
        rig.call("end", text=text)
    with pytest.raises(KeyboardInterrupt):
        rig.call("end", text="interrupt")

    assert current_transaction() is None
    rig.filesystem.write("direct.txt", "works")


def test_a_block_waits_for_its_turn(rig: Rig) -> None:
    """A block that writes beside a call would write into what the call may have to take back."""
    rig.tool(succeed)
    inside: list[bool] = []

    with tool_transaction(rig.session, rig.prompt.resources):
        inside.append(rig.filesystem.write_lock.is_held)

    assert inside == [True]
    assert not rig.filesystem.write_lock.is_held


@pytest.fixture(autouse=True)
def no_threads_left() -> Iterator[None]:
    """Every thread that a test's calls started has ended with the test."""
    yield
    for thread in threading.enumerate():
        if thread.name in ("wink-handler", "wink-read"):
            thread.join(60)
            assert not thread.is_alive()
