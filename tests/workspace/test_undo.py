"""Calls can be taken back, and taking back can be taken back; nobody else's work is ever lost by it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.states import paths_of, state_of
from tests.workspace.conftest import Run
from tests.workspace.working import call

from wink.errors import HandleRevoked, NothingToUndo, TransactionError, UndoConflict
from wink.filesystem import Filesystem, Stamp
from wink.session import Replace, Session, replace_latest, upsert_by
from wink.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Note:
    """An item that is appended."""

    text: str


@dataclass(frozen=True, slots=True)
class Plan:
    """An item of which there is one."""

    text: str


@dataclass(frozen=True, slots=True)
class Last:
    """What the last call returned, which owes nothing to what was there before."""

    text: str


@dataclass(frozen=True, slots=True)
class Task:
    """An item with a key."""

    name: str
    state: str


@pytest.fixture
def workspace(root: Path) -> Iterator[Workspace]:
    with Workspace.open(root) as workspace:
        yield workspace


def prepared(session: Session) -> Session:
    session[Plan].register(Plan, lambda view, plan: Replace((plan,)))
    session[Last].register(Last, replace_latest)
    session[Task].register(Task, upsert_by(lambda task: task.name))
    return session


def tree(root: Path) -> dict[str, object]:
    """Everything but wink's own state: bytes, modes and the bodies of links."""
    found: dict[str, object] = {}
    for path in paths_of(root):
        content = os.readlink(path) if path.is_symlink() else None if path.is_dir() else path.read_bytes()
        found[str(path.relative_to(root))] = path.lstat().st_mode, content
    return found


def everything(session: Session) -> list[tuple[object, ...]]:
    return [session[kind].all() for kind in (Note, Plan, Last, Task, Stamp)]


def test_undo_brings_back_files_and_undo_of_undo_is_identity(workspace: Workspace, root: Path) -> None:
    """Bytes, modes, links, empty directories and moved files; and the other way round."""
    (root / "run.sh").write_bytes(b"#!/bin/sh\r\n")
    (root / "run.sh").chmod(0o750)
    (root / "big.bin").write_bytes(os.urandom(400_000))
    (root / "old").mkdir()
    (root / "old/inner").mkdir()
    (root / "old/link").symlink_to("../a.txt")
    (root / "old/x.txt").write_text("x")
    before = tree(root)

    def work(files: Filesystem, session: Session) -> None:
        files.write("a.txt", "after\n")
        files.write("run.sh", "changed")
        files.write("big.bin", "small now")
        files.move("old", "new/old", create_parents=True)
        files.delete("new/old/x.txt")
        files.write("new/y.txt", "y")

    made = call(workspace, work)
    after = tree(root)

    undone = workspace.undo()
    assert tree(root) == before
    assert undone.calls == (made,)
    redone = workspace.redo()
    assert tree(root) == after
    assert redone.calls == (undone.call,)
    workspace.undo(made)
    assert tree(root) == before
    with pytest.raises(NothingToUndo, match="undone already"):
        workspace.undo(made)


def test_undo_takes_session_state_and_stamps_back_too(workspace: Workspace) -> None:
    """What a policy knows of a file must be what it knew when the file was like that."""
    session = prepared(workspace.session())
    call(workspace, lambda files, s: (files.read("a.txt"), s.dispatch(Note("1")), s.dispatch(Plan("1"))))
    call(workspace, lambda files, s: s.dispatch(Task("t", "open")))
    before = everything(session)

    def work(files: Filesystem, s: Session) -> None:
        files.write("a.txt", "after\n")
        for item in (Note("2"), Note("3"), Plan("2"), Task("t", "done"), Task("u", "open")):
            s.dispatch(item)

    call(workspace, work)
    after = everything(session)

    undone = workspace.undo()
    assert everything(session) == before
    assert {name.rpartition(":")[2] for name in undone.types} == {"Note", "Plan", "Task", "Stamp"}
    workspace.redo()
    assert everything(session) == after
    workspace.undo(n=2)
    assert session[Task].all() == ()
    assert session[Note].all() == (Note("1"),)


def test_other_processes_and_sessions_see_what_was_taken_back(workspace: Workspace, root: Path) -> None:
    """One undo may concern several sessions, and sessions that are open elsewhere."""
    call(workspace, lambda files, s: s.dispatch(Note("1")), session="one")
    call(workspace, lambda files, s: s.dispatch(Note("2")), session="two")
    with Workspace.open(root) as other:
        assert other.session("one")[Note].all() == (Note("1"),)
        workspace.undo(n=2)

        assert other.session("one")[Note].all() == other.session("two")[Note].all() == ()


def test_old_call_can_be_undone_and_later_work_stays(workspace: Workspace, root: Path) -> None:
    """Only what the call itself did goes."""
    session = prepared(workspace.session())

    def work(number: str, path: str) -> int:
        items = Note(number), Last(number)
        return call(workspace, lambda files, s: (files.write(path, number), *map(s.dispatch, items)))

    old = work("1", "a.txt")
    work("2", "b.txt")
    call(workspace, lambda files, s: files.read("a.txt"))

    workspace.undo(old)
    assert (root / "a.txt").read_text() == "before\n"
    assert (root / "b.txt").read_text() == "2"
    assert session[Note].all() == (Note("2"),)
    work("3", "c.txt")
    workspace.redo()
    assert (root / "a.txt").read_text() == "1"
    assert session[Note].all() == (Note("1"), Note("2"), Note("3"))
    assert session[Last].all() == (Last("3"),)


def test_swaps_of_equal_files_do_not_hide_where_a_file_went(workspace: Workspace, root: Path) -> None:
    """Two equal files that change places look the same, but one of them may be what an earlier call has to get back."""

    def swap(first: str, second: str) -> None:
        call(workspace, lambda files, _: [files.move(*pair) for pair in ((first, "x"), (second, first), ("x", second))])

    call(workspace, lambda files, _: [files.write(f"{name}.txt", "old") for name in "abc"])
    call(workspace, lambda files, _: [files.write(f"{name}.txt", "new") for name in "ab"])
    swap("a.txt", "c.txt")
    swap("b.txt", "c.txt")
    workspace.undo(n=2)
    assert [(root / f"{name}.txt").read_text() for name in "abc"] == ["new", "new", "old"]


def test_what_lies_at_a_path_now_is_not_taken_for_what_was_moved_away(workspace: Workspace, root: Path) -> None:
    """After an undo the old text is there again, as another file; the moved one is where it was moved to."""
    call(workspace, lambda files, _: [files.write(f"{name}.txt", name) for name in "ab"])
    moves = (("a.txt", "x"), ("b.txt", "a.txt"), ("x", "b.txt"))
    call(workspace, lambda files, _: [files.move(*pair) for pair in moves])
    call(workspace, lambda files, _: files.write("a.txt", "n"))
    workspace.undo()
    assert (root / "a.txt").read_text() == "b"
    workspace.undo()
    assert [(root / f"{name}.txt").read_text() for name in "ab"] == ["a", "b"]


def test_conflicts_are_named_and_nothing_changes(workspace: Workspace, root: Path) -> None:
    """Later calls and people may have built on it."""
    session = prepared(workspace.session())
    old = call(
        workspace, lambda files, s: (files.write("a.txt", "1"), files.write("b.txt", "1"), s.dispatch(Plan("1")))
    )
    call(workspace, lambda files, s: (files.write("a.txt", "2"), s.dispatch(Plan("2"))))
    (root / "b.txt").write_text("mine")
    before, state = tree(root), everything(session)

    for dry_run in (True, False):
        with pytest.raises(UndoConflict) as caught:
            workspace.undo(old, dry_run=dry_run)
        assert caught.value.paths == ("a.txt", "b.txt", f"{__name__}:Plan")
        assert (tree(root), everything(session)) == (before, state)


def test_conflict_with_a_later_call_names_that_call(workspace: Workspace, root: Path) -> None:
    """It was called somebody else's, and a person looked for an editor that had changed the file."""
    first = call(workspace, lambda files, _: files.write("a.txt", "1"))
    second = call(workspace, lambda files, _: files.write("a.txt", "2"))
    third = call(workspace, lambda files, _: files.move("a.txt", "b.txt"))

    with pytest.raises(UndoConflict, match=f"a.txt was changed since by c{third}, .*`wink undo c{third}` first"):
        workspace.undo(first)
    with pytest.raises(UndoConflict, match=f"c{third}"):
        workspace.undo(second, dry_run=True)
    workspace.undo(third)
    with pytest.raises(UndoConflict, match=f"a.txt was changed since by c{second}, "):
        workspace.undo(first)
    (root / "a.txt").write_text("mine")
    with pytest.raises(UndoConflict, match=r"a\.txt was changed since by somebody else"):
        workspace.undo(first)


def _save_with_the_same_time(path: Path, text: str) -> None:
    """As `cp -p` onto it does, or `touch -r` after an editor that writes in place."""
    found = path.stat()
    assert len(text) == found.st_size
    path.write_text(text)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def test_save_of_the_same_size_and_time_is_not_lost(workspace: Workspace, root: Path) -> None:
    """The undo took the file for what the call had left, and put the person's version where nobody finds it."""
    made = call(workspace, lambda files, _: (files.write("a.txt", "wink"), files.write("new.txt", "wink")))
    for path in (root / "a.txt", root / "new.txt"):
        _save_with_the_same_time(path, "mine")

    for dry_run in (True, False):
        with pytest.raises(UndoConflict) as caught:
            workspace.undo(made, dry_run=dry_run)
        assert caught.value.paths == ("a.txt", "new.txt")
    assert {path.read_text() for path in (root / "a.txt", root / "new.txt")} == {"mine"}


def test_save_of_the_same_size_and_time_is_not_taken_for_an_old_version(workspace: Workspace, root: Path) -> None:
    """What a call had written is looked for where a later one moved it to, and is not there any more."""
    call(workspace, lambda files, _: files.write("a.txt", "wink"))
    moved = call(workspace, lambda files, _: files.move("a.txt", "b.txt"))
    _save_with_the_same_time(root / "b.txt", "mine")

    with pytest.raises(UndoConflict):
        workspace.undo(moved)
    assert (root / "b.txt").read_text() == "mine"


def test_dry_run_sees_that_a_directory_is_in_use(workspace: Workspace, root: Path) -> None:
    """It said what would be undone, and the undo itself found a person's file where the old one was to be."""

    def replace(files: Filesystem, _: Session) -> None:
        files.delete("a.txt")
        files.write("a.txt/inner", "1")

    call(workspace, replace)
    workspace.undo(dry_run=True)
    (root / "a.txt/mine").write_text("mine")

    for dry_run in (True, False):
        with pytest.raises(UndoConflict, match=r"a\.txt is a directory that somebody else put something into"):
            workspace.undo(dry_run=dry_run)
    (root / "a.txt/mine").unlink()
    workspace.undo()
    assert (root / "a.txt").read_text() == "before\n"


def test_what_a_person_did_between_two_calls_is_not_lost(workspace: Workspace, root: Path) -> None:
    """Taking back both calls would silently take back what was saved between them."""
    call(workspace, lambda files, _: files.write("a.txt", "1"))
    (root / "a.txt").write_text("mine")
    call(workspace, lambda files, _: files.write("a.txt", "2"))

    with pytest.raises(UndoConflict, match="was changed in between"):
        workspace.undo(n=2)
    workspace.undo()
    assert (root / "a.txt").read_text() == "mine"


def test_directory_that_somebody_uses_stays(workspace: Workspace, root: Path) -> None:
    """The call made the directory, but not what a person put into it."""
    call(workspace, lambda files, _: files.write("d/a.txt", "1"))
    (root / "d/mine.txt").write_text("mine")

    assert workspace.undo().kept == ("d",)
    assert sorted(tree(root)) == ["a.txt", "d", "d/mine.txt"]
    workspace.redo()
    assert (root / "d/a.txt").read_text() == "1"


def test_path_is_never_followed_out_of_its_place(workspace: Workspace, root: Path) -> None:
    """A person replaced a directory by a link to another: what is there is not what the call left."""
    (root / "other").mkdir()
    (root / "other/a.txt").write_text("1")
    call(workspace, lambda files, _: files.write("d/a.txt", "1"))
    (root / "d/a.txt").unlink()
    (root / "d").rmdir()
    (root / "d").symlink_to("other")

    with pytest.raises(UndoConflict):
        workspace.undo()
    assert (root / "other/a.txt").read_text() == "1"


def test_large_results_are_not_stored_twice(workspace: Workspace, root: Path) -> None:
    """The text of a large file that was read is not kept again with the next call; then it is gone after an undo."""
    session = prepared(workspace.session())
    call(workspace, lambda files, s: (s.dispatch(Last("x" * 20_000)), s.dispatch(Plan("y" * 20_000))))
    call(workspace, lambda files, s: (s.dispatch(Last("2")), s.dispatch(Plan("2")), files.write("a.txt", "2")))

    workspace.undo()
    assert session[Last].all() == ()
    assert session[Plan].all() == (Plan("y" * 20_000),)
    workspace.redo()
    assert session[Last].all() == (Last("2"),)


def test_lost_preimage_is_a_conflict(workspace: Workspace, root: Path) -> None:
    """What is not kept cannot come back, and half of a call must not."""
    call(workspace, lambda files, _: (files.write("a.txt", "1"), files.write("b.txt", "1")))
    for kept in (state_of(root) / "staged").iterdir():
        kept.unlink()
    before = tree(root)

    with pytest.raises(UndoConflict, match="not kept any more"):
        workspace.undo()
    assert tree(root) == before


@pytest.mark.parametrize("work", ["delete", "write", "delete above"])
def test_attributes_and_special_bits_come_back_with_the_content(workspace: Workspace, root: Path, work: str) -> None:
    """A program that was set up to run as its owner, and labels, are a part of what the person had."""
    (root / "bin").mkdir()
    (root / "bin/tool").write_text("old")
    os.setxattr(root / "bin/tool", "user.label", b"kept")
    (root / "bin/tool").chmod(0o4751)
    steps = {
        "delete": lambda files, _: files.delete("bin/tool"),
        "write": lambda files, _: files.write("bin/tool", "new"),
        "delete above": lambda files, _: files.delete("bin", recursive=True),
    }
    call(workspace, steps[work])

    workspace.undo()

    assert (root / "bin/tool").read_text() == "old"
    assert (root / "bin/tool").stat().st_mode & 0o7777 == 0o4751
    assert os.getxattr(root / "bin/tool", "user.label") == b"kept"
    workspace.redo()
    workspace.undo()
    assert (root / "bin/tool").stat().st_mode & 0o7777 == 0o4751


def test_a_mode_that_the_umask_would_not_give_is_no_change_of_somebody_else(workspace: Workspace, root: Path) -> None:
    """New content keeps the file's mode, which is what the next undo has to expect."""
    (root / "a.txt").write_text("old")
    (root / "a.txt").chmod(0o666)
    call(workspace, lambda files, _: files.write("a.txt", "new"))

    workspace.undo()

    assert (root / "a.txt").read_text() == "old"
    assert (root / "a.txt").stat().st_mode & 0o7777 == 0o666


def test_dry_run_tells_and_changes_nothing(workspace: Workspace, root: Path) -> None:
    """The same answer as the real thing, with nothing done."""
    call(workspace, lambda files, _: files.write("a.txt", "after\n"))
    before, calls = tree(root), workspace.calls()

    told = workspace.undo(dry_run=True)

    assert told.call is None
    assert "".join(change.diff() for change in told.changes).endswith("-after\n+before\n")
    assert (tree(root), workspace.calls()) == (before, calls)
    assert workspace.undo().changes == told.changes


def test_calls_that_only_read_are_not_counted(workspace: Workspace, root: Path) -> None:
    """Whoever undoes the last call means the last that did something."""
    call(workspace, lambda files, _: files.write("a.txt", "after\n"))
    call(workspace, lambda files, _: files.read("a.txt"))
    call(workspace, lambda files, _: files.write("a.txt", "worse\n"), fail=True)

    workspace.undo()

    assert (root / "a.txt").read_text() == "before\n"


def test_nothing_to_undo(workspace: Workspace, root: Path) -> None:
    """Said in words, with no trace left."""
    for ask in (workspace.undo, workspace.redo, lambda: workspace.undo(n=3)):
        with pytest.raises(NothingToUndo):
            ask()
    assert not (root / ".wink").exists()
    failed = call(workspace, lambda files, _: files.write("a.txt", "1"), fail=True)
    with pytest.raises(NothingToUndo, match="did not commit"):
        workspace.undo(failed)


def test_undo_inside_a_call_is_refused(workspace: Workspace) -> None:
    """It would wait for the very call that waits for it."""
    call(workspace, lambda files, _: files.write("a.txt", "1"))

    def work(files: Filesystem, session: Session) -> None:
        with pytest.raises((TransactionError, HandleRevoked)):
            workspace.undo()

    call(workspace, work)


@pytest.mark.parametrize(("moment", "expected"), [("before", "after"), ("after", "before\n")])
def test_killed_undo_happened_or_did_not(run: Run, root: Path, moment: str, expected: str) -> None:
    """The commit of the record decides, as for every call."""
    done = run(
        f"""
        with Workspace.open(root) as workspace:
            call(workspace, "first", lambda session, files: files.write("a.txt", "after"))
            record, revert = workspace.record, type(workspace.record).revert
            def die(self, *values, **more):
                if {moment!r} == "after":
                    revert(self, *values, **more)
                os.kill(os.getpid(), signal.SIGKILL)
            type(record).revert = die
            workspace.undo()
        """
    )
    assert done.returncode == -9, done.stderr

    with Workspace.open(root) as workspace:
        assert (root / "a.txt").read_text() == expected
        assert len(workspace.undone()) == (moment == "after")


def test_state_that_was_large_comes_back(workspace: Workspace) -> None:
    """What a call replaced was not kept above 1 MiB, and the undo said that a later call had written to it."""
    session = prepared(workspace.session())
    large = Plan("".join(f"line {number}\n" for number in range(200_000)))
    call(workspace, lambda files, s: s.dispatch(large))
    call(workspace, lambda files, s: s.dispatch(Plan("small")))

    workspace.undo()
    assert session[Plan].all() == (large,)
    workspace.redo()
    assert session[Plan].all() == (Plan("small"),)


def test_state_that_was_too_large_to_keep_says_so(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is an end to what is stored twice, and a person is told that it was this, not a later call."""
    monkeypatch.setattr("wink.record._slices.MOST_KEPT", 10)
    call(workspace, lambda files, s: prepared(s).dispatch(Plan("a long plan")))
    call(workspace, lambda files, s: s.dispatch(Plan("another")))

    with pytest.raises(UndoConflict, match="Plan was larger than 64 MiB before, and such state is not kept"):
        workspace.undo()


def _attributes(path: Path) -> tuple[int, int, int, dict[str, bytes]]:
    found = path.lstat()
    return found.st_mode, found.st_uid, found.st_gid, {name: os.getxattr(path, name) for name in os.listxattr(path)}


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("deleted", ["team", "team/shared", "team/shared/plain"])
def test_deleted_directory_comes_back_with_all_that_it_had(
    workspace: Workspace, root: Path, folded: bool, deleted: str
) -> None:
    """A shared 1777 came back as 0777, in which everybody deletes everybody's files; and a plain one as setgid."""
    (root / "team/shared/plain").mkdir(parents=True)
    (root / "team/shared/plain/a.txt").write_text("a")
    (root / "team").chmod(0o2775)
    (root / "team/shared").chmod(0o1777)
    (root / "team/shared/plain").chmod(0o755)
    if not folded:
        os.setxattr(root / "team/shared", "user.who", b"everybody")
        if os.geteuid() == 0:
            os.chown(root / "team/shared", 4242, 4343)
            os.chown(root / "team", -1, 4444)
            (root / "team").chmod(0o2775)
    names = ("team", "team/shared", "team/shared/plain")
    before = {name: _attributes(root / name) for name in names}
    call(workspace, lambda files, _: files.delete(deleted, recursive=True))
    if folded:
        workspace.fold()

    workspace.undo()
    assert {name: _attributes(root / name) for name in names} == before
    workspace.redo()
    assert not (root / deleted).exists()
    workspace.undo()
    assert {name: _attributes(root / name) for name in names} == before


def test_last_call_of_one_session_is_undone(workspace: Workspace, root: Path) -> None:
    """The last call of all may be another agent's, which works at the same time."""
    mine = call(workspace, lambda files, _: files.write("mine.txt", "1"), session="me")
    theirs = call(workspace, lambda files, _: files.write("theirs.txt", "1"), session="them")

    assert workspace.undo(session="me", dry_run=True).calls == (mine,)
    undone = workspace.undo(session="me").call
    assert sorted(tree(root)) == ["a.txt", "theirs.txt"]
    with pytest.raises(NothingToUndo, match="there is nothing to undo in session 'me'"):
        workspace.undo(session="me")
    assert workspace.undo(session="them").calls == (theirs,)
    assert workspace.redo(session="me").calls == (undone,)
    assert sorted(tree(root)) == ["a.txt", "mine.txt"]
