"""Execute the calls of one model turn: reads together, everything else in the model's order."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Final

from wink.runtime._call import ToolCall, ToolReply
from wink.runtime._waiting import Blocking, Cooperative, drive

if TYPE_CHECKING:
    from wink.runtime._executor import ToolExecutor

TOGETHER: Final = 16
"""How many reads run at once at the most."""

Ended = ToolReply | BaseException


def run_batch(executor: ToolExecutor, calls: Sequence[ToolCall]) -> tuple[ToolReply | Exception, ...]:
    """Run the calls on this thread, and neighbouring reads on threads."""
    ended: list[Ended] = []
    for group in groups(executor, calls):
        try:
            ended += _together(executor, group) if len(group) > 1 else [_alone(executor, group[0])]
        except BaseException:
            # Somebody ends the program: what has not begun does not begin, and is accounted for.
            for call in calls[len(ended) + len(group) :]:
                executor.skip(call)
            raise
    return _replies(ended)


async def arun_batch(executor: ToolExecutor, calls: Sequence[ToolCall]) -> tuple[ToolReply | Exception, ...]:
    """Run the calls as coroutines, and neighbouring reads as tasks."""
    ended: list[Ended] = []
    for group in groups(executor, calls):
        try:
            ended += await _atogether(executor, group)
        except BaseException:
            for call in calls[len(ended) + len(group) :]:
                executor.skip(call)
            raise
    return _replies(ended)


def groups(executor: ToolExecutor, calls: Sequence[ToolCall]) -> Iterator[list[ToolCall]]:
    """Split calls into runs that may overlap: neighbouring reads; anything else stands alone."""
    group: list[ToolCall] = []
    for call in calls:
        reads = executor.only_reads(call)
        if group and (not reads or len(group) == TOGETHER):
            yield group
            group = []
        if reads:
            group.append(call)
        else:
            yield [call]
    if group:
        yield group


def _alone(executor: ToolExecutor, call: ToolCall) -> Ended:
    try:
        return executor.execute(call)
    except Exception as error:  # raised again when the siblings have run
        return error


def _together(executor: ToolExecutor, group: Sequence[ToolCall]) -> list[Ended]:
    ended: list[Future[ToolReply]] = [Future() for _ in group]
    gates = _gates(len(group))

    def run(index: int) -> None:
        try:
            reply = drive(executor.execute_after(group[index], Blocking(), gates[index]))
        except BaseException as error:  # raised again where it is waited for
            ended[index].set_exception(error)
        else:
            ended[index].set_result(reply)
        finally:
            gates[index + 1].set_result(None)

    for index in range(len(group)):
        context = contextvars.copy_context()
        try:
            threading.Thread(target=context.run, args=(run, index), name="wink-read", daemon=True).start()
        except RuntimeError:
            context.run(run, index)  # no more threads are to be had: one after the other, then
    wait(ended)  # a sibling that ends the program does not leave the others behind
    return [_outcome(future.result) for future in ended]


async def _atogether(executor: ToolExecutor, group: Sequence[ToolCall]) -> list[Ended]:
    import asyncio

    if len(group) == 1:
        try:
            return [await executor.aexecute(group[0])]
        except Exception as error:  # raised again when the siblings have run
            return [error]
    gates = _gates(len(group))
    begun: set[int] = set()

    async def run(index: int) -> ToolReply:
        begun.add(index)
        try:
            return await executor.execute_after(group[index], Cooperative(), gates[index])
        finally:
            gates[index + 1].set_result(None)

    tasks = [asyncio.ensure_future(run(index)) for index in range(len(group))]
    try:
        await asyncio.wait(tasks)
    except asyncio.CancelledError:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for index, call in enumerate(group):
            if index not in begun:
                executor.skip(call)
        raise
    for task in tasks:
        if not task.cancelled():
            task.exception()  # seen, so that asyncio does not report it as lost when another one is raised
    return [_outcome(task.result) for task in tasks]


def _gates(count: int) -> list[Future[None]]:
    """One gate before each call, which the call before it opens, and one after the last; the first is open."""
    gates: list[Future[None]] = [Future() for _ in range(count + 1)]
    gates[0].set_result(None)
    return gates


def _outcome(result: Callable[[], ToolReply]) -> Ended:
    try:
        return result()
    except Exception as error:  # raised again when the siblings have run
        return error


def _replies(ended: Sequence[Ended]) -> tuple[ToolReply | Exception, ...]:
    """Replies, and exceptions in the place of one; what ends the program is raised."""
    for outcome in ended:
        if isinstance(outcome, BaseException) and not isinstance(outcome, Exception):
            raise outcome
    return tuple(outcome for outcome in ended if isinstance(outcome, ToolReply | Exception))
