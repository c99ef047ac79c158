"""Calls within calls: savepoints of the outer transaction."""

from __future__ import annotations

import asyncio

import pytest
from tests.runtime.conftest import Note, Rig, Text, succeed

from wink.errors import HandleRevoked, ToolValidationError
from wink.runtime import ToolCall, restore_snapshot, tool_transaction
from wink.tools import ToolContext, ToolResult


def nest(rig: Rig, *, then: str, inner: str = "inner") -> None:
    """Give the rig an outer tool that calls `inner` and then ends as told."""

    @rig.tool
    def outer(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        context.filesystem.write("a.txt", "outer")
        context.session[Note].append(Note("outer"))
        reply = rig.executor.execute(ToolCall(inner, {"text": "inner"}))
        seen = context.filesystem.read("a.txt").content
        if then == "raise":
            raise ValueError("after the inner call")
        return ToolResult[Note].ok(Note(f"inner {reply.success}, file {seen}"))


def test_an_inner_success_is_part_of_the_outer_call(rig: Rig) -> None:
    """The outer handler sees what the inner one did, and both stay."""
    rig.tool(succeed)
    nest(rig, then="return", inner="succeed")

    reply = rig.call("outer")

    assert reply.text.endswith("inner True, file inner")
    assert rig.files()["a.txt"] == "inner"
    assert rig.notes() == ["before", "outer", "inner", "inner True, file inner"]
    assert [event.name for event in rig.events] == ["succeed", "outer"]
    assert rig.events[1].change.paths == ("a.txt",)


def test_an_inner_failure_takes_back_only_the_inner_call(rig: Rig) -> None:
    """A savepoint, not the whole transaction."""

    @rig.tool
    def inner(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        context.filesystem.write("a.txt", "inner")
        context.filesystem.write("inner.txt", "inner")
        context.session[Note].append(Note("inner"))
        raise ValueError("inner")

    nest(rig, then="return")

    reply = rig.call("outer")

    assert reply.text.endswith("inner False, file outer")
    assert rig.files() == {"a.txt": "outer", "dir/b.txt": "before\n"}
    assert rig.notes() == ["before", "outer", "inner False, file outer"]


def test_an_outer_failure_undoes_the_inner_success(rig: Rig) -> None:
    """The inner call was never more than a part of the outer one."""
    rig.tool(succeed)
    nest(rig, then="raise", inner="succeed")

    reply = rig.call("outer")

    assert not reply.success
    rig.assert_nothing_happened()
    assert [(event.name, event.success) for event in rig.events] == [("succeed", True), ("outer", False)]


def test_asynchronous_calls_nest_too(rig: Rig) -> None:
    """The turn is the outer call's; waiting for it again would never end."""
    rig.tool(succeed)

    @rig.tool
    async def outer(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        reply = await rig.executor.aexecute(ToolCall("succeed", {"text": "inner"}))
        return ToolResult[Note].ok(Note(str(reply.success)))

    reply = asyncio.run(rig.executor.aexecute(ToolCall("outer", {})))

    assert reply.success
    assert rig.files()["a.txt"] == "inner"


def test_a_root_is_refused_inside_a_call(rig: Rig) -> None:
    """Around the handle there is no way back; the error says where to go."""

    @rig.tool
    def bypass(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        rig.filesystem.write("a.txt", "past the journal")
        return ToolResult[Note].ok(Note("x"))

    reply = rig.call("bypass")

    assert not reply.success
    assert "context.filesystem" in reply.text
    rig.assert_nothing_happened()


def test_a_handle_is_dead_after_its_call(rig: Rig) -> None:
    """A tool that keeps its handle cannot write later."""
    kept: list[ToolContext] = []

    @rig.tool
    def keep(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        kept.append(context)
        return ToolResult[Note].ok(Note("x"))

    rig.call("keep")

    with pytest.raises(HandleRevoked):
        kept[0].filesystem.write("a.txt", "late")
    assert rig.files()["a.txt"] == "before\n"


def test_a_tool_that_only_reads_cannot_write(rig: Rig) -> None:
    """What a tool declares is enforced by its handle."""

    @rig.tool(effects="read")
    def look(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        context.filesystem.write("a.txt", "not mine")
        return ToolResult[Note].ok(Note("x"))

    reply = rig.call("look")

    assert not reply.success
    assert "read" in reply.text
    rig.assert_nothing_happened()


def test_a_block_outside_of_tools_is_a_transaction_too(rig: Rig) -> None:
    """The same guarantee for code that has no tool."""
    context = rig.prompt.resources
    with tool_transaction(rig.session, context, tag="setup") as transaction:
        assert transaction.filesystem is not None
        transaction.filesystem.write("a.txt", "kept")
        rig.session[Note].append(Note("kept"))

    with pytest.raises(ToolValidationError), tool_transaction(rig.session, context) as transaction:
        assert transaction.filesystem is not None
        transaction.filesystem.write("a.txt", "dropped")
        rig.session[Note].append(Note("dropped"))
        raise ToolValidationError("no")

    assert rig.files()["a.txt"] == "kept"
    assert rig.notes() == ["before", "kept"]


def test_a_block_can_roll_itself_back(rig: Rig) -> None:
    """Programs restore what the block gave them when a handler says that it failed, and go on."""
    context = rig.prompt.resources
    with tool_transaction(rig.session, context) as transaction:
        assert transaction.filesystem is not None
        transaction.filesystem.write("a.txt", "dropped")
        rig.session[Note].append(Note("dropped"))
        restore_snapshot(rig.session, context, transaction)

    rig.assert_nothing_happened()


class Counter:
    """A resource that takes part in transactions."""

    def __init__(self) -> None:
        self.value = 0

    def snapshot(self) -> int:
        return self.value

    def restore(self, state: int) -> None:
        self.value = state


def test_a_snapshotable_resource_is_rolled_back(rig: Rig) -> None:
    """In memory, with the files and the session."""
    counter = Counter()
    rig.resources[Counter] = counter

    @rig.tool
    def count(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        context.resources.get(Counter).value += 1
        if params.text == "fail":
            raise ValueError("no")
        return ToolResult[Note].ok(Note("x"))

    rig.call("count", text="ok")
    rig.call("count", text="fail")

    assert counter.value == 1
