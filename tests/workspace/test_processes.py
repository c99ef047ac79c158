"""Several processes on one workspace, and processes that die in the middle of a call."""

from __future__ import annotations

import os
import signal
import subprocess
import textwrap
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.states import journals

from wink.errors import WorkspaceBusy
from wink.workspace import Workspace

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True, slots=True)
class Note:
    """The item that the other processes write."""

    text: str


Note.__module__ = "items"


def done(result: subprocess.CompletedProcess[str]) -> str:
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


CHANGE = """
def change(session, files):
    files.write("a.txt", "after\\n")
    files.write("new/b.txt", "b\\n")
    session.dispatch(Note("changed"))
"""


def test_call_of_one_process_is_seen_by_the_next(root: Path, run: Run) -> None:
    """State, files and the list of calls are all there for whoever comes later."""
    done(run(CHANGE + "with Workspace.open(root) as w: call(w, 'edit', change)"))

    with Workspace.open(root) as workspace:
        assert workspace.session()[Note].all() == (Note("changed"),)
        assert workspace.filesystem.read("new/b.txt").content == "b\n"
        (row,) = workspace.calls()
        assert (row.tool, row.committed) == ("edit", True)
        assert {change.path for change in row.changes} >= {"a.txt", "new/b.txt"}
        assert workspace.recovered == ()


def test_process_killed_before_the_commit_did_nothing(root: Path, run: Run) -> None:
    """Files that were changed already are taken back when the workspace is opened again."""
    result = run(CHANGE + "call(Workspace.open(root), 'edit', change, die='before')")
    assert result.returncode == -signal.SIGKILL, result.stderr
    assert (root / "a.txt").read_text() == "after\n"
    assert len(journals(root)) == 1

    with Workspace.open(root) as workspace:
        assert len(workspace.recovered) == 1
        assert workspace.session()[Note].all() == ()
        assert workspace.calls() == ()

    assert (root / "a.txt").read_text() == "before\n"
    assert not (root / "new").exists()
    assert journals(root) == []


def test_process_killed_after_the_commit_did_everything(root: Path, run: Run) -> None:
    """The record says that it happened, so the files stay, though the journal was still there."""
    result = run(CHANGE + "call(Workspace.open(root), 'edit', change, die='after')")
    assert result.returncode == -signal.SIGKILL, result.stderr
    assert len(journals(root)) == 1

    with Workspace.open(root) as workspace:
        assert len(workspace.recovered) == 1
        assert workspace.session()[Note].all() == (Note("changed"),)
        assert len(workspace.calls()) == 1

    assert (root / "a.txt").read_text() == "after\n"
    assert (root / "new" / "b.txt").read_text() == "b\n"
    assert journals(root) == []


def test_open_workspace_recovers_when_its_next_call_begins(root: Path, run: Run) -> None:
    """A server that has been running all the time must not build on what another process left half done."""
    with Workspace.open(root) as workspace:
        assert workspace.recovered == ()
        assert run(CHANGE + "call(Workspace.open(root), 'edit', change, die='before')").returncode == -signal.SIGKILL

        workspace.filesystem.write("c.txt", "c\n")

        assert workspace.filesystem.read("a.txt").content == "before\n"
        assert workspace.filesystem.read("c.txt").content == "c\n"


def test_recovery_can_be_asked_for(root: Path, run: Run) -> None:
    """`wink recover` does it without changing anything else, and says what it did."""
    with Workspace.open(root) as workspace:
        assert run(CHANGE + "call(Workspace.open(root), 'edit', change, die='before')").returncode == -signal.SIGKILL

        assert len(workspace.recover()) == 1
        assert len(workspace.recovered) == 1
        assert workspace.recover() == ()


def test_opening_beside_a_working_process_leaves_its_journal_alone(root: Path, run: Run) -> None:
    """A journal of somebody who is alive is not ours to undo."""
    with Workspace.open(root) as workspace:
        workspace.filesystem.write_lock.acquire(1)
        part = workspace.filesystem.begin(transaction_id="mine")
        part.handle.write("a.txt", "in the middle\n")

        told = done(
            run("""
            from wink.errors import WorkspaceBusy
            with Workspace.open(root) as w:
                print(w.recovered, w.filesystem.read("a.txt").content.strip())
                try:
                    w.recover(timeout=0)
                except WorkspaceBusy:
                    print("busy")
            """)
        )
        part.undo()
        workspace.filesystem.write_lock.release()

    assert told.split("\n")[:2] == ["() in the middle", "busy"]
    assert (root / "a.txt").read_text() == "before\n"


def test_two_processes_take_turns_and_lose_nothing(root: Path, run: Run) -> None:
    """Each adds lines to one file and items to one session; all of them must be there at the end."""
    program = """
    def work(session, files):
        text = files.read("a.txt").content
        files.write("a.txt", text + f"{name} {len(session[Note].all())}\\n")
        session.dispatch(Note(f"{name} {len(session[Note].all())}"))
    with Workspace.open(root) as w:
        for _ in range(25):
            call(w, "work", work)
    """
    results: list[subprocess.CompletedProcess[str]] = []
    threads = [
        threading.Thread(
            target=lambda name=name: results.append(run(f"name = {name!r}" + "\n" + textwrap.dedent(program)))
        )
        for name in ("one", "two")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        done(result)

    with Workspace.open(root) as workspace:
        notes = [note.text for note in workspace.session()[Note].all()]
        lines = workspace.filesystem.read("a.txt").content.splitlines()[1:]
        assert notes == lines
        assert [int(line.split()[1]) for line in lines] == list(range(50))
        assert len(workspace.calls()) == 50


def test_session_of_an_open_workspace_follows_other_processes(root: Path, run: Run) -> None:
    """`wink call` beside `wink serve`: what a read there blessed holds here."""
    with Workspace.open(root) as workspace:
        session = workspace.session()
        assert session[Note].all() == ()
        done(run(CHANGE + "with Workspace.open(root) as w: call(w, 'edit', change)"))

        assert workspace.session() is session
        assert session[Note].all() == (Note("changed"),)


def test_child_of_a_fork_goes_on_by_itself(root: Path) -> None:
    """Servers fork workers; a connection that crossed a fork would corrupt the record."""
    with Workspace.open(root) as workspace:
        workspace.session()[Note].append(Note("parent"))
        child = os.fork()
        if child == 0:  # pragma: no cover - another process
            status = 1
            try:
                workspace.session()[Note].append(Note("child"))
                status = 0
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)

        assert status == 0
        assert workspace.session()[Note].all() == (Note("parent"), Note("child"))
        workspace.session()[Note].append(Note("parent again"))

    with Workspace.open(root) as workspace:
        assert [note.text for note in workspace.session()[Note].all()] == ["parent", "child", "parent again"]


READ_ONLY = """
obey_permissions()
from wink.errors import WinkError, WorkspaceReadOnly
with Workspace.open(root) as w:
    session = w.session()
    print(w.filesystem.read("a.txt").content.strip(), len(session[Note]), len(w.calls()))
    try:
        call(w, "edit", lambda session, files: files.write("a.txt", "after"))
    except (WinkError, OSError) as error:
        print(type(error).__name__, "|", error)
"""


@pytest.mark.parametrize("used_before", [False, True])
def test_workspace_that_cannot_be_written_to_can_be_read(root: Path, run: Run, used_before: bool) -> None:
    """Reviewing somebody else's tree needs no right to change it; a change says clearly why it is impossible."""
    if used_before:
        done(run(CHANGE + "with Workspace.open(root) as w: call(w, 'edit', lambda s, f: s.dispatch(Note('a')))"))
    directories = [path for path in (root, *root.rglob("*")) if path.is_dir()]
    for directory in directories:
        directory.chmod(0o555)
    try:
        told = done(run(READ_ONLY))
    finally:
        for directory in directories:
            directory.chmod(0o755)

    read, changed = told.splitlines()
    assert read == ("before 1 1" if used_before else "before 0 0")
    assert changed.startswith("ReadOnlyFilesystem | ")
    assert "reading only" in changed


def test_busy_names_the_workspace(root: Path) -> None:
    """Whoever waits in vain should know for what."""
    with Workspace.open(root) as workspace:
        workspace.filesystem.write_lock.acquire(1)
        with pytest.raises(WorkspaceBusy, match="work"):
            workspace.recover(timeout=0)
        workspace.filesystem.write_lock.release()
