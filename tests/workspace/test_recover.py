"""Where recovery cannot decide or cannot finish, a person can."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.states import state_of
from tests.workspace.conftest import Run

from wink.errors import RecordError, WinkError
from wink.filesystem import HostFilesystem
from wink.workspace import Workspace, recover

DIES = """
    with Workspace.open(root) as workspace:
        call(workspace, "first", lambda session, files: files.write("b.txt", "kept"))
        call(workspace, "second", lambda session, files: files.write("a.txt", "after"), die="before")
"""


def test_asking_again_finds_nothing(run: Run, root: Path) -> None:
    """Opening has recovered already, and says so."""
    run(DIES)

    with Workspace.open(root) as workspace:
        assert [one.outcome for one in workspace.recovered] == ["undone"]
        assert workspace.recover() == ()
    assert (root / "a.txt").read_text() == "before\n"


@pytest.mark.parametrize(("otherwise", "expected"), [("keep", "after"), ("undo", "before\n")])
def test_without_a_readable_record_a_person_decides(run: Run, root: Path, otherwise: str, expected: str) -> None:
    """Nobody but a person can say then what should become of a call that was cut short."""
    run(DIES)
    for name in ("record.db", "record.db-wal", "record.db-shm"):
        (state_of(root) / name).write_bytes(b"no database at all" * 100)

    with pytest.raises(RecordError):
        Workspace.open(root)
    with HostFilesystem(root) as files:
        (done,) = recover(files, None, 10, otherwise)  # type: ignore[arg-type]

    assert done.paths == ("a.txt",)
    assert (root / "a.txt").read_text() == expected
    assert (root / "b.txt").read_text() == "kept"


def test_rollback_that_is_impossible_can_be_given_up(run: Run, root: Path) -> None:
    """The workspace must not stay closed for good; `keep` leaves the files as they are and says so."""
    run(
        """
        os.mkdir(os.path.join(root, "d"))
        with Workspace.open(root) as workspace:
            call(workspace, "second", lambda session, files: files.write("d/a.txt", "after"), die="before")
        """
    )
    finished = run(
        """
        obey_permissions()
        os.chmod(os.path.join(root, "d"), 0o500)
        with Workspace.open(root) as workspace:
            try:
                workspace.recover()
            except Exception as error:
                print(type(error).__name__)
            done = workspace.recover(otherwise="keep")
            print([(one.outcome, one.paths) for one in done])
            call(workspace, "third", lambda session, files: files.write("a.txt", "works"))
        """
    )

    assert finished.stdout.splitlines() == ["RollbackFailed", "[('kept', ('d/a.txt',))]"], finished.stderr
    assert (root / "d/a.txt").read_text() == "after"
    assert (root / "a.txt").read_text() == "works"


def test_without_record_and_decision_nothing_is_done(root: Path) -> None:
    """Guessing would be worse than waiting."""
    with HostFilesystem(root) as files, pytest.raises((ValueError, WinkError)):
        recover(files, None, 1, None)
