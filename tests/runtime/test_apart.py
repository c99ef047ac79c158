"""Handlers of a server run away from its event loop, and cannot hold it up or end it."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from wink import Prompt, PromptTemplate, Session, Tool, ToolCall, ToolContext, ToolExecutor, ToolReply, ToolResult
from wink.prompt import ToolsSection
from wink.transactions import current_transaction


@dataclass(frozen=True)
class Nothing:
    """No parameters."""


def executor(handler: Callable[..., Any], timeout: float | None = None) -> ToolExecutor:
    tool = Tool[Nothing, None]("act", "Act.", handler, timeout=timeout)
    prompt = Prompt(PromptTemplate(ns="n", key="k", sections=[ToolsSection("Tools", tools=[tool])]))
    session = Session()
    return ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)


async def call(handler: Callable[..., Any], timeout: float | None = None) -> ToolReply:
    return await executor(handler, timeout).aexecute(ToolCall("act"), apart=True)


def test_sync_and_async_handlers_run_on_threads_of_their_own_in_the_calls_context() -> None:
    """So that the loop is free, and context variables are there as they would be without threads."""
    seen: list[tuple[bool, bool, str]] = []
    variable = contextvars.ContextVar("variable", default="")

    def look() -> ToolResult[None]:
        apart = threading.current_thread() is not threading.main_thread()
        seen.append((apart, current_transaction() is not None, variable.get()))
        return ToolResult.ok(None)

    def sync(params: Nothing, *, context: ToolContext) -> ToolResult[None]:
        return look()

    async def later(params: Nothing, *, context: ToolContext) -> ToolResult[None]:
        await asyncio.sleep(0)
        return look()

    def disguised(params: Nothing, *, context: ToolContext) -> Any:
        return later(params, context=context)

    async def all_three() -> list[ToolReply]:
        variable.set("set")
        return [await call(handler) for handler in (sync, later, disguised)]

    assert all(reply.success for reply in asyncio.run(all_three()))
    assert seen == [(True, True, "set")] * 3


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_what_ends_programs_fails_its_own_call(error: type[BaseException]) -> None:
    """A task that let it out would end the loop, and with it the calls of all clients."""

    async def leaving(params: Nothing, *, context: ToolContext) -> ToolResult[None]:
        raise error

    assert f"failed with {error.__name__}" in asyncio.run(call(leaving)).text


def test_a_cancelled_async_handler_may_clean_up_and_a_sync_one_is_left_behind() -> None:
    """The one can be told to stop, the other only be kept from changing anything."""
    cleaned, began, go_on = threading.Event(), threading.Event(), threading.Event()

    async def later(params: Nothing, *, context: ToolContext) -> ToolResult[None]:
        began.set()
        try:
            await asyncio.sleep(3600)
        finally:
            cleaned.set()
        return ToolResult.ok(None)

    def sync(params: Nothing, *, context: ToolContext) -> ToolResult[None]:
        began.set()
        go_on.wait(60)
        return ToolResult.ok(None)

    async def cancelled(handler: Callable[..., Any]) -> bool:
        began.clear()
        task = asyncio.create_task(call(handler))
        await asyncio.to_thread(began.wait, 60)
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    assert asyncio.run(cancelled(later))
    assert cleaned.is_set()
    assert asyncio.run(cancelled(sync))
    assert not go_on.is_set()
    go_on.set()


@pytest.mark.parametrize("is_async", [True, False])
def test_a_timeout_is_kept_to(is_async: bool) -> None:
    """The tool's own, whatever kind of handler it has."""
    go_on = threading.Event()

    async def later(params: Nothing, *, context: ToolContext) -> ToolResult[None]:
        await asyncio.sleep(3600)
        return ToolResult.ok(None)

    def sync(params: Nothing, *, context: ToolContext) -> ToolResult[None]:
        go_on.wait(60)
        return ToolResult.ok(None)

    reply = asyncio.run(call(later if is_async else sync, timeout=0.01))
    go_on.set()

    assert "timed out after 0.01 s" in reply.text


def test_the_transaction_of_another_context_can_be_seen() -> None:
    """A server that has to end takes back what its calls have open, also when its loop does not answer."""
    found: list[bool] = []

    def look(params: Nothing, *, context: ToolContext) -> ToolResult[None]:
        found.append(current_transaction(around) is not None)
        return ToolResult.ok(None)

    around = contextvars.copy_context()

    async def work() -> None:
        await asyncio.get_running_loop().create_task(call(look), context=around)

    asyncio.run(work())

    assert found == [True]
    assert current_transaction(around) is None
