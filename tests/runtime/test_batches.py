"""Several calls of one model turn."""

from __future__ import annotations

import asyncio
import threading

import pytest
from tests.runtime.conftest import Note, Rig, Text, press_ctrl_c, succeed

from wink.policies import SequentialDependencyPolicy
from wink.runtime import ToolCall, ToolReply
from wink.tools import ToolContext, ToolResult

MODES = ["blocking", "cooperative"]


def run(rig: Rig, mode: str, *calls: ToolCall) -> tuple[ToolReply, ...]:
    """The batch, from a thread or from an event loop."""
    if mode == "blocking":
        return rig.executor.execute_batch(calls)
    return asyncio.run(rig.executor.aexecute_batch(calls))


def calls(*names: str) -> list[ToolCall]:
    return [ToolCall(name, {"text": name + str(number)}, f"id-{number}") for number, name in enumerate(names)]


@pytest.mark.parametrize("mode", MODES)
def test_replies_come_in_the_models_order_and_failures_stay_alone(rig: Rig, mode: str) -> None:
    """A failing call never loses, cancels or undoes a sibling."""
    rig.tool(succeed)

    @rig.tool
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        context.filesystem.write("a.txt", "broken")
        raise ValueError("no")

    replies = run(rig, mode, *calls("succeed", "fail", "nothing", "succeed"))

    assert [reply.success for reply in replies] == [True, False, False, True]
    assert [reply.call_id for reply in replies] == ["id-0", "id-1", "id-2", "id-3"]
    assert rig.files()["a.txt"] == "succeed3"
    assert rig.notes() == ["before", "succeed0", "succeed3"]
    assert [event.call_id for event in rig.events] == ["id-0", "id-1", "id-2", "id-3"]


def test_neighbouring_reads_overlap(rig: Rig) -> None:
    """Each waits for the other to have begun: alone, neither would end."""
    barrier = threading.Barrier(3, timeout=30)

    @rig.tool(effects="read")
    def look(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        barrier.wait()
        return ToolResult[Note].ok(Note(params.text))

    replies = run(rig, "blocking", *calls("look", "look", "look"))

    assert all(reply.success for reply in replies)


def test_asynchronous_reads_overlap_on_one_loop(rig: Rig) -> None:
    """The same for coroutines."""
    inside: list[str] = []

    @rig.tool(effects="read")
    async def look(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        inside.append(params.text)
        while len(inside) < 3:
            await asyncio.sleep(0)
        return ToolResult[Note].ok(Note(params.text))

    replies = run(rig, "cooperative", *calls("look", "look", "look"))

    assert all(reply.success for reply in replies)


@pytest.mark.parametrize("mode", MODES)
def test_reads_commit_in_the_models_order(rig: Rig, mode: str) -> None:
    """Whichever finishes first, the session is what one after the other would have made of it."""

    @rig.tool(effects="read")
    def look(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        return ToolResult[Note].ok(Note(params.text))

    for _ in range(10):
        run(rig, mode, *calls("look", "look", "look", "look"))

    assert rig.notes() == ["before", *["look0", "look1", "look2", "look3"] * 10]
    assert [event.call_id for event in rig.events] == ["id-0", "id-1", "id-2", "id-3"] * 10


@pytest.mark.parametrize("mode", MODES)
def test_a_read_may_depend_on_the_read_before_it(rig: Rig, mode: str) -> None:
    """Running together must not change what policies say."""

    @rig.tool(effects="read")
    def first(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        return ToolResult[Note].ok(Note(params.text))

    @rig.tool(effects="read")
    def second(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        return ToolResult[Note].ok(Note(params.text))

    rig.policies.append(SequentialDependencyPolicy(dependencies={"second": frozenset({"first"})}))

    replies = run(rig, mode, *calls("first", "second"))

    assert [reply.success for reply in replies] == [True, True]


@pytest.mark.parametrize("mode", MODES)
def test_a_read_after_a_write_sees_it(rig: Rig, mode: str) -> None:
    """Order matters where anything changes."""
    rig.tool(succeed)

    @rig.tool(effects="read")
    def look(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        return ToolResult[Note].ok(Note(context.filesystem.read("a.txt").content))

    run(rig, mode, *calls("look", "succeed", "look"))

    assert rig.notes() == ["before", "before\n", "succeed1", "succeed1"]


@pytest.mark.parametrize("mode", MODES)
def test_siblings_of_a_call_that_raises_still_run(rig: Rig, mode: str) -> None:
    """Then the exception goes on, and every call has its event."""
    from wink.errors import PromptEvaluationError

    rig.tool(succeed)

    @rig.tool
    def stop(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        raise PromptEvaluationError("the model is gone", phase="request")

    with pytest.raises(PromptEvaluationError):
        run(rig, mode, *calls("succeed", "stop", "succeed"))

    assert rig.notes() == ["before", "succeed0", "succeed2"]
    assert [event.success for event in rig.events] == [True, False, True]


def test_what_ends_the_program_leaves_the_rest_undone_and_accounted_for(rig: Rig) -> None:
    """Ctrl-C is obeyed at once; still each requested call has one event."""
    rig.tool(succeed)

    @rig.tool
    def interrupt(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        press_ctrl_c()
        raise AssertionError("not reached")

    with pytest.raises(KeyboardInterrupt):
        run(rig, "blocking", *calls("succeed", "interrupt", "succeed"))

    assert rig.notes() == ["before", "succeed0"]
    assert [event.call_id for event in rig.events] == ["id-0", "id-1", "id-2"]


def test_cancelling_a_batch_rolls_back_the_call_in_flight(rig: Rig) -> None:
    """A client that gives up finds the workspace as the last commit left it."""
    rig.tool(succeed)
    started = asyncio.Event()

    @rig.tool
    async def hang(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        context.filesystem.write("a.txt", "half")
        started.set()
        await asyncio.sleep(3600)
        raise AssertionError("never")

    async def main() -> None:
        batch = asyncio.ensure_future(rig.executor.aexecute_batch(calls("succeed", "hang", "succeed")))
        await started.wait()
        batch.cancel()
        with pytest.raises(asyncio.CancelledError):
            await batch

    asyncio.run(main())

    assert rig.files()["a.txt"] == "succeed0"
    assert len(rig.events) == 3
    assert not rig.filesystem.write_lock.is_held


def test_writing_calls_from_many_tasks_come_one_at_a_time(rig: Rig) -> None:
    """Clients send writes in parallel, whatever they were told."""
    inside: list[str] = []
    most: list[int] = []

    @rig.tool
    async def busy(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        inside.append(params.text)
        most.append(len(inside))
        await asyncio.sleep(0)
        inside.remove(params.text)
        return ToolResult[Note].ok(Note(params.text))

    async def main() -> list[ToolReply]:
        one_by_one = [rig.executor.aexecute(call) for call in calls(*["busy"] * 20)]
        return list(await asyncio.gather(*one_by_one))

    replies = asyncio.run(main())

    assert all(reply.success for reply in replies)
    assert max(most) == 1


def test_writing_calls_from_many_threads_come_one_at_a_time(rig: Rig) -> None:
    """The same for threads: no increment is lost."""

    @rig.tool
    def add(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        count = int(context.filesystem.read("count").content) if context.filesystem.exists("count") else 0
        context.filesystem.write("count", str(count + 1))
        return ToolResult[Note].ok(Note(params.text))

    executor = rig.executor
    threads = [
        threading.Thread(target=lambda: [executor.execute(call) for call in calls(*["add"] * 5)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert rig.filesystem.read("count").content == "40"
