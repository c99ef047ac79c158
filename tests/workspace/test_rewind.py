"""`Workspace.rewind`: a run goes back to the end of a turn whole, or not at all."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from wink.adapters import ModelTurn, RecordJournal
from wink.errors import NothingToUndo, RunBusy, RunStateError, UndoConflict, UnknownRun
from wink.filesystem import Filesystem
from wink.prompt import MarkdownSection, Prompt, PromptTemplate
from wink.record import Fork
from wink.runtime import ToolCall, ToolExecutor
from wink.tools import Tool, ToolContext, ToolResult
from wink.workspace import Workspace

SEEDS = int(os.environ.get("WINK_LAWS", "12"))


def turn(workspace: Workspace, journal: RecordJournal, number: int, name: str, text: str = "") -> None:
    """One turn of a run: a call that writes a file of its own,."""
    call = ToolCall("own", {}, name)
    journal.turned(number, ModelTurn(text or f"says {name}", (call,)))

    def own(params: None, *, context: ToolContext) -> ToolResult[None]:
        context.filesystem.write(f"{name}.txt", name)
        return ToolResult[None].ok(None)

    tool = Tool[None, None](name="own", description="Write a file.", handler=own)
    section = MarkdownSection(title="T", key="t", template="x", tools=[tool])
    prompt = Prompt(PromptTemplate(ns="t", key="t", sections=[section]))
    prompt.bind(resources={Filesystem: workspace.filesystem})
    session = workspace.session()
    options: dict[str, Any] = {"prompt": prompt, "rendered": prompt.render(session=session), "session": session}
    reply = ToolExecutor(**options, run_context=journal.context).execute(call)
    assert reply.success, reply.text
    journal.replied(number, (reply,), "")


def ran(workspace: Workspace, turns: int = 3, text: str = "") -> None:
    """A run with so many turns, which has come to its end."""
    with RecordJournal.begin(workspace, plan={"task": "x"}) as journal:
        for number in range(1, turns + 1):
            turn(workspace, journal, number, f"r1-{number}", text)
        journal.turned(turns + 1, ModelTurn("Done."))
        journal.ended("Done.")


def files(root: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in root.iterdir() if path.is_file()}


def said(workspace: Workspace, run: int) -> list[str]:
    """What a run that is resumed says that the model has said."""
    with RecordJournal.resume(workspace, f"r{run}") as journal:
        state = journal.state
        journal.stopped("looked at")
    assert state is not None
    return [one.turn.text for one in state.exchanges] + ([] if state.turn is None else [state.turn.text])


@pytest.fixture
def workspace(tmp_path: Path) -> Any:
    with Workspace.open(tmp_path) as opened:
        yield opened


def test_what_cannot_be_gone_back_to_is_said(workspace: Workspace) -> None:
    """In one line each, and nothing changes."""
    ran(workspace, 2)
    before = files(Path(workspace.root))

    with pytest.raises(UnknownRun, match="'r7' is not known; `wink runs --all` lists them"):
        workspace.rewind(7, 1)
    with pytest.raises(NothingToUndo, match="r1 has no turn after turn 3; its last is turn 3"):
        workspace.rewind(1, 3)
    with pytest.raises(NothingToUndo, match="no turn after turn 9"):
        workspace.rewind(1, 9)
    with RecordJournal.begin(workspace) as other, pytest.raises(RunBusy):
        workspace.rewind(int(other.run_id[1:]), 0)
    (Path(workspace.root) / "r1-2.txt").write_text("mine")
    with pytest.raises(UndoConflict, match="r1-2"):
        workspace.rewind(1, 1)
    assert files(Path(workspace.root)) == {**before, "r1-2.txt": "mine"}
    assert workspace.record.runs.rows()[0].state == "ended"


def test_turns_of_runs_that_ended_long_ago_are_not_kept(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last twenty are, here two."""
    monkeypatch.setattr("wink.record.runs._runs.KEPT_ENDED", 2)
    ran(workspace, 1)
    for _ in range(3):
        RecordJournal.begin(workspace).close()
    with pytest.raises(NothingToUndo, match="the turns of r1 are not kept any more"):
        workspace.rewind(1, 0)


def test_what_is_forgotten_is_not_gone_back_over(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that has ended keeps no call from being forgotten, and files must not stay while the conversation goes."""
    monkeypatch.setattr("wink.record._forgetting.LISTED", 1)
    ran(workspace, 3)
    workspace.fold()
    monkeypatch.setattr("wink.record._forgetting._FREE", "SELECT 2")
    assert workspace.gc(calls=1).forgotten == 2
    before = files(Path(workspace.root))
    with pytest.raises(NothingToUndo, match="what turn 1 of r1 did is not kept any more"):
        workspace.rewind(1, 0)
    assert files(Path(workspace.root)) == before
    assert workspace.rewind(1, 2).turns == (3, 4)


def test_a_conversation_with_secrets_that_are_gone_is_refused(workspace: Workspace) -> None:
    """They are dropped when a run ends; what is masked must not be sent on as if it had been said."""
    ran(workspace, 2, "password = 'hunter22'")
    before = files(Path(workspace.root))
    with pytest.raises(RunStateError, match="secrets masked"):
        workspace.rewind(1, 1)
    assert files(Path(workspace.root)) == before
    assert workspace.rewind(1, 0).turns == (1, 2, 3)
    assert files(Path(workspace.root)) == {}


def test_session_state_goes_back_too(workspace: Workspace) -> None:
    """What was read, and what policies remember, is that of the moment."""
    from wink.filesystem import Stamp

    ran(workspace, 1)
    stamps = {one.path for one in workspace.session()[Stamp].all()}
    with RecordJournal.begin(workspace) as journal:
        turn(workspace, journal, 1, "r2-7")
    assert {one.path for one in workspace.session()[Stamp].all()} == stamps | {"r2-7.txt"}
    workspace.rewind(2, 0)
    assert {one.path for one in workspace.session()[Stamp].all()} == stamps


def test_a_turn_that_was_not_answered_goes_as_well(workspace: Workspace) -> None:
    """A run whose process was killed in the middle of it."""
    with RecordJournal.begin(workspace) as journal:
        turn(workspace, journal, 1, "r1-1")
        journal.turned(2, ModelTurn("half", (ToolCall("change", {}, "r1-2"),)))
    assert workspace.rewind(1, 1).turns == (2,)
    assert said(workspace, 1) == ["says r1-1"]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_rewinding_against_a_model(tmp_path: Path, seed: int) -> None:
    """Runs as lists of turns: some go on, some go back, some are copied, and the last undo is redone."""
    chance = random.Random(seed)
    turns: dict[int, list[str]] = {}
    forks: dict[int, Fork] = {}
    count = 0
    redoable: tuple[int, list[str]] | None = None
    for _ in range(14):
        with Workspace.open(tmp_path) as workspace:
            act = chance.choice(["begin", "on", "on", "back", "back", "copy", "redo"])
            if act == "begin" or not turns:
                with RecordJournal.begin(workspace) as journal:
                    run = int(journal.run_id[1:])
                turns[run] = []
            run = chance.choice(list(turns))
            if act in ("begin", "on"):
                with RecordJournal.resume(workspace, f"r{run}") as journal:
                    for _ in range(chance.randint(1, 3)):
                        count += 1
                        # Names that no other turn uses: what others wrote to would stand in the way.
                        turn(workspace, journal, len(turns[run]) + 1, f"n-{count}")
                        turns[run].append(f"says n-{count}")
                    journal.stopped("for now")
                redoable = None
            elif act in ("back", "copy") and turns[run]:
                to = chance.randrange(len(turns[run]))
                done = workspace.rewind(run, to, fork=act == "copy")
                redoable = (run, list(turns[run])) if act == "back" and done.reverted.calls else None
                if act == "back":
                    del turns[run][to:]
                else:
                    turns[int(done.run[1:])] = turns[run][:to]
                    forks[int(done.run[1:])] = Fork(run, to, 0)
            elif act == "redo" and redoable is not None:
                workspace.redo()
                turns[redoable[0]] = redoable[1]
                redoable = None
        with Workspace.open(tmp_path) as workspace:
            for one, expected in turns.items():
                assert said(workspace, one) == expected, (seed, act, one)
            rows = {row.number: row for row in workspace.record.runs.rows()}
            assert {one: row.fork and row.fork[:2] for one, row in rows.items()} == {
                one: forks[one][:2] if one in forks else None for one in turns
            }
            undone = workspace.undone()
            standing = {
                call.call_id for call in workspace.calls() if call.tool == "own" and call.transaction not in undone
            }
            assert {path.stem for path in tmp_path.glob("n-*.txt")} == standing
