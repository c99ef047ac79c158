"""What a workspace's record says of calls, however they ended; and calls that cannot be stored or taken back."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.conftest import Note, Rig, Text, change_everything, press_ctrl_c, succeed
from tests.states import state_of

from wink.errors import CommitFailed, PromptEvaluationError, RollbackFailed, WorkspaceNeedsRecovery
from wink.policies import PolicyDecision
from wink.runtime import ToolCall, tool_transaction
from wink.session import Append, Session, SlicePolicy
from wink.tools import ToolContext, ToolResult
from wink.transactions import CommitEntry
from wink.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Line:
    """An item of a log."""

    text: str


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """A workspace, opened."""
    with Workspace.open(tmp_path) as opened:
        yield opened


@pytest.fixture
def kept(workspace: Workspace) -> Rig:
    """A rig whose calls are recorded."""
    workspace.session()[Line].register(Line, lambda view, event: Append(event), policy=SlicePolicy.LOG)
    return Rig(workspace.filesystem, workspace.session())


def rows(workspace: Workspace) -> list[tuple[str, str, bool]]:
    """Tool, outcome, and whether it stands, oldest first; without what the tests prepared outside of calls."""
    calls = reversed(workspace.calls())
    return [(row.tool, row.outcome, row.committed) for row in calls if row.tool != "filesystem"]


class Deny:
    """A policy that denies one tool."""

    name = "deny"

    def check(self, tool: Any, params: Any, *, context: ToolContext) -> PolicyDecision:
        return PolicyDecision.deny("not this one") if tool.name == "denied" else PolicyDecision.allow()

    def on_result(self, tool: Any, params: Any, result: Any, *, context: ToolContext) -> None:
        pass


def test_every_call_has_a_row_that_says_how_it_ended(workspace: Workspace, kept: Rig) -> None:
    """Whoever looks later sees what was tried, too."""
    kept.policies.append(Deny())
    kept.tool(succeed)

    @kept.tool
    def denied(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        raise AssertionError("never")

    @kept.tool
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        change_everything(context)
        raise ValueError("no")

    @kept.tool
    def stop(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        raise PromptEvaluationError("gone", phase="request")

    for name in ("succeed", "denied", "fail", "nothing"):
        kept.call(name)
    kept.call("succeed", "{")
    with pytest.raises(PromptEvaluationError):
        kept.call("stop")

    assert rows(workspace) == [
        ("succeed", "committed", True),
        ("denied", "denied", False),
        ("fail", "rolled back", False),
        ("nothing", "refused", False),
        ("succeed", "refused", False),
        ("stop", "raised", False),
    ]
    failed = workspace.calls()[3]
    assert {change.path for change in failed.changes} >= {"a.txt", "new/c.txt", "dir/b.txt"}
    assert workspace.calls()[4].decisions == (("deny", False, "not this one", False),)


def test_calls_that_an_interruption_kept_from_running_have_rows(workspace: Workspace, kept: Rig) -> None:
    """They were requested, and their event says that they did not run; so does the record."""
    kept.tool(succeed)

    @kept.tool
    def interrupt(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        press_ctrl_c()
        raise AssertionError("not reached")

    with pytest.raises(KeyboardInterrupt):
        kept.batch(ToolCall("interrupt", {}), ToolCall("succeed", {}))

    assert rows(workspace) == [("interrupt", "raised", False), ("succeed", "refused", False)]


def nest(rig: Rig) -> None:
    """An outer tool that calls a good and a bad one, and fails if told to."""
    rig.tool(succeed)

    @rig.tool
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        change_everything(context)
        return ToolResult[Note].error("no")

    @rig.tool
    def middle(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        rig.executor.execute(ToolCall("succeed", {"text": "inner"}))
        return ToolResult[Note].ok(Note("middle"))

    @rig.tool
    def outer(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        rig.executor.execute(ToolCall("middle", {}))
        rig.executor.execute(ToolCall("fail", {}))
        return ToolResult[Note].ok(Note("outer")) if params.text == "ok" else ToolResult[Note].error("no")


def test_nested_calls_have_rows_in_the_order_of_their_ends(workspace: Workspace, kept: Rig) -> None:
    """They stand with the outer call."""
    nest(kept)

    kept.call("outer", text="ok")

    assert [(tool, outcome) for tool, outcome, _ in rows(workspace)] == [
        ("succeed", "committed"),
        ("middle", "committed"),
        ("fail", "rolled back"),
        ("outer", "committed"),
    ]
    assert len({row.transaction_id for row in workspace.calls() if row.tool != "filesystem"}) == 1


def test_nested_calls_of_a_failed_call_are_rolled_back_in_the_record_too(workspace: Workspace, kept: Rig) -> None:
    """A row that says `committed` for what was undone would be a lie."""
    nest(kept)

    kept.call("outer", text="fail")

    assert rows(workspace) == [
        ("succeed", "rolled back", False),
        ("middle", "rolled back", False),
        ("fail", "rolled back", False),
        ("outer", "rolled back", False),
    ]


def test_what_a_rolled_back_call_logged_is_there_after_reopening(tmp_path: Path) -> None:
    """Logs are never rolled back: not in memory, and not in the record."""

    def opened(workspace: Workspace) -> Session:
        session = workspace.session()
        session[Line].register(Line, lambda view, event: Append(event), policy=SlicePolicy.LOG)
        return session

    with Workspace.open(tmp_path) as workspace:
        rig = Rig(workspace.filesystem, opened(workspace))

        @rig.tool
        def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
            context.session.dispatch(Line("said"))
            context.session[Note].append(Note("dropped"))
            raise ValueError("no")

        @rig.tool
        def outer(params: Text, *, context: ToolContext) -> ToolResult[Note]:
            rig.executor.execute(ToolCall("fail", {}))
            context.session.dispatch(Line("outer"))
            return ToolResult[Note].error("no")

        rig.call("fail")
        rig.call("outer")
        with pytest.raises(ValueError, match="no"), tool_transaction(rig.session, rig.prompt.resources.opened()):
            rig.session.dispatch(Line("block"))
            raise ValueError("no")
        assert [line.text for line in rig.session[Line].all()] == ["said", "said", "outer", "block"]

    with Workspace.open(tmp_path) as workspace:
        session = opened(workspace)
        assert [line.text for line in session[Line].all()] == ["said", "said", "outer", "block"]
        assert [note.text for note in session[Note].all()] == ["before"]


def test_a_block_has_a_row_under_its_tag(workspace: Workspace, kept: Rig) -> None:
    """Whether it stood or not."""
    resources = kept.prompt.resources.opened()
    with tool_transaction(kept.session, resources, tag="setup"):
        kept.session[Note].append(Note("x"))
    with pytest.raises(ValueError, match="no"), tool_transaction(kept.session, resources, tag="broken"):
        raise ValueError("no")

    assert rows(workspace) == [("setup", "committed", True), ("broken", "rolled back", False)]


def test_another_session_of_the_workspace_keeps_what_a_nested_call_did_in_it(tmp_path: Path) -> None:
    """It is stored with that session, and taken back there when the outer call fails."""
    with Workspace.open(tmp_path) as workspace:
        rig, guest = Rig(workspace.filesystem, workspace.session()), Rig(workspace.filesystem, workspace.session("two"))
        guest.tool(succeed)

        @rig.tool
        def outer(params: Text, *, context: ToolContext) -> ToolResult[Note]:
            assert guest.executor.execute(ToolCall("succeed", {"text": params.text})).success
            return ToolResult[Note].ok(Note("outer")) if params.text == "ok" else ToolResult[Note].error("no")

        guest.prompt.render(session=guest.session)
        rig.call("outer", text="fail")
        rig.call("outer", text="ok")
        assert guest.notes() == ["before", "ok"]

    with Workspace.open(tmp_path) as workspace:
        assert [note.text for note in workspace.session("two")[Note].all()] == ["before", "ok"]
        assert workspace.filesystem.read("a.txt").content == "ok"


class Recorder:
    """A record that fails as told; it is given to a session in place of a workspace's."""

    def __init__(self, error: BaseException, *, stored: bool = False) -> None:
        self.error, self.stored = error, stored
        self.attempts: list[CommitEntry] = []

    def commit(self, entry: CommitEntry, nested: Any = ()) -> None:
        if isinstance(self.error, KeyboardInterrupt):
            press_ctrl_c()
        raise self.error

    def committed(self, transaction_id: str) -> bool:
        return self.stored

    def attempt(self, entry: CommitEntry) -> None:
        self.attempts.append(entry)

    def refresh(self, session: Session) -> None:
        pass


@pytest.mark.parametrize(
    "error", [CommitFailed("nothing was stored: /home/secret"), OSError("secret")], ids=["certain", "foreign"]
)
def test_a_call_that_cannot_be_stored_did_not_happen(rig: Rig, error: Exception) -> None:
    """The reply says so, the event what was undone, and the record is offered the attempt."""
    recorder = Recorder(error)
    rig.session.recorder = recorder

    @rig.tool
    def change(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        change_everything(context)
        return ToolResult[Note].ok(Note("x"))

    reply = rig.call("change")

    assert not reply.success
    assert "secret" not in reply.text
    rig.assert_nothing_happened()
    assert rig.event.change.rolled_back
    assert "a.txt" in rig.event.change.paths
    assert [entry.outcome for entry in recorder.attempts] == ["rolled back"]


def test_an_interruption_after_the_commit_point_does_not_undo(rig: Rig) -> None:
    """The record has it, so it happened."""
    recorder = Recorder(KeyboardInterrupt(), stored=True)
    rig.session.recorder = recorder
    rig.tool(succeed)

    with pytest.raises(KeyboardInterrupt):
        rig.call("succeed")

    assert rig.files()["a.txt"] == "after"
    assert rig.notes() == ["before", "after"]
    assert [event.success for event in rig.events] == [True]
    assert not rig.filesystem.write_lock.is_held


def test_an_interruption_before_the_commit_point_undoes(rig: Rig) -> None:
    """The record does not have it."""
    rig.session.recorder = Recorder(KeyboardInterrupt(), stored=False)
    rig.tool(succeed)

    with pytest.raises(KeyboardInterrupt):
        rig.call("succeed")

    rig.assert_nothing_happened()
    assert [event.success for event in rig.events] == [False]


def test_where_nobody_knows_nothing_is_undone(rig: Rig) -> None:
    """Recovery will look; until then the files are what they may have been committed as."""
    rig.session.recorder = Recorder(WorkspaceNeedsRecovery("w", "t", "unreadable"))
    rig.tool(succeed)

    with pytest.raises(WorkspaceNeedsRecovery):
        rig.call("succeed")

    assert rig.notes() == ["before"]
    assert [event.success for event in rig.events] == [False]
    assert not rig.filesystem.write_lock.is_held


def test_a_reducer_that_fails_when_it_is_asked_again_undoes_the_call(rig: Rig) -> None:
    """Somebody else wrote meanwhile, and what the call did does not fit there."""

    def only_after_before(view: Any, event: Any) -> Any:
        if [note.text for note in view.all()] not in (["before"], []):
            raise ValueError("secret")
        return Append(event)

    rig.session[Note].register(Note, only_after_before)

    @rig.tool(effects="read")
    def look(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        return ToolResult[Note].ok(Note(params.text))

    replies = rig.batch(ToolCall("look", {"text": "1"}), ToolCall("look", {"text": "2"}))

    assert [reply.success for reply in replies] == [True, False]
    assert "secret" not in replies[1].text
    assert rig.notes() == ["before", "1"]


@pytest.fixture
def sabotaged(kept: Rig, tmp_path: Path) -> Rig:
    """A rig with a tool that changes files, and lets what they were disappear before it fails."""

    @kept.tool
    def sabotage(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        change_everything(context)
        for preimage in (state_of(tmp_path) / "staged").iterdir():
            preimage.unlink()
        raise ValueError("no")

    kept.tool(succeed)
    return kept


def test_what_cannot_be_taken_back_is_named(workspace: Workspace, sabotaged: Rig) -> None:
    """The paths are in the error and not in the reply; everything else of the call is undone."""
    with pytest.raises(RollbackFailed) as raised:
        sabotaged.call("sabotage")

    assert set(raised.value.paths) == {"a.txt", "dir/b.txt"}
    assert "wink recover" in str(raised.value)
    assert not sabotaged.filesystem.exists("new")
    assert sabotaged.notes() == ["before"]
    assert not sabotaged.event.success
    assert not sabotaged.event.change.rolled_back
    assert rows(workspace) == [("sabotage", "raised", False)]
    assert not workspace.filesystem.write_lock.is_held


@pytest.mark.parametrize("error", [OSError(errno.EIO, "the disk fails"), MemoryError()], ids=["disk", "memory"])
def test_a_rollback_that_can_be_tried_again_refuses_writes_until_it_was(
    workspace: Workspace, kept: Rig, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Nothing is built on half a call; reading goes on; and when the disk works again, all is as it was."""

    @kept.tool
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        change_everything(context)
        raise ValueError("no")

    @kept.tool(effects="read")
    def look(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        return ToolResult[Note].ok(Note(context.filesystem.read("a.txt").content))

    kept.tool(succeed)

    def broken(*anything: object, **more: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("wink.filesystem.disk._undo.Undo.take_back", broken)
        with pytest.raises(RollbackFailed) as raised:
            kept.call("fail")
        refused, seen = kept.call("succeed"), kept.call("look")

    assert {"a.txt", "dir/b.txt", "new/c.txt"} <= set(raised.value.paths)
    assert not refused.success
    assert ("wink recover" in refused.text) is isinstance(error, OSError)
    assert seen.text.endswith("noted half")

    workspace.recover()

    assert kept.files() == {"a.txt": "before\n", "dir/b.txt": "before\n"}
    assert kept.notes() == ["before", "half"]
    assert kept.call("succeed").success


def test_a_rollback_that_is_interrupted_is_finished_before_the_next_change(
    kept: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the wrong moment leaves a journal, and whoever takes the turn next finds it."""

    @kept.tool
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        change_everything(context)
        raise ValueError("no")

    @kept.tool
    def look(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        return ToolResult[Note].ok(Note(context.filesystem.read("a.txt").content))

    def interrupted(*anything: object, **more: object) -> None:
        press_ctrl_c()

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("wink.filesystem.disk._undo.Undo.take_back", interrupted)
        kept.call("fail")
    seen = kept.call("look")

    assert not kept.events[0].change.rolled_back
    assert seen.text.endswith("noted before\n")
    assert kept.files() == {"a.txt": "before\n", "dir/b.txt": "before\n"}
