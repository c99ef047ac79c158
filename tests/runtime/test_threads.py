"""Calls within calls that run on their own: threads and tasks that a handler started, and some that it left behind."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from tests.runtime.conftest import Note, Rig, Text, change_everything, succeed

from wink.errors import PromptEvaluationError
from wink.filesystem import Filesystem
from wink.limits import Deadline
from wink.prompt import MarkdownSection, Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor, ToolReply, tool_transaction
from wink.session import Session
from wink.tools import Tool, ToolContext, ToolResult


def in_this_context(target: Callable[[], object]) -> threading.Thread:
    """A thread that knows what call it belongs to."""
    return threading.Thread(target=contextvars.copy_context().run, args=(target,), daemon=True)


def test_a_nested_call_that_is_still_running_is_taken_back_when_the_outer_one_commits(rig: Rig) -> None:
    """Nobody would know what half of a call means; the outer one keeps what is its own."""
    started, go_on = threading.Event(), threading.Event()
    replies: list[ToolReply] = []
    left: list[threading.Thread] = []

    @rig.tool
    def inner(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        context.filesystem.write("inner.txt", "half")
        context.session[Note].append(Note("half"))
        started.set()
        go_on.wait(60)
        return ToolResult[Note].ok(Note("inner"))

    @rig.tool
    def outer(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        left.append(in_this_context(lambda: replies.append(rig.executor.execute(ToolCall("inner", {})))))
        left[0].start()
        started.wait(60)
        return ToolResult[Note].ok(Note("outer"))

    reply = rig.call("outer")
    go_on.set()
    left[0].join(60)

    assert reply.success
    assert "inner.txt" not in rig.files()
    assert rig.notes() == ["before", "outer"]
    assert [reply.success for reply in replies] == [False]
    assert sorted((event.name, event.success) for event in rig.events) == [("inner", False), ("outer", True)]
    assert not rig.filesystem.write_lock.is_held


def test_a_nested_call_that_is_still_running_is_taken_back_when_the_outer_one_fails(rig: Rig) -> None:
    """And what it undoes afterwards on its own cannot bring anything back."""
    started, go_on = threading.Event(), threading.Event()
    left: list[threading.Thread] = []

    @rig.tool
    def inner(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        change_everything(context)
        started.set()
        go_on.wait(60)
        raise ValueError("late")

    @rig.tool
    def outer(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        context.session[Note].append(Note("outer"))
        left.append(in_this_context(lambda: rig.executor.execute(ToolCall("inner", {}))))
        left[0].start()
        started.wait(60)
        raise ValueError("outer")

    assert not rig.call("outer").success
    rig.assert_nothing_happened()
    go_on.set()
    left[0].join(60)

    rig.assert_nothing_happened()
    assert len(rig.events) == 2


def test_a_thread_that_was_left_behind_gets_a_reply_to_its_calls_and_they_are_told_of(rig: Rig) -> None:
    """One event for every requested call, whoever requested it."""
    go_on = threading.Event()
    replies: list[ToolReply] = []
    left: list[threading.Thread] = []
    rig.tool(succeed)

    @rig.tool
    def outer(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        def late() -> None:
            go_on.wait(60)
            replies.append(rig.executor.execute(ToolCall("succeed", {"text": "late"}, "late")))

        left.append(in_this_context(late))
        left[0].start()
        return ToolResult[Note].ok(Note("outer"))

    rig.call("outer")
    go_on.set()
    left[0].join(60)

    assert [reply.success for reply in replies] == [False]
    assert "ended" in replies[0].text
    assert rig.files()["a.txt"] == "before\n"
    assert [event.call_id for event in rig.events][1:] == ["late"]


def test_nested_writes_that_run_together_take_turns(rig: Rig) -> None:
    """The turn of the outer call is no turn for two of its own at once."""

    @rig.tool
    async def add(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        count = int(context.filesystem.read("count").content) if context.filesystem.exists("count") else 0
        context.filesystem.write("count", "0")
        await asyncio.sleep(0)
        context.filesystem.write("count", str(count + 1))
        return ToolResult[Note].ok(Note("x"))

    @rig.tool
    async def outer(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        replies = await asyncio.gather(*(rig.executor.aexecute(ToolCall("add", {})) for _ in range(5)))
        return ToolResult[Note].ok(Note(str(all(reply.success for reply in replies))))

    reply = asyncio.run(rig.executor.aexecute(ToolCall("outer", {})))

    assert reply.text.endswith("noted True")
    assert rig.files()["count"] == "5"


def test_nested_writes_from_threads_take_turns(rig: Rig) -> None:
    """The same for threads that know their call."""

    @rig.tool
    def add(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        count = int(context.filesystem.read("count").content) if context.filesystem.exists("count") else 0
        context.filesystem.write("count", str(count + 1))
        return ToolResult[Note].ok(Note("x"))

    @rig.tool
    def outer(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        threads = [in_this_context(lambda: rig.executor.execute(ToolCall("add", {}))) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        return ToolResult[Note].ok(Note("x"))

    assert rig.call("outer").success
    assert rig.files()["count"] == "5"


@pytest.mark.parametrize("mode", ["blocking", "cooperative"])
def test_a_batch_inside_a_handler_is_part_of_its_call(rig: Rig, mode: str) -> None:
    """Reads on threads, writes in order, and all of it undone with the outer call."""
    rig.tool(succeed)

    @rig.tool(effects="read")
    def look(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        return ToolResult[Note].ok(Note(context.filesystem.read("a.txt").content))

    batch = [ToolCall(name, {"text": name}) for name in ("look", "look", "succeed", "look", "look")]

    if mode == "blocking":

        @rig.tool
        def outer(params: Text, *, context: ToolContext) -> ToolResult[Note]:
            seen = [reply.text for reply in rig.executor.execute_batch(batch)]
            return ToolResult[Note].ok(Note("|".join(seen))) if params.text == "ok" else ToolResult[Note].error("no")

    else:

        @rig.tool(params=Text)
        async def outer(params: Text, *, context: ToolContext) -> ToolResult[Note]:
            seen = [reply.text for reply in await rig.executor.aexecute_batch(batch)]
            return ToolResult[Note].ok(Note("|".join(seen))) if params.text == "ok" else ToolResult[Note].error("no")

    def call(text: str) -> ToolReply:
        request = ToolCall("outer", {"text": text})
        return rig.executor.execute(request) if mode == "blocking" else asyncio.run(rig.executor.aexecute(request))

    assert not call("fail").success
    rig.assert_nothing_happened()
    assert call("ok").success
    assert rig.files()["a.txt"] == "succeed"
    assert rig.notes()[:6] == ["before", "before\n", "before\n", "succeed", "succeed", "succeed"]
    assert len(rig.events) == 12


def test_an_inner_timeout_ends_the_inner_call_only(rig: Rig) -> None:
    """What the inner thread does later goes nowhere, while the outer call is still at work."""
    go_on, tried = threading.Event(), threading.Event()
    late: list[str] = []

    @rig.tool(timeout=0.5)
    def slow(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        context.filesystem.write("a.txt", "half")
        go_on.wait(60)
        try:
            context.filesystem.write("a.txt", "late")
        except Exception as error:
            late.append(type(error).__name__)
        tried.set()
        return ToolResult[Note].ok(Note("late"))

    @rig.tool
    def outer(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        context.filesystem.write("dir/b.txt", "outer")
        inner = rig.executor.execute(ToolCall("slow", {}))
        go_on.set()
        tried.wait(60)
        return ToolResult[Note].ok(Note(f"{inner.success} {context.filesystem.read('a.txt').content}"))

    reply = rig.call("outer")

    assert reply.text.endswith("noted False before\n")
    assert late == ["HandleRevoked"]
    assert rig.files() == {"a.txt": "before\n", "dir/b.txt": "outer"}


def test_a_handler_that_swallows_its_cancellation_is_rolled_back_all_the_same(rig: Rig) -> None:
    """Whoever gave up must find nothing done."""
    started = asyncio.Event()

    @rig.tool
    async def stubborn(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        context.filesystem.write("a.txt", "half")
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return ToolResult[Note].ok(Note("done all the same"))
        raise AssertionError("never")

    async def main() -> None:
        call = asyncio.ensure_future(rig.executor.aexecute(ToolCall("stubborn", {})))
        await started.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(main())

    rig.assert_nothing_happened()
    assert [event.success for event in rig.events] == [False]


@pytest.mark.parametrize("steps", range(8))
def test_a_call_may_be_cancelled_after_any_step(rig: Rig, steps: int) -> None:
    """Wherever it waits: nothing happened, or all of it; one event; and the turn is free."""

    @rig.tool
    async def slowly(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        for name in ("a.txt", "b.txt", "c.txt"):
            context.filesystem.write(name, "slowly")
            await asyncio.sleep(0)
        return ToolResult[Note].ok(Note("slowly"))

    async def main() -> bool:
        await rig.filesystem.write_lock.aacquire(60)
        call = asyncio.ensure_future(rig.executor.aexecute(ToolCall("slowly", {})))
        for step in range(steps):
            await asyncio.sleep(0)
            if step == 1:
                rig.filesystem.write_lock.release()
        if steps < 2:
            call.cancel()
            await asyncio.sleep(0)
            rig.filesystem.write_lock.release()
        call.cancel()
        return (await asyncio.gather(call, return_exceptions=True))[0].__class__ is not asyncio.CancelledError

    done = asyncio.run(main())

    if done:
        assert rig.files()["a.txt"] == "slowly"
    else:
        rig.assert_nothing_happened()
    assert [event.success for event in rig.events] in ([done], [] if steps == 0 else [done])
    assert not rig.filesystem.write_lock.is_held


def test_a_timed_out_coroutine_does_not_keep_its_thread(rig: Rig) -> None:
    """It has a loop of its own, with descriptors, that would wait for nobody."""
    before = set(threading.enumerate())

    @rig.tool(timeout=0.05)
    async def hang(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        await asyncio.Event().wait()
        raise AssertionError("never")

    reply = rig.call("hang")

    assert "timed out" in reply.text
    for thread in set(threading.enumerate()) - before:
        thread.join(60)
        assert not thread.is_alive()


def test_a_thread_may_be_left_behind_by_a_call_in_a_loop(rig: Rig) -> None:
    """Its result is nobody's, and must not be an error in the thread."""
    go_on = threading.Event()

    @rig.tool(timeout=0.05)
    def slow(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        go_on.wait(60)
        return ToolResult[Note].ok(Note("late"))

    before = set(threading.enumerate())
    reply = asyncio.run(rig.executor.aexecute(ToolCall("slow", {})))
    go_on.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(60)

    assert "timed out" in reply.text


def test_a_busy_workspace_is_a_reply(rig: Rig) -> None:
    """Another call holds the turn for good; this one is told so, and not where on the host."""
    rig.tool(succeed)

    async def main() -> ToolReply:
        await rig.filesystem.write_lock.aacquire(60)
        reply = rig.executor.execute(ToolCall("succeed", {}))
        rig.filesystem.write_lock.release()
        return reply

    reply = asyncio.run(main())

    assert not reply.success
    assert "another call has been busy" in reply.text
    assert "/" not in reply.text
    rig.assert_nothing_happened()
    assert len(rig.events) == 1


def test_a_deadline_that_passes_while_waiting_ends_the_run(rig: Rig) -> None:
    """There is no use in trying again."""
    rig.deadline = Deadline(datetime.now(UTC) - timedelta(seconds=1))
    rig.tool(succeed)
    rig.filesystem.write_lock.acquire(0)

    with pytest.raises(PromptEvaluationError) as raised:
        rig.call("succeed")
    rig.filesystem.write_lock.release()

    assert raised.value.phase == "tool"
    rig.assert_nothing_happened()
    assert len(rig.events) == 1


def test_a_nested_prompt_with_a_session_of_its_own_is_undone_with_the_call(rig: Rig) -> None:
    """Its files are the outer call's; so its state must go with them."""
    child = Session(parent=rig.session)
    child[Note].seed(Note("child"))
    tool = Tool[Text, Note](name="succeed", description="Write.", handler=succeed)
    section = MarkdownSection(title="Child", key="child", template="", tools=[tool])
    prompt = Prompt(PromptTemplate(ns="t", key="child", sections=[section])).bind(
        resources={Filesystem: rig.filesystem}
    )
    within = ToolExecutor(prompt=prompt, rendered=prompt.render(session=child), session=child)
    seen: list[str] = []

    @rig.tool
    def outer(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        assert within.execute(ToolCall("succeed", {"text": "inner"})).success
        seen.append(context.filesystem.read("a.txt").content)
        seen.extend(note.text for note in child[Note].all())
        return ToolResult[Note].ok(Note("outer")) if params.text == "ok" else ToolResult[Note].error("no")

    rig.call("outer", text="fail")

    assert seen == ["inner", "child", "inner"]
    rig.assert_nothing_happened()
    assert [note.text for note in child[Note].all()] == ["child"]

    rig.call("outer", text="ok")

    assert rig.files()["a.txt"] == "inner"
    assert [note.text for note in child[Note].all()] == ["child", "inner"]


def test_a_prompt_that_shares_nothing_with_the_call_is_independent(rig: Rig) -> None:
    """There is nothing that it could be a savepoint of."""
    other = Session()
    tool = Tool[Text, Note](
        name="note", description="Note.", handler=lambda params, *, context: ToolResult.ok(Note("x"))
    )
    prompt = Prompt(
        PromptTemplate(ns="t", key="other", sections=[MarkdownSection("Other", "", key="other", tools=[tool])])
    )
    within = ToolExecutor(prompt=prompt, rendered=prompt.render(session=other), session=other)

    @rig.tool
    def outer(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        assert within.execute(ToolCall("note", {})).success
        return ToolResult[Note].error("no")

    rig.call("outer")

    assert len(other[Note]) == 1
    rig.assert_nothing_happened()


def test_a_block_inside_a_call_takes_turns_with_its_calls(rig: Rig) -> None:
    """A savepoint like a nested call, and calls within it are savepoints of it."""
    rig.tool(succeed)

    @rig.tool
    def outer(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        with pytest.raises(ValueError, match="no"), tool_transaction(context.session, rig.prompt.resources.opened()):
            rig.executor.execute(ToolCall("succeed", {"text": "dropped"}))
            raise ValueError("no")
        with tool_transaction(context.session, rig.prompt.resources.opened()):
            rig.executor.execute(ToolCall("succeed", {"text": "kept"}))
        return ToolResult[Note].ok(Note("outer"))

    assert rig.call("outer").success
    assert rig.files()["a.txt"] == "kept"
    assert rig.notes() == ["before", "kept", "outer"]
