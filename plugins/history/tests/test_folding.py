"""What calls did stands in git as it was, and can be taken back from there."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from plugins.history.tests.conftest import fsck, git
from tests.states import adopted, made_state, state_of
from tests.workspace.test_undo import tree
from tests.workspace.working import call

from wink.errors import HistoryDamaged, UndoConflict
from wink.filesystem import COPIED_BYTES
from wink.workspace import Workspace
from wink_history import _folding

UPKEEP = import_module("wink.workspace._upkeep")  # which decides when


def subjects(store: Path) -> list[str]:
    return git(store, "log", "--format=%s").splitlines()


def staged(root: Path) -> list[str]:
    return os.listdir(state_of(root) / "staged")


def test_log_shows_what_each_call_changed(workspace: Workspace, root: Path, store: Path) -> None:
    """The user's own version was written by nobody of ours; without it the first diff would be that of a new file."""
    (root / "a.txt").write_text("one\nmine\n")
    call(workspace, lambda files, _: files.write("a.txt", "one\ntwo\n"), tool="edit_file")
    call(workspace, lambda files, _: files.write("src/b.py", "x = 1\n"))

    assert workspace.fold() == 2

    shown = git(store, "log", "-p", "--reverse", "--format=%an: %s")
    assert [line for line in shown.splitlines() if not line.startswith("index ")] == [
        "somebody else: found: a.txt",
        "",
        "diff --git a/a.txt b/a.txt",
        "new file mode 100644",
        "--- /dev/null",
        "+++ b/a.txt",
        "@@ -0,0 +1,2 @@",
        "+one",
        "+mine",
        "default: edit_file: a.txt",
        "",
        "diff --git a/a.txt b/a.txt",
        "--- a/a.txt",
        "+++ b/a.txt",
        "@@ -1,2 +1,2 @@",
        " one",
        "-mine",
        "+two",
        "default: work: src, src/b.py",
        "",
        "diff --git a/src/b.py b/src/b.py",
        "new file mode 100644",
        "--- /dev/null",
        "+++ b/src/b.py",
        "@@ -0,0 +1 @@",
        "+x = 1",
    ]
    fsck(store)


def test_what_a_person_did_in_between_is_a_commit_of_its_own(workspace: Workspace, root: Path, store: Path) -> None:
    """A call must not be shown as the author of what it only found."""
    call(workspace, lambda files, _: files.write("a.txt", "ours\n"))
    workspace.fold()
    (root / "a.txt").write_text("theirs\n")
    call(workspace, lambda files, _: files.write("a.txt", "ours again\n"))
    workspace.fold()

    assert subjects(store) == ["work: a.txt", "found: a.txt", "work: a.txt"]
    assert "-theirs\n+ours again\n" in git(store, "show", "HEAD")


def test_commit_tells_the_call(workspace: Workspace, store: Path) -> None:
    """From a line in `git log` people come back to `wink show`."""
    call(workspace, lambda files, _: files.write("a.txt", "x"), session="review", tool="write\nfile")
    workspace.fold()
    (row,) = workspace.calls()

    told = git(store, "log", "-1", "--format=%an|%at|%ct|%s|%(trailers:only,unfold)")

    began = int(row.started_at.timestamp())
    assert told.startswith(f"review|{began}|{began}|write\\nfile: a.txt|")
    assert f"Wink-Call: c{row.position}\n" in told
    assert "Wink-Session: review\n" in told
    assert f"Wink-Transaction: {row.transaction_id}\n" in told


def test_undo_and_redo_work_from_the_history(workspace: Workspace, root: Path) -> None:
    """After a fold the files in staging are gone, and nobody may notice."""
    (root / "keep.bin").write_bytes(os.urandom(300_000))
    (root / "d/empty").mkdir(parents=True)
    (root / "d/run").write_text("#!/bin/sh\n")
    (root / "d/run").chmod(0o751)
    (root / "d/link").symlink_to("run")
    before = tree(root)
    call(workspace, lambda files, _: (files.write("keep.bin", "small"), files.delete("d", recursive=True)))
    after = tree(root)

    workspace.fold()

    assert staged(root) == []
    workspace.undo()
    assert tree(root) == before
    workspace.fold()
    workspace.redo()
    assert tree(root) == after
    workspace.fold()
    workspace.undo()
    assert tree(root) == before


def test_show_and_diff_are_the_same_after_a_fold(workspace: Workspace, root: Path) -> None:
    """They read what was replaced from wherever it is."""
    (root / "a.txt").write_text("old\n")
    first = call(workspace, lambda files, _: files.write("a.txt", "new\n"))
    last = call(workspace, lambda files, _: (files.move("a.txt", "b.txt"), files.write("b.txt", "newer\n")))

    def shown() -> list[str]:
        asked = (workspace.diff(first), workspace.diff(last), workspace.diff(first, last), workspace.diff())
        return ["".join(change.diff() for change in changes) for changes in asked]

    before = shown()
    held = workspace.diff(first)
    workspace.fold()

    assert shown() == before
    assert "".join(change.diff() for change in held) == before[0]


def test_checkpoint_is_restored_through_the_history(workspace: Workspace, root: Path) -> None:
    """A checkpoint may be older than many folds."""
    (root / "a.txt").write_text("0")
    workspace.checkpoint("start")
    for number in range(1, 6):
        call(workspace, lambda files, _, number=number: files.write("a.txt", str(number)))
        workspace.fold()

    workspace.restore("start")

    assert (root / "a.txt").read_text() == "0"


def test_nothing_to_fold_makes_nothing(workspace: Workspace, root: Path) -> None:
    """Reading calls must not leave a repository behind."""
    call(workspace, lambda files, _: files.exists("a"))

    assert workspace.fold() == 0
    assert not (state_of(root) / "store.git").exists()


def test_changes_that_cancel_out_leave_nothing_to_fold(workspace: Workspace, root: Path) -> None:
    """What they leave in staging nobody asks for."""
    call(workspace, lambda files, _: (files.write("a", "x"), files.delete("a")))

    assert workspace.fold() == 0
    assert not (state_of(root) / "store.git").exists()


def test_second_fold_adds_nothing(workspace: Workspace, store: Path) -> None:
    """Folding is what happens at any time, so it must be free to happen again."""
    call(workspace, lambda files, _: files.write("a.txt", "x"))
    workspace.fold()
    before = sorted(path.stat().st_ino for path in store.rglob("*"))

    assert workspace.fold() == 0

    assert sorted(path.stat().st_ino for path in store.rglob("*")) == before


def test_same_calls_give_the_same_commits(tmp_path: Path) -> None:
    """Also when they are folded in other portions; only so can an interrupted fold simply be run again."""
    root, heads = tmp_path / "work", []
    root.mkdir()
    with Workspace.open(root) as workspace:
        for number in range(5):
            call(workspace, lambda files, _, number=number: files.write(f"{number % 2}.txt", str(number)))
    for portions in ((5,), (1, 4), (2, 2, 1)):
        copy = tmp_path / f"copy{len(heads)}"
        subprocess.run(["cp", "-a", str(root), str(copy)], check=True)
        adopted(copy)
        with Workspace.open(copy) as workspace:
            for portion in portions:
                workspace._upkeep.fold(most=portion)  # type: ignore[attr-defined]
        heads.append(git(state_of(copy) / "store.git", "rev-parse", "HEAD"))

    assert heads[0] == heads[1] == heads[2]


def test_what_git_cannot_hold_is_written_beside_it(workspace: Workspace, root: Path, store: Path) -> None:
    """Modes, times and extended attributes of what was replaced are facts that a person may want."""
    (root / "a.txt").write_text("x")
    (root / "a.txt").chmod(0o640)
    os.utime(root / "a.txt", ns=(5, 1_234_567_890_123_456_789))
    os.setxattr(root / "a.txt", "user.note", b"hi")
    call(workspace, lambda files, _: files.write("a.txt", "y"))
    workspace.fold()

    oid = git(store, "log", "-1", "--format=%(trailers:key=Wink-Attributes,valueonly)").strip()
    (line,) = [json.loads(line) for line in git(store, "cat-file", "blob", oid).splitlines()]

    assert line["path"] == "a.txt"
    assert line["before"] == {
        "kind": "file", "mode": "0640", "size": 1, "modified_ns": 1_234_567_890_123_456_789,
        "xattrs": {"user.note": b"hi".hex()},
    }  # fmt: skip
    assert line["after"]["mode"] == "0640"
    assert oid in git(store, "ls-tree", "-r", "refs/wink/attributes")


def test_names_that_git_refuses_are_quoted(workspace: Workspace, root: Path, store: Path) -> None:
    """A program may leave any name, and the history must stay one that git reads."""
    odd = ["new\nline", "\udcff\udcfe", "GITMOD~1", ".gitmodules", ".gitattributes", "a\\b", "%wink%00", "ü" * 120]
    (root / "d").mkdir()
    for name in odd:
        (root / "d" / name).write_text("old" * 3000)
    before = tree(root)
    call(workspace, lambda files, _: files.delete("d", recursive=True))

    workspace.fold()

    fsck(store)
    workspace.undo()
    assert tree(root) == before


def test_large_content_stays_where_it_is(workspace: Workspace, root: Path, store: Path) -> None:
    """Copying gigabytes into a pack would take minutes; the inode itself is as good."""
    with (root / "large").open("wb") as file:
        file.truncate(COPIED_BYTES + 1)
    call(workspace, lambda files, _: (files.delete("large"), files.write("small", "x")))

    workspace.fold()

    fsck(store)
    assert len(staged(root)) == 1
    assert "-wink keeps no copy here of this file of 67108865 bytes" in git(store, "show", "HEAD")
    workspace.undo()
    assert (root / "large").stat().st_size == COPIED_BYTES + 1


def test_replaced_file_that_a_program_goes_on_writing_to_is_not_freed(workspace: Workspace, root: Path) -> None:
    """What it writes is nowhere else."""
    (root / "log").write_text("one\n")
    call(workspace, lambda files, _: files.write("log", "new\n"))
    (name,) = staged(root)
    with (state_of(root) / "staged" / name).open("a") as file:
        file.write("two\n")

    workspace.fold()

    kept = [path.read_text() for path in state_of(root).rglob("*") if path.is_file() and name in path.name]
    assert kept == ["one\ntwo\n"]
    with pytest.raises(UndoConflict):
        workspace.undo()


@pytest.mark.parametrize("damage", ["missing", "altered", "empty", "a file"])
def test_undo_that_needs_a_damaged_history_says_so(workspace: Workspace, root: Path, store: Path, damage: str) -> None:
    """One clear error, nothing changed, and what does not need the history goes on working."""
    (root / "a.txt").write_text("old " * 500)
    (root / "b.txt").write_text("old")
    number = call(workspace, lambda files, _: files.write("a.txt", "new"))
    workspace.fold()
    call(workspace, lambda files, _: files.write("b.txt", "new"))
    if damage == "altered":
        for pack in store.glob("objects/pack/*.pack"):
            pack.chmod(0o600)
            pack.write_bytes(pack.read_bytes()[:40] + b"x" * 40 + pack.read_bytes()[80:])
    else:
        store.rename(root / "elsewhere")
        if damage == "empty":
            store.mkdir()
        elif damage == "a file":
            store.write_text("")
    before = tree(root)

    with pytest.raises(HistoryDamaged, match=r"store\.git"):
        workspace.undo(number)

    assert tree(root) == before
    assert workspace.diff(number)[0].diff()
    workspace.undo()
    assert (root / "b.txt").read_text() == "old"


def test_history_begins_anew_when_it_is_gone(workspace: Workspace, root: Path, store: Path) -> None:
    """Somebody who removes it to save space must not lose the later calls too."""
    call(workspace, lambda files, _: files.write("a.txt", "1"))
    workspace.fold()
    store.rename(root / "elsewhere")
    call(workspace, lambda files, _: files.write("a.txt", "2"))

    workspace.fold()

    fsck(store)
    assert subjects(store) == ["work: a.txt", "found: a.txt"]
    workspace.undo()
    assert (root / "a.txt").read_text() == "1"


def test_content_with_the_right_git_id_and_another_digest_is_refused(workspace: Workspace, root: Path) -> None:
    """Two contents with one SHA-1 can be bought; the record knows the SHA-256."""
    (root / "a.txt").write_text("old")
    call(workspace, lambda files, _: files.write("a.txt", "new"))
    workspace.fold()
    with workspace.record.folds._ledger.database.hold():  # type: ignore[attr-defined]
        workspace.record.folds._ledger.database.writable().execute("UPDATE folded SET digest = ?", ("0" * 64,))  # type: ignore[attr-defined]

    with pytest.raises(HistoryDamaged, match="not what was stored"):
        workspace.undo()


def test_closing_folds_what_is_worth_it(root: Path, store: Path) -> None:
    """A process of one call leaves its pre-image to a later one; one of many calls tidies up."""
    with Workspace.open(root) as workspace:
        call(workspace, lambda files, _: files.write("a.txt", "x"))
    assert not store.exists()
    with Workspace.open(root) as workspace:
        for number in range(UPKEEP.WORTH):
            call(workspace, lambda files, _, number=number: files.write("a.txt", str(number)))

    assert len(subjects(store)) == UPKEEP.WORTH + 1
    assert staged(root) == []


def test_crowded_staging_is_folded_by_whoever_comes_last(
    root: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many processes of one call each must not fill the disk."""
    monkeypatch.setattr(UPKEEP, "_CROWDED", 4)
    for number in range(8):
        with Workspace.open(root) as workspace:
            call(workspace, lambda files, _, number=number: files.write("a.txt", str(number)))

    assert len(staged(root)) < 4
    fsck(store)


def test_what_many_processes_left_is_folded_by_one_that_ends(
    root: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that were killed folded nothing, and one folds a part while it is waited for: another process takes the rest."""
    monkeypatch.setattr(UPKEEP, "SOME", 4)
    monkeypatch.setattr(UPKEEP.Upkeep.quietly, "__kwdefaults__", {"most": 4, "leave": 0})
    with Workspace.open(root) as workspace:
        for number in range(40):
            call(workspace, lambda files, _, number=number: files.write("a.txt", str(number)))

    assert len(subjects(store)) == 40 - UPKEEP.YOUNGEST
    assert len(staged(root)) == UPKEEP.YOUNGEST


def test_many_calls_are_folded_beside_them(
    workspace: Workspace, root: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that never ends, such as a server, must not pile up pre-images for ever."""
    monkeypatch.setattr(UPKEEP, "BESIDE", 20)
    for number in range(50):
        call(workspace, lambda files, _, number=number: files.write("a.txt", str(number)))
        workspace._upkeep.wait()  # type: ignore[attr-defined]

    assert len(subjects(store)) == 40 - UPKEEP.YOUNGEST
    # The first of them found nothing.
    assert len(staged(root)) == 10 + UPKEEP.YOUNGEST
    assert workspace._upkeep._count == 10  # type: ignore[attr-defined]
    workspace.undo(n=50)
    assert not (root / "a.txt").exists()


def test_no_part_of_a_fold_runs_in_the_process_that_makes_calls(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread took the interpreter from the calls beside it: for seconds each took three times as long."""
    monkeypatch.setattr(UPKEEP, "BESIDE", 4)
    begun: list[int] = []
    workspace._upkeep.elsewhere = lambda: bool(begun.append(1))  # type: ignore[attr-defined]
    monkeypatch.setattr(UPKEEP.Upkeep, "fold", lambda *_, **__: pytest.fail("a fold beside calls"))
    monkeypatch.setattr(UPKEEP.Upkeep, "tidy", lambda *_, **__: pytest.fail("a fold beside calls"))
    for number in range(10):
        call(workspace, lambda files, _, number=number: files.write("a.txt", str(number)))
        workspace._upkeep.wait()  # type: ignore[attr-defined]

    assert len(begun) == 2
    monkeypatch.undo()


def test_only_one_process_folds_a_workspace(
    workspace: Workspace, root: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many that work on it each would begin one."""
    monkeypatch.setattr(UPKEEP, "BESIDE", 20)
    call(workspace, lambda files, _: files.write("b.txt", ""))
    directory = os.open(state_of(root) / "staged", os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        for number in range(20):
            call(workspace, lambda files, _, number=number: files.write("a.txt", str(number)))
        workspace._upkeep.wait()  # type: ignore[attr-defined]
    finally:
        os.close(directory)

    assert not store.exists()


def test_a_process_that_cannot_fold_is_told_of_and_harms_nothing(
    workspace: Workspace, store: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The calls are committed; who closes the workspace folds them."""
    monkeypatch.setattr(UPKEEP, "BESIDE", 2)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    for number in range(UPKEEP.WORTH):
        call(workspace, lambda files, _, number=number: files.write("a.txt", str(number)))
        workspace._upkeep.wait()  # type: ignore[attr-defined]
    workspace.close()

    assert "no process could be started" in caplog.text
    assert len(subjects(store)) == UPKEEP.WORTH


def test_a_fold_takes_in_what_was_there_when_it_began(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside somebody who went on writing it never ended."""
    monkeypatch.setattr(_folding, "AT_ONCE", 2)
    take_in, numbers = _folding.Folding._take_in, itertools.count()

    def beside(folding: _folding.Folding, *arguments: object) -> bool:
        done = take_in(folding, *arguments)  # type: ignore[arg-type]
        for text in "xy":
            call(workspace, lambda files, _, text=text: files.write("b.txt", f"{text}{next(numbers)}"))
        return done

    for number in range(5):
        call(workspace, lambda files, _, number=number: files.write("a.txt", str(number)))
    monkeypatch.setattr(_folding.Folding, "_take_in", beside)

    assert workspace.fold() == 5
    assert len(workspace.calls()) == 11


def test_a_fold_that_fails_loses_nothing(workspace: Workspace, root: Path, store: Path) -> None:
    """Closing must not fail because of the history, and undoing must not either."""
    made_state(root)
    store.write_text("somebody's file")
    for number in range(UPKEEP.WORTH):
        call(workspace, lambda files, _, number=number: files.write("a.txt", str(number)))
    with pytest.raises(HistoryDamaged):
        workspace.fold()

    workspace.undo()

    assert (root / "a.txt").read_text() == str(UPKEEP.WORTH - 2)
    store.unlink()
    workspace.fold()
    fsck(store)


def test_git_gc_of_a_person_harms_nothing(workspace: Workspace, root: Path, store: Path) -> None:
    """Everything that is needed is reachable, and found where git puts it."""
    (root / "a.txt").write_text("old\n" * 100)
    for number in range(5):
        call(workspace, lambda files, _, number=number: files.write("a.txt", "old\n" * 100 + str(number)))
        workspace.fold()

    git(store, "gc", "--aggressive", "--prune=now", "--quiet")

    workspace.undo(n=5)
    assert (root / "a.txt").read_text() == "old\n" * 100
    workspace.fold()
    fsck(store)


def test_undo_from_the_history_gives_attributes_back(workspace: Workspace, root: Path) -> None:
    """A file is more than its bytes: what was there before the call had a mode, an owner and notes of programs."""
    path = root / "a.txt"
    path.write_text("old")
    path.chmod(0o604)
    os.setxattr(path, "user.note", b"hi")
    if os.getuid() == 0:
        os.chown(path, 12, 34)
    before = path.stat()
    call(workspace, lambda files, _: files.delete("a.txt"))
    workspace.fold()

    workspace.undo()

    after = path.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert os.getxattr(path, "user.note") == b"hi"


def test_same_content_written_again_is_still_found(workspace: Workspace, store: Path) -> None:
    """That is no change, and yet another file, by whose inode and times the earlier call knows nothing."""
    call(workspace, lambda files, _: (files.write("a", "one"), files.write("b", "two")))
    call(workspace, lambda files, _: (files.write("a", "one"), files.write("b", "two")))
    call(workspace, lambda files, _: files.move("b", "c"))
    workspace.fold()

    assert subjects(store) == ["work: b, c", "work: a, b"]
    assert git(store, "show", "HEAD~1:a", "HEAD~1:b", "HEAD:c") == "onetwotwo"


def test_a_fold_notes_a_few_transactions_at_a_time(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call beside it waits while SQLite is written to: for 256 of them that took longer than the call itself."""
    for number in range(10):
        call(workspace, lambda files, _, number=number: files.write("a.txt", str(number)))
    monkeypatch.setattr("wink.record._folds.NOTED_AT_ONCE", 4)
    told: list[str] = []
    connection = workspace.record.folds._ledger.database.writable()  # type: ignore[attr-defined]
    connection.set_trace_callback(told.append)

    workspace.fold()

    steps = "".join("c" if one == "COMMIT" else "f" if one.startswith("INSERT INTO folds") else "" for one in told)
    assert steps == "ffffcffffcffc"
