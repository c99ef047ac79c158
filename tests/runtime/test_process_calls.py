"""Calls that run programs: without the turn while these run, with it when files change, and nothing left behind."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from datetime import UTC, datetime, timedelta

import pytest
from tests.runtime.conftest import Note, Rig, Text

from wink.errors import HandleRevoked, PromptEvaluationError
from wink.limits import Deadline
from wink.runtime import ToolCall, ToolReply
from wink.tools import ToolContext, ToolResult
from wink.transactions import current_transaction, take_turn


def noted(text: str) -> ToolResult[Note]:
    """A success that the session shows."""
    return ToolResult[Note].ok(Note(text))


def add_overwrite(rig: Rig) -> None:
    """A tool of the ordinary kind."""

    @rig.tool
    def overwrite(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        context.filesystem.write("a.txt", params.text)
        return noted(params.text)


def in_thread(work: object, *arguments: object) -> threading.Thread:
    """A thread that knows nothing of the call around it."""
    thread = threading.Thread(target=work, args=arguments, daemon=True)  # type: ignore[arg-type]
    thread.start()
    return thread


def test_another_call_changes_files_while_the_program_runs(rig: Rig) -> None:
    """A test suite may take minutes; the workspace is nobody's in the meantime."""
    add_overwrite(rig)
    replies: list[ToolReply] = []

    @rig.tool(effects="process")
    def program(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        assert not rig.filesystem.write_lock.is_held
        in_thread(lambda: replies.append(rig.executor.execute(ToolCall("overwrite", {"text": "theirs"})))).join(60)
        context.filesystem.write("b.txt", context.filesystem.read("a.txt").content)
        assert rig.filesystem.write_lock.is_held
        return noted("program")

    assert rig.call("program").success
    assert [reply.success for reply in replies] == [True]
    assert rig.files()["b.txt"] == "theirs"
    assert rig.notes() == ["before", "theirs", "program"]
    assert not rig.filesystem.write_lock.is_held


def test_the_turn_can_be_taken_before_the_first_change_and_shows_what_was_committed_meanwhile(rig: Rig) -> None:
    """Who merges has to look first, and what was looked at must still hold when it is changed."""
    add_overwrite(rig)
    seen: list[list[str]] = []

    @rig.tool(effects="process")
    def program(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        in_thread(rig.executor.execute, ToolCall("overwrite", {"text": "theirs"})).join(60)
        take_turn()
        take_turn()
        assert rig.filesystem.write_lock.is_held
        seen.append([note.text for note in context.session[Note].all()])
        return noted("program")

    assert rig.call("program").success
    assert seen == [["before", "theirs"]]
    assert not rig.filesystem.write_lock.is_held


def test_a_call_without_changes_never_waits_for_the_turn(rig: Rig) -> None:
    """A linter that finds nothing runs beside everything."""

    @rig.tool(effects="process")
    def program(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        return noted("program")

    rig.filesystem.write_lock.acquire(1)
    try:
        assert rig.call("program").success
    finally:
        rig.filesystem.write_lock.release()


def test_a_failure_takes_back_what_the_program_brought(rig: Rig) -> None:
    """The turn is given back as well."""

    @rig.tool(effects="process")
    def program(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        context.filesystem.write("a.txt", "half")
        return ToolResult[Note].error("exit status 1")

    before = rig.files()
    assert not rig.call("program").success
    assert rig.files() == before
    assert not rig.filesystem.write_lock.is_held


def test_a_call_that_ended_while_it_waited_for_its_turn_gets_none(rig: Rig) -> None:
    """Otherwise a thread that was left behind would hold the workspace for ever."""
    tried = threading.Event()
    raised: list[BaseException] = []

    @rig.tool(effects="process", timeout=0.5)
    def program(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        try:
            context.filesystem.write("a.txt", "late")
        except BaseException as error:
            raised.append(error)
            raise
        finally:
            tried.set()
        return noted("program")

    rig.filesystem.write_lock.acquire(1)
    reply = rig.call("program")
    rig.filesystem.write_lock.release()

    assert tried.wait(60)
    assert "timed out" in reply.text
    assert [type(error) for error in raised] == [HandleRevoked]
    assert rig.files()["a.txt"] == "before\n"
    assert not rig.filesystem.write_lock.is_held


def test_when_the_turn_does_not_come_the_call_fails_and_says_so(rig: Rig) -> None:
    """A deadline bounds the waiting too."""
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    rig.deadline = Deadline(now[0] + timedelta(seconds=5), clock=lambda: now[0])

    @rig.tool(effects="process")
    def program(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        now[0] += timedelta(seconds=10)
        context.filesystem.write("a.txt", "never")
        return noted("program")

    rig.filesystem.write_lock.acquire(1)
    try:
        with pytest.raises(PromptEvaluationError):
            rig.call("program")
    finally:
        rig.filesystem.write_lock.release()
    assert rig.files()["a.txt"] == "before\n"
    assert len(rig.events) == 1


@pytest.mark.parametrize("ending", ["returns", "times out", "raises"])
def test_what_a_call_started_is_stopped_however_it_ends(rig: Rig, ending: str) -> None:
    """A program must not outlive the call that it belongs to."""
    stopped = threading.Event()

    @rig.tool(effects="process", timeout=0.5 if ending == "times out" else None)
    def program(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        transaction = current_transaction()
        assert transaction is not None
        transaction.when_revoked(stopped.set)
        assert not stopped.is_set()
        if ending == "times out":
            assert stopped.wait(60)
        if ending == "raises":
            raise ValueError("no")
        return noted("program")

    assert rig.call("program").success == (ending == "returns")
    assert stopped.is_set()


def test_what_is_started_after_the_end_is_stopped_at_once(rig: Rig) -> None:
    """The thread of a call that timed out may just be about to start its program."""
    stopped, ended = threading.Event(), threading.Event()

    @rig.tool(effects="process", timeout=0.5)
    def program(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        transaction = current_transaction()
        assert transaction is not None
        ended.wait(60)
        transaction.when_revoked(stopped.set)
        return noted("program")

    assert "timed out" in rig.call("program").text
    ended.set()
    assert stopped.wait(60)


@pytest.mark.parametrize("succeeds", [True, False])
def test_the_event_says_what_the_program_ran_under(rig: Rig, succeeds: bool) -> None:
    """Whoever reads it later must know what could not be seen."""

    @rig.tool(effects="process")
    def program(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        transaction = current_transaction()
        assert transaction is not None
        transaction.ran_under("overlay", ["sockets are not carried"])
        transaction.ran_under("overlay", ["sockets are not carried", "devices neither"])
        context.filesystem.write("c.txt", "made")
        return noted("program") if succeeds else ToolResult[Note].error("exit status 1")

    rig.call("program")
    change = rig.events[-1].change
    assert change is not None
    assert (change.guard, change.unseen) == ("overlay", ("sockets are not carried", "devices neither"))
    assert change.paths == ("c.txt",)
    assert change.rolled_back is not succeeds
    kept = change.without_content()
    assert (kept.guard, kept.rolled_back) == ("overlay", not succeeds)


def test_programs_and_file_tools_of_one_turn_keep_the_order_of_the_model(rig: Rig) -> None:
    """The program sees the edit before it and not the one after it."""
    add_overwrite(rig)
    saw: list[str] = []

    @rig.tool(effects="process")
    def program(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        saw.append(context.filesystem.read("a.txt").content)
        return noted("program")

    calls = [ToolCall("overwrite", {"text": "one"}), ToolCall("program", {}), ToolCall("overwrite", {"text": "two"})]
    assert all(reply.success for reply in rig.executor.execute_batch(calls))
    assert saw == ["one"]
    assert rig.files()["a.txt"] == "two"


def test_the_event_loop_goes_on_while_a_program_runs(rig: Rig) -> None:
    """What waits for a program must not stop the client that would cancel it."""
    go_on = threading.Event()

    @rig.tool(effects="process")
    def program(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        assert go_on.wait(60)
        context.filesystem.write("a.txt", "after")
        return noted("program")

    async def main() -> ToolReply:
        running = asyncio.create_task(rig.executor.aexecute(ToolCall("program", {})))
        await asyncio.sleep(0)
        go_on.set()
        return await running

    assert asyncio.run(main()).success
    assert rig.files()["a.txt"] == "after"


def test_cancellation_stops_the_program_and_changes_nothing(rig: Rig) -> None:
    """A client that went away wants neither its result nor its load."""
    running, stopped = threading.Event(), threading.Event()

    @rig.tool(effects="process")
    def program(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        transaction = current_transaction()
        assert transaction is not None
        context.filesystem.write("a.txt", "half")
        transaction.when_revoked(stopped.set)
        running.set()
        assert stopped.wait(60)
        return noted("program")

    async def main() -> None:
        task = asyncio.create_task(rig.executor.aexecute(ToolCall("program", {})))
        await asyncio.to_thread(running.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert stopped.is_set()
    assert rig.files()["a.txt"] == "before\n"
    assert not rig.filesystem.write_lock.is_held


def test_a_program_inside_a_call_is_a_savepoint_of_it(rig: Rig) -> None:
    """The outer call has the turn; the inner one changes files as a part of it, and is undone with it."""

    @rig.tool(effects="process")
    def program(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        take_turn()
        context.filesystem.write("a.txt", "inner")
        return noted("program")

    @rig.tool
    def outer(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        assert rig.executor.execute(ToolCall("program", {})).success
        assert context.filesystem.read("a.txt").content == "inner"
        return ToolResult[Note].error("no")

    before = rig.files()
    assert not rig.call("outer").success
    assert rig.files() == before
    assert not rig.filesystem.write_lock.is_held


def test_threads_of_one_program_call_take_its_turn_once(rig: Rig) -> None:
    """Whichever thread merges first waits for the turn, and the others wait for that."""

    @rig.tool(effects="process")
    def program(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        def write(name: str) -> None:
            context.filesystem.write(name, name)

        contexts = [contextvars.copy_context() for _ in range(4)]
        threads = [
            threading.Thread(target=own.run, args=(write, f"{at}.txt"), daemon=True) for at, own in enumerate(contexts)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        return noted("program")

    assert rig.call("program").success
    assert {f"{at}.txt" for at in range(4)} <= set(rig.files())
    assert not rig.filesystem.write_lock.is_held
