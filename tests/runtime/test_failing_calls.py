"""Whatever foreign code raises, and however a call is made: one failed reply, nothing changed, and the next call works."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.runtime.conftest import Note, Rig, Text, change_everything, press_ctrl_c, succeed

from wink.policies import PolicyDecision
from wink.runtime import ToolCall, ToolReply
from wink.runtime import _policing as policing
from wink.session import Append
from wink.tools import ToolContext, ToolResult


class Own(BaseException):
    """What nobody expects."""


class Mute(BaseException):
    """It cannot be described, and ends the program when somebody tries."""

    def __str__(self) -> str:
        raise SystemExit(7)

    __repr__ = __str__


class Shown(Exception):
    """Asyncio asks for this where it ends."""

    def __repr__(self) -> str:
        raise SystemExit(9)


class Lost(OSError):
    """It fails at saying which file it is about."""

    @property
    def filename(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        raise SystemExit(8)


def deep() -> BaseException:
    """Groups in groups, more than a traceback can show."""
    error: BaseException = SystemExit(1)
    for _ in range(5000):
        error = BaseExceptionGroup("in", [error])
    return error


RAISED: dict[str, Callable[[], BaseException]] = {
    "SystemExit": lambda: SystemExit("bye"),
    "KeyboardInterrupt": KeyboardInterrupt,
    "GeneratorExit": GeneratorExit,
    "CancelledError": asyncio.CancelledError,
    "Own": Own,
    "BaseExceptionGroup": lambda: BaseExceptionGroup("all", [SystemExit(1), ValueError()]),
    "deep": deep,
    "Mute": Mute,
    "Lost": Lost,
    "Shown": Shown,
    "huge": lambda: ValueError("x" * 10_000_000),
    "MemoryError": MemoryError,
    "RecursionError": RecursionError,
}
HOW: dict[str, Callable[[Rig, ToolCall], ToolReply]] = {
    "execute": lambda rig, call: rig.executor.execute(call),
    "aexecute": lambda rig, call: asyncio.run(rig.executor.aexecute(call)),
    "apart": lambda rig, call: asyncio.run(rig.executor.aexecute(call, apart=True)),
    "batch": lambda rig, call: rig.executor.execute_batch([call])[0],
    "on a loop": lambda rig, call: asyncio.run(on_a_loop(rig, call)),
}


async def on_a_loop(rig: Rig, call: ToolCall) -> ToolReply:
    return rig.executor.execute(call)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """What is logged of these is a great deal."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def assert_failed(rig: Rig, reply: ToolReply, name: str = "fail") -> None:
    assert not reply.success
    assert name in reply.text
    assert len(reply.text) < 2000
    assert "/" not in reply.text
    rig.assert_nothing_happened()
    assert [event.success for event in rig.events] == [False]
    assert rig.event.outcome != "raised"
    assert len(rig.event.error or "") < 20_000
    assert not rig.filesystem.write_lock.is_held


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("raised", RAISED)
def test_whatever_a_handler_raises_fails_its_call(rig: Rig, raised: str, kind: str, how: str) -> None:
    """The program did not end, so the run goes on, and the model is told which tool it was."""

    def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        change_everything(context)
        raise RAISED[raised]()  # noqa: RSE102

    async def fail_async(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        return fail(params, context=context)

    fail_async.__name__ = "fail"
    rig.tool(fail if kind == "sync" else fail_async)
    rig.tool(succeed)

    reply = HOW[how](rig, ToolCall("fail", {}))

    assert_failed(rig, reply)
    assert "(error " in reply.text
    assert rig.call("succeed").success
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@dataclass(frozen=True, slots=True)
class Exits:
    """A value that ends the program when it is shown."""

    def render(self) -> str:
        raise SystemExit(2)


@dataclass(frozen=True, slots=True)
class Strict:
    """Parameters that end the program."""

    text: str = "x"

    def __post_init__(self) -> None:
        raise SystemExit(2)


class Policy:
    """Raises where it is told to."""

    name = "odd"

    def __init__(self, where: str, act: Callable[[], Any]) -> None:
        self._where, self._act = where, act

    def check(self, tool: Any, params: Any, *, context: ToolContext) -> PolicyDecision:
        return self._act() if self._where == "check" else PolicyDecision.allow()

    def on_result(self, tool: Any, params: Any, result: Any, *, context: ToolContext) -> None:
        if self._where == "on_result":
            self._act()


def up(make: Callable[[], BaseException]) -> Callable[[], Any]:
    def act() -> Any:
        raise make()

    return act


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("where", ["params", "render", "reducer"])
def test_what_else_a_tool_brings_fails_its_call(rig: Rig, where: str, how: str) -> None:
    """Foreign code runs before the handler and after it too."""

    def fail(params: Any, *, context: ToolContext) -> ToolResult[Any]:
        change_everything(context)
        return ToolResult.ok(Exits() if where == "render" else Note("x"))

    def reduce(view: Any, event: Note) -> Append:
        raise SystemExit(3)

    rig.tool(fail, params=Strict if where == "params" else Text, result=Exits if where == "render" else Note)
    if where == "reducer":
        rig.session[Note].register(Note, reduce)

    reply = HOW[how](rig, ToolCall("fail", {}))

    assert_failed(rig, reply)
    assert "SystemExit" in reply.text


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("where", ["check", "on_result"])
@pytest.mark.parametrize("raised", RAISED)
def test_whatever_a_policy_raises_denies(rig: Rig, raised: str, where: str, how: str) -> None:
    """A rule that fails opens no gate, and ends nothing; it is named."""
    rig.policies.append(Policy(where, up(RAISED[raised])))

    @rig.tool
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        change_everything(context)
        return ToolResult.ok(Note("x"))

    reply = HOW[how](rig, ToolCall("fail", {}))

    assert_failed(rig, reply)
    assert "policy 'odd'" in reply.text
    assert (rig.event.outcome == "denied") == (where == "check")


def test_ctrl_c_in_a_policy_ends_the_program(rig: Rig) -> None:
    """It is the person's, whatever is running."""
    rig.policies.append(Policy("check", press_ctrl_c))
    rig.tool(succeed)

    with pytest.raises(KeyboardInterrupt):
        rig.call("succeed")

    rig.assert_nothing_happened()
    assert rig.event.outcome == "raised"


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_ctrl_c_on_a_running_loop_ends_the_program(rig: Rig, kind: str) -> None:
    """There it is a cancellation first, which is obeyed too."""

    def stop(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        change_everything(context)
        press_ctrl_c()
        return ToolResult.ok(Note("x"))

    async def stop_async(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        stop(params, context=context)
        await asyncio.sleep(3600)
        raise AssertionError("not reached")

    stop_async.__name__ = "stop"
    rig.tool(stop if kind == "sync" else stop_async, timeout=None if kind == "async" else 60.0)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(rig.executor.aexecute(ToolCall("stop", {})))

    rig.assert_nothing_happened()


def test_a_program_that_ends_at_sigterm_is_not_kept_from_it(rig: Rig) -> None:
    """`sys.exit` in a handler of signals is somebody's wish, not the tool's."""

    @rig.tool
    def stop(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        change_everything(context)
        signal.raise_signal(signal.SIGTERM)
        return ToolResult.ok(Note("x"))

    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    try:
        with pytest.raises(SystemExit):
            rig.call("stop")
    finally:
        signal.signal(signal.SIGTERM, before)

    rig.assert_nothing_happened()


def test_a_log_that_cannot_be_written_changes_nothing(rig: Rig) -> None:
    """A handler may have closed the stream that failures are told to."""

    class Closed(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise ValueError("I/O operation on closed file")

    @rig.tool
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        raise ValueError("no")

    logging.disable(logging.NOTSET)
    handler = Closed()
    logging.getLogger("wink.runtime").addHandler(handler)
    try:
        assert_failed(rig, rig.call("fail"))
    finally:
        logging.getLogger("wink.runtime").removeHandler(handler)


# -- time


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policing, "POLICY_SECONDS", 0.05)


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Shut until the test is over."""
    made = threading.Event()
    yield made
    made.set()


@pytest.mark.parametrize("how", ["aexecute", "apart"])
@pytest.mark.parametrize("where", ["check", "on_result"])
def test_a_policy_that_does_not_come_back_denies(
    rig: Rig, impatient: None, gate: threading.Event, where: str, how: str
) -> None:
    """What is in doubt is refused, and what it was asked about is free for others."""
    rig.policies.append(Policy(where, gate.wait))

    @rig.tool
    def change(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        change_everything(context)
        return ToolResult.ok(Note("x"))

    rig.tool(succeed)

    reply = HOW[how](rig, ToolCall("change", {}))

    assert_failed(rig, reply, "change")
    expected = "denied change: it did not answer" if where == "check" else "did not learn of it"
    assert f"policy 'odd' {expected} within 0.05 s" in reply.text
    rig.policies.clear()
    rig._prompt = rig._executor = None
    assert rig.call("succeed").success


@pytest.mark.parametrize("how", ["aexecute", "apart"])
def test_a_policy_that_never_waits_costs_no_thread(rig: Rig, how: str) -> None:
    """wink's own are asked at each call: two threads more would cost more than the call."""
    threads: list[bool] = []

    def note() -> PolicyDecision:
        threads.append(threading.current_thread() is threading.main_thread())
        return PolicyDecision.allow()

    class Immediate(Policy):
        is_immediate = True

    rig.policies += [Immediate("check", note), Immediate("on_result", note)]
    rig.tool(succeed)

    assert HOW[how](rig, ToolCall("succeed", {})).success
    assert threads == [True, True]

    rig.policies.append(Policy("check", note))
    rig._prompt = rig._executor = None
    assert HOW[how](rig, ToolCall("succeed", {})).success
    assert threads[2:] == [False, False, False]


def test_a_policy_that_was_given_up_changes_nothing_later(rig: Rig, impatient: None, gate: threading.Event) -> None:
    """Nor is any policy after it asked by the thread that was left behind."""
    late: list[str] = []
    tried = threading.Event()

    class Late(Policy):
        def check(self, tool: Any, params: Any, *, context: ToolContext) -> PolicyDecision:
            gate.wait()
            try:
                context.filesystem.write("a.txt", "late")
            except Exception as error:
                late.append(type(error).__name__)
            tried.set()
            return PolicyDecision.allow()

    asked: list[str] = []
    rig.policies += [Late("", int), Policy("check", lambda: asked.append("asked"))]
    rig.tool(succeed)

    reply = asyncio.run(rig.executor.aexecute(ToolCall("succeed", {})))
    gate.set()

    assert "did not answer within" in reply.text
    assert tried.wait(30)
    assert late == ["HandleRevoked"]
    assert asked == []
    rig.assert_nothing_happened()


def test_each_policy_has_its_own_time(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten that are slow are not one that hangs."""
    monkeypatch.setattr(policing, "POLICY_SECONDS", 2.0)
    rig.policies += [
        Policy("check", lambda: time.sleep(0.3) or PolicyDecision.allow()),
    ] * 10
    rig.tool(succeed)

    assert asyncio.run(rig.executor.aexecute(ToolCall("succeed", {}))).success


def test_the_loop_goes_on_while_a_policy_thinks(rig: Rig, gate: threading.Event) -> None:
    """It is asked on a thread: whoever shares the loop is answered meanwhile."""
    rig.policies.append(
        Policy("check", lambda: (gate.wait(30) and PolicyDecision.allow()) or PolicyDecision.deny("held up"))
    )
    rig.tool(succeed)

    async def both() -> ToolReply:
        call = asyncio.create_task(rig.executor.aexecute(ToolCall("succeed", {})))
        for _ in range(10):
            await asyncio.sleep(0)
        gate.set()
        return await call

    assert asyncio.run(both()).success
