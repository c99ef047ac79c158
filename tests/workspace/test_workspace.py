"""A directory becomes a workspace when it is opened, and nothing shows that before something is stored."""

from __future__ import annotations

import os
import pickle
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.states import made_state, state_of

import wink.errors
from wink.errors import (
    HandleRevoked,
    RecordCorrupt,
    RecordTooNew,
    RecordUnavailable,
    SessionNameError,
    WorkspaceClosed,
    WorkspaceNeedsRecovery,
    WorkspaceReadOnly,
    WorkspaceRootError,
)
from wink.session import Session, SlicePolicy, append_all, replace_latest, upsert_by
from wink.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Note:
    """An item of a slice."""

    text: str


@dataclass(frozen=True, slots=True)
class Logged:
    """An item of a log."""

    text: str


def tree(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def test_opening_and_looking_creates_nothing(root: Path) -> None:
    """Somebody who only looks leaves no trace, not even a time of change."""
    before = os.stat(root)

    with Workspace.open(root) as workspace:
        assert workspace.session()[Note].all() == ()
        assert workspace.filesystem.read("a.txt").content == "before\n"
        assert (workspace.calls(), workspace.sessions(), workspace.recovered) == ((), ("default",), ())

    assert tree(root) == ["a.txt"]
    assert os.stat(root).st_mtime_ns == before.st_mtime_ns


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("missing", "does not exist"),
        ("a.txt", "is not a directory"),
        ("a.txt/b", "cannot be reached"),
        ("nul\0", "cannot be reached"),
    ],
)
def test_root_that_is_no_directory_is_refused(root: Path, name: str, says: str) -> None:
    """A typing error must not make a workspace somewhere."""
    with pytest.raises(WorkspaceRootError, match=says):
        Workspace.open(f"{root}/{name}")
    with pytest.raises(WorkspaceRootError, match="has no name"):
        Workspace.open("")


def test_a_link_to_the_state_of_another_workspace_is_not_followed(root: Path, tmp_path: Path) -> None:
    """It may have come with a download: calls would be recorded, taken back and kept in places of somebody else's choice."""
    other = tmp_path / "other"
    other.mkdir()
    with Workspace.open(other) as workspace:
        workspace.filesystem.write("a.txt", "theirs")
    before = (state_of(other) / "record.db").read_bytes()
    (root / ".wink").symlink_to(other / ".wink")

    with pytest.raises(RecordCorrupt, match=r"it is a link, or no directory; .* move it away"):
        Workspace.open(root)
    assert (state_of(other) / "record.db").read_bytes() == before


@pytest.mark.parametrize("name", ["programs", "scratch", "staged", "store.git", "tries", "wal", "record.db"])
def test_links_within_the_state_are_not_followed(root: Path, tmp_path: Path, name: str) -> None:
    """Leftovers of programs are deleted, tries are made: in no directory that a downloaded workspace names."""
    (tmp_path / "other").mkdir()
    made_state(root)
    (state_of(root) / name).symlink_to(tmp_path / "other")

    with pytest.raises(RecordCorrupt, match=f"{name}.*it is a link, or no file"):
        Workspace.open(root)


def test_a_file_in_the_place_of_the_state_is_told(root: Path) -> None:
    """Rather than each call failing for a reason that is hard to find."""
    (root / ".wink").write_text("x")

    with pytest.raises(RecordCorrupt, match="no directory"):
        Workspace.open(root)


def test_same_name_is_the_same_session(root: Path) -> None:
    """Two parts of a program that ask for one session must not each have a memory of their own."""
    with Workspace.open(root) as workspace:
        sessions: list[Session] = []
        threads = [threading.Thread(target=lambda: sessions.append(workspace.session("review"))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert len({id(session) for session in sessions}) == 1
        assert sessions[0].name == "review"
        assert workspace.session() is not sessions[0]


@pytest.mark.parametrize("name", ["", ".", "-a", "Review", "a/b", "ü", "a" * 65, "a\n", "a b"])
def test_names_that_no_session_can_have(root: Path, name: str) -> None:
    """Names end up in commands and in files."""
    with Workspace.open(root) as workspace, pytest.raises(SessionNameError, match="cannot name a session"):
        workspace.session(name)


@pytest.mark.parametrize("name", ["a", "0", "a.b_c-d", "a" * 64])
def test_names_that_a_session_can_have(root: Path, name: str) -> None:
    """The limits themselves are fine."""
    with Workspace.open(root) as workspace:
        assert workspace.session(name).name == name


def test_session_lives_on_when_the_workspace_is_opened_again(root: Path) -> None:
    """A plan made by one process is the plan of the next, with the same identity."""
    with Workspace.open(root) as workspace:
        session = workspace.session()
        identity = session.session_id, session.created_at
        session[Note].append(Note("one"))
        session[Note].append(Note("two"))
        workspace.session("other")[Note].append(Note("other"))

    with Workspace.open(root) as workspace:
        again = workspace.session()
        assert again[Note].all() == (Note("one"), Note("two"))
        assert (again.session_id, again.created_at) == identity
        assert workspace.sessions() == ("default", "other")


def test_keyed_and_replaced_and_logged_slices_live_on(root: Path) -> None:
    """Each kind of slice comes back as what it was, and goes on from there."""

    def register(session: Session) -> Session:
        session[Note].register(Note, upsert_by(lambda note: note.text[0]))
        session[Logged].register(Logged, append_all, policy=SlicePolicy.LOG)
        return session

    with Workspace.open(root) as workspace:
        session = register(workspace.session())
        for text in ("a1", "b1", "a2"):
            session.dispatch(Note(text))
            session.dispatch(Logged(text))
        single = workspace.session("single")
        single[Note].register(Note, replace_latest)
        for text in ("a1", "b1"):
            single.dispatch(Note(text))

    with Workspace.open(root) as workspace:
        session = register(workspace.session())
        assert session[Note].all() == (Note("a2"), Note("b1"))
        assert session[Note].get("b") == Note("b1")
        assert session[Logged].all() == (Logged("a1"), Logged("b1"), Logged("a2"))
        assert workspace.session("single")[Note].all() == (Note("b1"),)
        session.dispatch(Note("b2"))
        assert session[Note].all() == (Note("a2"), Note("b2"))


def test_cleared_and_restored_slices_live_on(root: Path) -> None:
    """Emptying and going back are changes like any other."""
    with Workspace.open(root) as workspace:
        session = workspace.session()
        session[Note].append(Note("kept"))
        before = session.snapshot()
        session[Note].append(Note("dropped"))
        session.restore(before)
        workspace.session("empty")[Note].append(Note("gone"))
        workspace.session("empty").reset()

    with Workspace.open(root) as workspace:
        assert workspace.session()[Note].all() == (Note("kept"),)
        assert workspace.session("empty")[Note].all() == ()


def test_state_can_be_kept_elsewhere(root: Path, tmp_path: Path) -> None:
    """Where the workspace must stay clean, or programs run in it without a sandbox."""
    for _ in range(2):
        with Workspace.open(root, state=tmp_path / "somewhere" / "state") as workspace:
            workspace.session()[Note].append(Note("one"))

    with Workspace.open(root, state=tmp_path / "somewhere" / "state") as workspace:
        assert len(workspace.session()[Note]) == 2
    assert tree(root) == ["a.txt"]


def test_closed_workspace_says_so(root: Path) -> None:
    """A session that is used too late must not write into the void."""
    workspace = Workspace.open(root)
    session = workspace.session()
    workspace.close()
    workspace.close()

    with pytest.raises(WorkspaceClosed):
        workspace.session()
    with pytest.raises(WorkspaceClosed):
        workspace.calls()
    with pytest.raises(Exception, match="has been closed"):
        session[Note].append(Note("late"))


def test_newer_record_stops_the_opening(root: Path) -> None:
    """Whoever upgraded wink elsewhere keeps what that wrote."""
    import sqlite3

    with Workspace.open(root) as workspace:
        workspace.session()[Note].append(Note("one"))
    connection = sqlite3.connect(state_of(root) / "record.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = (state_of(root) / "record.db").read_bytes()

    with pytest.raises(RecordTooNew, match="format 99"):
        Workspace.open(root)

    assert (state_of(root) / "record.db").read_bytes() == before


def test_damaged_record_stops_the_opening(root: Path) -> None:
    """A new record in its place would call everything that was done undone."""
    made_state(root)
    (state_of(root) / "record.db").write_bytes(b"x" * 5000)

    with pytest.raises(RecordCorrupt, match="not a database"):
        Workspace.open(root)

    assert (state_of(root) / "record.db").read_bytes() == b"x" * 5000


@pytest.mark.parametrize(
    "error",
    [
        WorkspaceRootError("/w", "does not exist"),
        WorkspaceReadOnly("/w/.wink", "Permission denied"),
        WorkspaceClosed("/w"),
        WorkspaceNeedsRecovery("/w", "tx", "disk I/O error"),
        SessionNameError("A"),
        RecordTooNew("/w/.wink/record.db", 9, 1),
        RecordCorrupt("/w/.wink/record.db", "file is not a database"),
        RecordUnavailable("/w/.wink/record.db", "database is locked"),
    ],
)
def test_errors_keep_their_facts_and_a_remedy(error: wink.errors.WinkError) -> None:
    """They cross processes, and people act on them."""
    again = pickle.loads(pickle.dumps(error))

    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
    assert "; " in str(error)


def test_root_cannot_be_used_inside_a_call(root: Path) -> None:
    """The workspace's own filesystem would write around the call's rollback."""
    with Workspace.open(root) as workspace:
        part = workspace.filesystem.begin()
        guard = part.guard()
        with pytest.raises(HandleRevoked):
            workspace.filesystem.write("a.txt", "around")
        part.unguard(guard)
        part.undo()
