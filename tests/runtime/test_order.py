"""Calls that are made together run in the order in which they were made; neighbouring reads run together."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.conftest import Note, Rig, Text

from wink.errors import PromptEvaluationError
from wink.limits import Deadline
from wink.policies import PolicyDecision
from wink.runtime import Answer, Place, ReadWriteQueue, ToolCall, ToolReply
from wink.tools import ToolContext, ToolResult

BOUND = 60.0
"""How many seconds anything here may take at the most."""


class Held:
    """A program that the test lets go on, and tools that show what they found."""

    def __init__(self, rig: Rig) -> None:
        self.rig, self.began, self.opened = rig, asyncio.Event(), asyncio.Event()

        @rig.tool(effects="process")
        async def program(params: Text, *, context: ToolContext) -> ToolResult[Note]:
            self.began.set()
            await self.opened.wait()
            context.filesystem.write("made.txt", params.text)
            return ToolResult[Note].ok(Note(params.text))

        @rig.tool(effects="process")
        async def show(params: Text, *, context: ToolContext) -> ToolResult[Note]:
            return ToolResult[Note].ok(Note(found(context)))

        @rig.tool
        async def edit(params: Text, *, context: ToolContext) -> ToolResult[Note]:
            context.filesystem.write("made.txt", f"{found(context)}, {params.text}")
            return ToolResult[Note].ok(Note("edited"))

        @rig.tool(effects="read")
        async def look(params: Text, *, context: ToolContext) -> ToolResult[Note]:
            return ToolResult[Note].ok(Note(found(context)))

    def make(self, name: str, text: str = "one") -> asyncio.Task[ToolReply]:
        return asyncio.ensure_future(self.rig.executor.aexecute(ToolCall(name, {"text": text}, name)))


def found(context: ToolContext) -> str:
    files = context.filesystem
    return files.read("made.txt").content if files.exists("made.txt") else "nothing"


async def settled() -> None:
    """Let everything run that does not wait for the program."""
    for _ in range(50):
        await asyncio.sleep(0)


def test_gathered_calls_run_in_the_order_of_submission(rig: Rig) -> None:
    """A program, an edit after it, a program that shows both, and a read: each sees what stands before it."""

    async def main() -> list[ToolReply]:
        held = Held(rig)
        tasks = [held.make(name) for name in ("program", "show", "edit", "look", "show")]
        await held.began.wait()
        await settled()
        assert not any(task.done() for task in tasks)
        held.opened.set()
        async with asyncio.timeout(BOUND):
            return await asyncio.gather(*tasks)

    replies = asyncio.run(main())

    texts = [reply.text.rpartition("noted ")[2] for reply in replies]
    assert texts == ["one", "one", "edited", "one, one", "one, one"]
    assert [event.call_id for event in rig.events] == ["program", "show", "edit", "look", "show"]


def test_reads_in_front_of_a_change_run_together_and_the_change_waits_for_them(rig: Rig) -> None:
    """What they read is the workspace of their place in the order, however long they take."""
    inside: list[str] = []

    @rig.tool(effects="read")
    async def meet(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        inside.append(params.text)
        while len(inside) < 3:
            await asyncio.sleep(0)
        await settled()
        return ToolResult[Note].ok(Note(found(context)))

    async def main() -> list[ToolReply]:
        held = Held(rig)
        tasks = [held.make("meet") for _ in range(3)]
        return await asyncio.wait_for(asyncio.gather(*tasks, held.make("edit"), held.make("look")), BOUND)

    replies = asyncio.run(main())

    assert [reply.text.rpartition("noted ")[2] for reply in replies] == [*["nothing"] * 3, "edited", "nothing, one"]


@pytest.mark.parametrize("ending", ["cancelled", "fails"])
def test_a_call_that_ends_badly_lets_the_next_one_go_on(rig: Rig, ending: str) -> None:
    """Whatever becomes of a call, its place is free when it has been taken back."""

    @rig.tool(effects="process")
    async def broken(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        context.filesystem.write("made.txt", "half")
        began.set()
        if ending == "cancelled":
            await asyncio.sleep(3600)
        raise ValueError("no")

    async def main() -> ToolReply:
        held = Held(rig)
        first, second = held.make("broken"), held.make("look")
        await began.wait()
        if ending == "cancelled":
            first.cancel()
        async with asyncio.timeout(BOUND):
            await asyncio.wait([first])
            return await second

    began = asyncio.Event()
    assert asyncio.run(main()).text.endswith("noted nothing")


def test_a_call_that_is_cancelled_while_it_waits_frees_its_place(rig: Rig) -> None:
    """Those behind it have one less before them, and reads beside each other may run together again."""

    async def main() -> None:
        held = Held(rig)

        @rig.tool(effects="read")
        async def hang(params: Text, *, context: ToolContext) -> ToolResult[Note]:
            await asyncio.sleep(3600)
            raise AssertionError("never")

        hanging, given_up, look = held.make("hang"), held.make("edit"), held.make("look")
        await settled()
        given_up.cancel()
        async with asyncio.timeout(BOUND):
            assert (await look).text.endswith("noted nothing")
        hanging.cancel()
        await asyncio.wait([hanging, given_up])

    asyncio.run(main())

    assert "made.txt" not in rig.files()
    assert sorted(event.call_id for event in rig.events) == ["edit", "hang", "look"]


def test_a_deadline_bounds_the_waiting_for_those_before(rig: Rig) -> None:
    """A run whose time is over does not wait for a program to end."""
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    rig.deadline = Deadline(now[0] + timedelta(seconds=0.05), clock=lambda: now[0])

    async def main() -> None:
        held = Held(rig)
        first, second = held.make("program"), held.make("edit")
        await held.began.wait()
        now[0] += timedelta(seconds=1)
        async with asyncio.timeout(BOUND):
            with pytest.raises(PromptEvaluationError):
                await second
        first.cancel()
        await asyncio.wait([first])

    asyncio.run(main())

    assert "made.txt" not in rig.files()


def test_a_program_may_make_calls_of_its_own(rig: Rig) -> None:
    """They are part of it: waiting for their turn behind it they would wait for ever. Among each other they keep an order."""

    async def main() -> ToolReply:
        held = Held(rig)
        held.opened.set()

        @rig.tool(effects="process")
        async def agent(params: Text, *, context: ToolContext) -> ToolResult[Note]:
            replies = await asyncio.gather(*(held.make(name) for name in ("program", "edit", "show")))
            return ToolResult[Note].ok(Note(replies[-1].text.rpartition("noted ")[2]))

        outer, after = held.make("agent"), held.make("look")
        async with asyncio.timeout(BOUND):
            assert (await outer).success
            return await after

    assert asyncio.run(main()).text.endswith("noted one, one")
    assert rig.notes()[-2:] == ["one, one", "one, one"]


def test_those_behind_a_call_that_waits_for_a_person_wait_too(rig: Rig) -> None:
    """What is asked about comes first; it is not asked about what the others have made of the files meanwhile."""
    asked, answered = asyncio.Event(), asyncio.Event()

    class Somebody:
        async def answer(self, request: object) -> Answer:
            asked.set()
            await answered.wait()
            return Answer(True)

    class Asks:
        name = "asks"

        def check(self, tool: object, params: object, *, context: ToolContext) -> PolicyDecision:
            name = getattr(tool, "name", "")
            return PolicyDecision.ask("look first") if name == "edit" else PolicyDecision.allow()

        def on_result(self, tool: object, params: object, result: object, *, context: ToolContext) -> None:
            pass

    rig.policies.append(Asks())
    rig.approvals = Somebody()

    async def main() -> ToolReply:
        held = Held(rig)
        first, second = held.make("edit"), held.make("look")
        await asked.wait()
        await settled()
        assert not second.done()
        answered.set()
        async with asyncio.timeout(BOUND):
            assert (await first).success
            return await second

    assert asyncio.run(main()).text.endswith("noted nothing, one")


STEPS = st.lists(st.one_of(st.tuples(st.just("join"), st.booleans()), st.tuples(st.just("leave"), st.integers(0, 20))))


@given(STEPS)
def test_a_place_is_reached_when_nothing_before_it_is_in_its_way(steps: list[tuple[str, int]]) -> None:
    """Whoever joins and leaves: reads run when all before them are reads, anything else when it is the first."""

    async def main() -> None:
        places = ReadWriteQueue()
        line: list[tuple[bool, asyncio.Task[bool], Place]] = []
        for step, value in steps:
            if step == "join":
                place = places.join("line", reads=bool(value))
                line.append((bool(value), asyncio.ensure_future(place.reached()), place))
            elif line:
                _, task, place = line.pop(value % len(line))
                task.cancel()
                places.leave(place)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            free = [at == 0 or all(reads for reads, *_ in line[: at + 1]) for at in range(len(line))]
            assert [task.done() for _, task, _ in line] == free
        for _, task, place in line:
            task.cancel()
            places.leave(place)
        assert len(places) == 0

    asyncio.run(main())
