"""All that one of several has done is taken back, where nobody has built on it; otherwise it is said which calls are in the way."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.workspace.test_undo import Note, Plan, everything, prepared, tree
from tests.workspace.working import call

from wink.errors import NothingToUndo, RecordError, UndoConflict
from wink.filesystem import FileTransaction
from wink.record import CallFilter
from wink.transactions import CommitEntry
from wink.workspace import Reverted, Workspace, apply


@pytest.fixture
def workspace(root: Path) -> Iterator[Workspace]:
    with Workspace.open(root) as workspace:
        yield workspace


def write(workspace: Workspace, session: str, path: str, text: str) -> int:
    return call(workspace, lambda files, _: files.write(path, text), session=session)


def attached(workspace: Workspace, agent: str, run: str, path: str, effects: str = "workspace") -> int:
    """A call as the helper of an attached agent records it."""

    def work(part: FileTransaction) -> None:
        part.handle.write(path, agent)

    def told(made: CommitEntry) -> CommitEntry:
        error = "guessed" if effects == "read" else None
        return replace(made, prompt=agent, run=run, effects=effects, error=error)

    number, _ = apply(workspace, "Write", {}, work, session=f"{agent.partition(' ')[0]}-1", told=told)
    assert number is not None
    return number


def test_all_calls_of_a_session_go_as_one_and_come_back_as_one(workspace: Workspace, root: Path) -> None:
    """Whatever another has done elsewhere meanwhile stays, in files and in sessions."""
    mine, theirs = prepared(workspace.session("me")), prepared(workspace.session("them"))
    before = tree(root), everything(mine)
    first = call(workspace, lambda f, s: (f.write("a.txt", "1"), s.dispatch(Plan("1"))), session="me")
    call(workspace, lambda f, s: (f.write("theirs.txt", "1"), s.dispatch(Note("1"))), session="them")
    second = call(workspace, lambda f, s: (f.move("a.txt", "b.txt"), s.dispatch(Plan("2"))), session="me")
    call(workspace, lambda f, s: (f.write("theirs.txt", "2"), s.dispatch(Note("2"))), session="them")
    third = call(workspace, lambda _, s: s.dispatch(Note("mine")), session="me")
    after, said = (tree(root), everything(mine)), everything(theirs)

    assert workspace.undo(session="me", dry_run=True).calls == (first, second, third)
    assert (tree(root), everything(mine)) == after
    undone = workspace.undo(session="me")

    assert undone.calls == (first, second, third)
    assert {**before[0], "theirs.txt": tree(root)["theirs.txt"]} == tree(root)
    assert (root / "theirs.txt").read_text() == "2"
    assert (everything(mine), everything(theirs)) == (before[1], said)
    assert workspace.redo().calls == (undone.call,)
    assert (tree(root), everything(mine)) == after
    assert workspace.undo(session="me", n=2).calls == (second, third)
    with pytest.raises(NothingToUndo, match="there is only 1 call to undo in session 'me'"):
        workspace.undo(session="me", n=2)


def test_what_others_have_built_on_it_is_named_with_whose_it_is(workspace: Workspace, root: Path) -> None:
    """All of it stays then, also where nobody is in the way."""
    write(workspace, "me", "alone.txt", "1")
    write(workspace, "me", "a.txt", "1")
    first, second = write(workspace, "them", "a.txt", "2"), write(workspace, "third", "a.txt", "3")
    blamed = f"c{second} of session 'third', c{first} of session 'them'"
    before = tree(root)

    for dry_run in (True, False):
        with pytest.raises(UndoConflict) as caught:
            workspace.undo(session="me", dry_run=dry_run)
        ((path, reason),) = caught.value.conflicts
        assert (path, reason) == (
            "a.txt",
            f"was changed since by {blamed}, which are to stay; `wink undo c{second}` first",
        )
    (root / "a.txt").write_text("a person's")
    with pytest.raises(UndoConflict, match=f"by somebody else, and before that by c{second} of session 'third'"):
        workspace.undo(session="me")
    assert {**before, "a.txt": tree(root)["a.txt"]} == tree(root)
    (root / "a.txt").write_text("3")
    workspace.undo(session="third")
    workspace.undo(session="them")
    workspace.undo(session="me")
    assert not (root / "alone.txt").exists()


def test_what_others_did_in_between_is_named(workspace: Workspace, root: Path) -> None:
    """The last state is the session's own, and has the other's work in it."""
    write(workspace, "me", "b.txt", "1")
    write(workspace, "them", "a.txt", "0")
    write(workspace, "me", "a.txt", "1")
    theirs = write(workspace, "them", "a.txt", "2")
    write(workspace, "me", "a.txt", "3")

    with pytest.raises(UndoConflict, match=f"changed in between by c{theirs} of session 'them', which is to stay"):
        workspace.undo(session="me")
    assert (root / "a.txt").read_text() == "3"


@pytest.mark.parametrize(("path", "to"), [("new.txt", "moved.txt"), ("new", "moved")])
def test_a_file_that_another_has_moved_is_in_the_way(workspace: Workspace, root: Path, path: str, to: str) -> None:
    """At its path is nothing, as before; but what the session wrote is somewhere else now, as another wants it."""
    inner = path if "." in path else f"{path}/inner.txt"
    call(workspace, lambda files, _: files.write(inner, "1", create_parents=True), session="me")
    theirs = call(workspace, lambda files, _: files.move(path, to), session="them")
    before = tree(root)

    with pytest.raises(UndoConflict, match=f"{inner} was changed since by c{theirs} of session 'them'"):
        workspace.undo(session="me")
    assert tree(root) == before
    workspace.undo(theirs)
    workspace.undo(session="me")
    assert not (root / path).exists()


def test_agents_and_runs_are_told_apart(workspace: Workspace, root: Path) -> None:
    """An agent has sessions and runs, a run calls; a subagent has its id after the agent's name."""
    workspace.record.turn("claude-code-1", "claude-code", "Go")
    calls = [
        attached(workspace, agent, run, f"{number}.txt")
        for number, (agent, run) in enumerate(
            [("claude-code", "t1"), ("codex", "r1"), ("claude-code a1", "t1"), ("claude-code", "t2"), ("claude", "t2")]
        )
    ]

    def chosen(**which: Any) -> tuple[int, ...]:
        return workspace.undo(**which, dry_run=True).calls

    assert chosen(agent="claude-code") == (calls[0], calls[2], calls[3])
    assert chosen(agent="claude-code a1") == (calls[2],)
    assert chosen(run="t1") == chosen(turn=1) == (calls[0], calls[2])
    assert chosen(agent="claude", run="t2") == (calls[4],)
    assert chosen(agent="claude-code", n=1) == (calls[3],)
    assert [one.position for one in workspace.record.queries.page(CallFilter(agent="codex"))] == [calls[1]]
    workspace.undo(agent="claude-code")
    assert sorted(tree(root)) == ["1.txt", "4.txt", "a.txt"]


def test_what_may_be_somebody_elses_is_not_taken_back_with_it(workspace: Workspace, root: Path) -> None:
    """As with a turn of an attached agent."""
    guessed = attached(workspace, "codex", "t1", "guessed.txt", effects="read")
    with pytest.raises(NothingToUndo, match=f"by agent 'codex' may be somebody else's; `wink undo c{guessed}`"):
        workspace.undo(agent="codex")
    sure = attached(workspace, "codex", "t1", "sure.txt")

    assert workspace.undo(agent="codex").calls == (sure,)
    assert (root / "guessed.txt").exists()


@pytest.mark.parametrize(
    ("which", "told"),
    [
        ({"session": "no such"}, "in session 'no such'; the sessions here are me, claude-code-1"),
        ({"agent": "codex"}, "by agent 'codex'; the agents here are claude-code"),
        ({"run": "r9"}, "in run 'r9'; the runs here are t1"),
        ({"session": ""}, "in session ''; the sessions here are me, claude-code-1"),
        ({"agent": ""}, "by agent ''; the agents here are claude-code"),
        ({"run": ""}, "in run ''; the runs here are t1"),
    ],
)
def test_nobody_is_taken_for_somebody(workspace: Workspace, root: Path, which: dict[str, str], told: str) -> None:
    """Who is asked for and is not there is named, and who is."""
    write(workspace, "me", "a.txt", "1")
    workspace.record.turn("claude-code-1", "claude-code", "Go")
    attached(workspace, "claude-code", "t1", "b.txt")

    with pytest.raises(NothingToUndo) as caught:
        workspace.undo(**which)  # type: ignore[arg-type]
    assert str(caught.value) == f"there is nothing to undo {told}; `wink log` lists what was done"
    assert (root / "b.txt").exists()


def test_an_undo_and_a_restore_are_no_ones_calls(workspace: Workspace, root: Path) -> None:
    """They stand in the session whose calls they took back, and taking those back again would bring them forth."""
    workspace.checkpoint("before")
    write(workspace, "me", "1.txt", "1")
    workspace.restore("before")
    kept = write(workspace, "me", "2.txt", "1")

    assert workspace.undo(session="me").calls == (kept,)
    assert sorted(tree(root)) == ["a.txt"]
    with pytest.raises(NothingToUndo):
        workspace.undo(session="me")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that SQLite is given."""
    said: list[str] = []
    connect: Callable[..., sqlite3.Connection] = sqlite3.connect

    def traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.set_trace_callback(said.append)
        return connection

    monkeypatch.setattr(sqlite3, "connect", traced)
    return said


def test_a_restore_of_some_paths_is_nobodys_in_whose_session_it_stands(workspace: Workspace, root: Path) -> None:
    """Nor is one that takes back what a person alone has done."""
    write(workspace, "me", "a.txt", "1")
    workspace.checkpoint("k")
    write(workspace, "me", "a.txt", "2")
    theirs = write(workspace, "them", "b.txt", "1")
    workspace.restore("k", "a.txt")

    assert workspace.undo(session="them").calls == (theirs,)

    assert (root / "a.txt").read_text() == "1"


def test_an_empty_name_of_an_agent_is_nobodys(workspace: Workspace) -> None:
    """As of a variable that a script forgot to set: what no agent did has no name."""
    apply(workspace, "accept", {}, lambda part: part.handle.write("f", "1"))

    with pytest.raises(NothingToUndo):
        workspace.undo(agent="")


def test_the_rest_of_the_history_costs_no_statement(root: Path, asked: list[str]) -> None:
    """Others may have done very much since."""
    with Workspace.open(root) as workspace:
        for number in range(60):
            write(workspace, "me", f"mine{number}.txt", "1")
        counts: list[int] = []
        for _ in range(2):
            for number in range(150):
                write(workspace, "them", f"theirs{number}.txt", str(len(counts)))
            workspace.undo(session="me", dry_run=True)  # what waited is applied
            asked.clear()
            assert len(workspace.undo(session="me", dry_run=True).calls) == 60
            counts.append(len(asked))

    assert counts[0] == counts[1] < 300


def test_of_the_rest_of_the_history_only_what_touches_the_same_paths_is_read(root: Path) -> None:
    """Whoever read more would find that it makes no sense."""
    with Workspace.open(root) as workspace:
        write(workspace, "me", "mine.txt", "1")
        theirs = [write(workspace, "them", f"theirs{number}.txt", "1") for number in range(5)]
        place, tx = workspace.record.path, [workspace.call(number).transaction for number in theirs]
    with sqlite3.connect(place) as connection:
        connection.executemany(
            "UPDATE transactions SET changed = json_remove(changed, '$[1][0]') WHERE seq = ?", [(one,) for one in tx]
        )
    connection.close()

    with Workspace.open(root) as workspace:
        with pytest.raises(RecordError):
            workspace.record.changes()
        assert workspace.undo(session="me").calls == (1,)
        assert not (root / "mine.txt").exists()


class Model:
    """What a dictionary says that calls of three sessions and undos of all that one did come to."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.calls: list[tuple[int, str, dict[str, tuple[str | None, str | None]], str | None]] = []
        """Number, session, what each path was and became, and from where a file was moved."""
        self.undone: set[int] = set()

    def become(self, changes: dict[str, str | None]) -> dict[str, tuple[str | None, str | None]]:
        """Let paths become something; gives what has changed."""
        found = {path: (self.files.get(path), to) for path, to in changes.items() if self.files.get(path) != to}
        for path, (_, to) in found.items():
            if to is None:
                del self.files[path]
            else:
                self.files[path] = to
        return found

    def call(self, number: int, session: str, changes: dict[str, str | None], source: str | None = None) -> None:
        """A call has done that."""
        found = self.become(changes)
        self.calls.append((number, session, found, source if len(found) > 1 else None))

    def undo(self, session: str) -> tuple[tuple[int, ...], set[str], dict[str, str | None]]:
        """The calls that an undo takes back, which paths are in the way, and what the others become."""
        standing = [one for one in self.calls if one[0] not in self.undone]
        mine = [one for one in standing if one[1] == session and one[2]]
        wanted: dict[str, str | None] = {}
        blocked: set[str] = set()
        for path in {path for _, _, changed, _ in mine for path in changed}:
            chain = [(number, *changed[path]) for number, _, changed, _ in mine if path in changed]
            moved_on = any(
                number > chain[-1][0] for number, by, _, source in standing if by != session and source == path
            )
            if self.files.get(path) == chain[0][1]:
                if moved_on and chain[-1][2] is not None:
                    blocked.add(path)
            elif self.files.get(path) != chain[-1][2] or any(one[2] != two[1] for one, two in pairwise(chain)):
                blocked.add(path)
            else:
                wanted[path] = chain[0][1]
        return tuple(number for number, *_ in mine), blocked, wanted


NAMES, TEXTS, SESSIONS = st.sampled_from("abcd"), st.sampled_from("xyz"), st.sampled_from(("one", "two", "three"))
works = st.one_of(
    st.tuples(st.just("write"), SESSIONS, NAMES, TEXTS),
    st.tuples(st.just("write"), SESSIONS, NAMES, TEXTS),
    st.tuples(st.just("delete"), SESSIONS, NAMES, st.none()),
    st.tuples(st.just("move"), SESSIONS, NAMES, NAMES),
    st.tuples(st.just("save"), st.none(), NAMES, TEXTS),
    st.tuples(st.just("undo"), SESSIONS, st.none(), st.booleans()),
    st.tuples(st.just("undo"), SESSIONS, st.none(), st.booleans()),
)


@settings(max_examples=int(os.environ.get("WINK_UNDO_EXAMPLES", "40")), deadline=None)
@given(work=st.lists(works, min_size=3, max_size=14))
def test_histories_of_three_sessions_end_as_a_dictionary_says(work: list[tuple[str, str, str, Any]]) -> None:
    """What one did goes as if it had never been, where nobody else has built on it; otherwise nothing does, and it is said where."""
    model = Model()
    with tempfile.TemporaryDirectory() as root, Workspace.open(root) as workspace:
        for kind, session, path, other in work:
            source = path in model.files
            match kind:
                case "write":
                    number = write(workspace, session, path, other)
                    model.call(number, session, {path: other})
                case "save":
                    Path(root, path).write_text(other)
                    model.become({path: other})
                case "delete" if source:
                    number = call(workspace, lambda files, _, path=path: files.delete(path), session=session)
                    model.call(number, session, {path: None})
                case "move" if source and path != other:
                    number = call(
                        workspace,
                        lambda files, _, path=path, to=other: files.move(path, to, overwrite=True),
                        session=session,
                    )
                    model.call(number, session, {other: model.files[path], path: None}, path)
                case "undo":
                    calls, blocked, wanted = model.undo(session)
                    done: Reverted | None = None
                    refused: set[str] = set()
                    try:
                        done = workspace.undo(session=session)
                    except NothingToUndo:
                        pass
                    except UndoConflict as conflict:
                        refused = set(conflict.paths)
                    assert refused == blocked
                    assert (calls if not refused else ()) == (() if done is None else done.calls)
                    if done is not None:
                        before = dict(model.files)
                        model.become(wanted)
                        if other:
                            assert workspace.redo().calls == (done.call,)
                            model.files = before
                        else:
                            model.undone.update(calls)
                case _:
                    continue
            there = {name: Path(root, name).read_text() for name in os.listdir(root) if name != ".wink"}
            assert there == model.files
