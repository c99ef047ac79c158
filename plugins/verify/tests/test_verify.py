"""Whoever edits a record behind wink's back is found out, and an honest record is not accused."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Done
from tests.states import state_of
from tests.workspace.working import call

from wink.state import kept_head
from wink.workspace import Workspace
from wink_verify import Verdict, trust, verify

Edit = Callable[[sqlite3.Connection], object]
LONG = "long enough to be moved out of its row\n" * 100


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    return root


@pytest.fixture
def made(root: Path) -> Path:
    """A workspace with eight calls of two sessions, one of them rolled back, one undone."""
    with Workspace.open(root) as workspace:
        for number in range(6):
            session = "other" if number == 3 else "default"
            call(workspace, lambda files, _, n=number: files.write("a.txt", f"text {n}\n"), session=session)
        call(workspace, lambda files, _: files.write("b.txt", "gone"), fail=True)
        workspace.undo()
    return root


def checked(root: Path) -> Verdict:
    with Workspace.open(root) as workspace:
        return verify(workspace)


def edit(root: Path, *statements: str) -> None:
    connection = sqlite3.connect(state_of(root) / "record.db", isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def test_an_honest_record_fits(made: Path) -> None:
    """All of it is vouched for, and so are the contents that calls replaced."""
    verdict = checked(made)

    assert verdict.fits
    assert (verdict.upto, verdict.kept, verdict.call, verdict.unchained) == (8, 8, 8, 0)
    assert (verdict.contents, verdict.gone, verdict.unknown) == (6, 0, 0)


FORGERIES = {
    "an argument": (3, 'UPDATE calls SET arguments = \'{"a": "c"}\' WHERE seq = 3'),
    "a reply": (3, "UPDATE calls SET rendered = 'fine' WHERE seq = 3"),
    "a time": (3, "UPDATE calls SET started_at = started_at + 1 WHERE seq = 3"),
    "an outcome": (7, "UPDATE calls SET outcome = 'committed' WHERE seq = 7"),
    "a decision": (3, "UPDATE calls SET decisions = '[]' WHERE seq = 3"),
    "who offered it": (3, "UPDATE calls SET plugin = 'files' WHERE seq = 3"),
    "what it changed": (3, "UPDATE transactions SET changed = replace(changed, 'a.txt', 'b.txt') WHERE seq = 3"),
    "whether it stands": (7, "UPDATE transactions SET committed = 1 WHERE seq = 7"),
    "what it took back": (8, "UPDATE transactions SET reverts = '[5]' WHERE seq = 8"),
    "a session's name": (4, "UPDATE sessions SET name = 'forged' WHERE name = 'other'"),
    "a session's id": (4, "UPDATE sessions SET session_id = 'forged' WHERE name = 'other'"),
    "another session for a call": (4, "UPDATE transactions SET session = 1 WHERE seq = 4"),
    "a session that was": (9, "INSERT INTO sessions VALUES (9, 'forged', 'id', 1)"),
    "a removed entry": (3, "DELETE FROM calls WHERE seq = 3", "DELETE FROM transactions WHERE seq = 3"),
    "a removed call": (3, "DELETE FROM calls WHERE seq = 3"),
    "a removed transaction": (3, "DELETE FROM transactions WHERE seq = 3"),
    "two swapped": (
        3,
        *(f"UPDATE {table} SET {of} = -3 WHERE {of} = 3" for table, of in (("calls", "tx"), ("transactions", "seq"))),
        *(f"UPDATE {table} SET {of} = 3 WHERE {of} = 4" for table, of in (("calls", "tx"), ("transactions", "seq"))),
        *(f"UPDATE {table} SET {of} = 4 WHERE {of} = -3" for table, of in (("calls", "tx"), ("transactions", "seq"))),
        "UPDATE calls SET seq = 3 + 4 - seq + 100 WHERE seq IN (3, 4)",
        "UPDATE calls SET seq = seq - 100 WHERE seq > 100",
    ),
    "numbers closed up after a removed entry": (
        3,
        "DELETE FROM calls WHERE seq = 3",
        "DELETE FROM transactions WHERE seq = 3",
        *(f"UPDATE transactions SET seq = {at - 1} WHERE seq = {at}" for at in range(4, 9)),
        *(f"UPDATE calls SET seq = {at - 1}, tx = {at - 1} WHERE seq = {at}" for at in range(4, 9)),
    ),
    "other numbers for calls": (3, *(f"UPDATE calls SET seq = {at + 1} WHERE seq = {at}" for at in range(8, 2, -1))),
    "a call more": (
        9,
        """INSERT INTO calls (tx, call_id, tool, prompt, outcome, started_at, duration, decisions, arguments, rendered, effects)
           SELECT 3, call_id, tool, prompt, outcome, started_at, duration, decisions, arguments, rendered, effects
           FROM calls WHERE seq = 3""",
    ),
    "an entry more": (
        9,
        "INSERT INTO transactions (id, session, committed, deltas, changes) VALUES ('x', 1, 1, 0, 0)",
    ),
    "a chain taken away": (1, "UPDATE calls SET chain = NULL WHERE seq = 1"),
    "a chain that is too short": (3, "UPDATE calls SET chain = x'00' WHERE seq = 3"),
    "the beginning": (1, "DELETE FROM calls WHERE seq < 3", "DELETE FROM transactions WHERE seq < 3"),
    "a forgotten beginning": (
        0,
        "INSERT OR REPLACE INTO meta VALUES ('forgotten', 'nonsense')",
    ),
    "a beginning that claims to be forgotten": (
        3,
        "DELETE FROM calls WHERE seq < 3",
        "DELETE FROM transactions WHERE seq < 3",
        "INSERT OR REPLACE INTO meta VALUES ('forgotten', '2 2 ')",
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_what_somebody_edits_is_found(made: Path, name: str) -> None:
    """With what SQLite itself does, and the first entry that does not fit is named."""
    position, *statements = FORGERIES[name]
    edit(made, *statements)

    verdict = checked(made)

    assert not verdict.fits
    # Where a chain is taken away from the first entry, the next one is the first that does not fit.
    assert verdict.position == position + (name == "a chain taken away")
    assert verdict.upto == max(verdict.position - 1, 0) or verdict.upto == 0


def test_a_tail_that_was_cut_off_behind_the_kept_head_is_found(made: Path) -> None:
    """What is left of the chain fits; only the head that was kept outside tells."""
    edit(made, "DELETE FROM calls WHERE seq > 5", "DELETE FROM transactions WHERE seq > 5")

    verdict = checked(made)

    assert (verdict.position, verdict.upto) == (6, 5)
    assert verdict.problem is not None
    assert "cut off" in verdict.problem


def test_a_record_that_was_replaced_is_found_and_can_be_trusted(made: Path) -> None:
    """Another one, whole in itself, that is longer than what was kept; calls do not make it the trusted one, the user does."""
    for name in ("record.db", "record.db-wal", "record.db-shm"):
        (state_of(made) / name).unlink(missing_ok=True)
    with Workspace.open(made) as workspace:
        for number in range(9):
            call(workspace, lambda files, _, n=number: files.write("a.txt", f"{n}"))

    verdict = checked(made)
    assert (verdict.position, verdict.upto, verdict.kept) == (8, 0, 0)
    with Workspace.open(made) as workspace:
        assert trust(workspace).fits
    assert checked(made).kept == 9


def test_a_blob_that_was_rewritten_is_found(made: Path) -> None:
    """In staging first; what is folded has git's own names, which nobody can make fit."""
    staged = [path for path in (state_of(made) / "staged").rglob("*") if path.is_file()]
    chosen = next(path for path in staged if path.read_bytes() == b"text 2\n")
    before = chosen.stat()
    chosen.write_bytes(b"text X\n")
    os.utime(chosen, ns=(before.st_atime_ns, before.st_mtime_ns))

    verdict = checked(made)

    assert verdict.position == 4
    assert verdict.problem is not None
    assert "a.txt" in verdict.problem


def test_long_texts_that_were_moved_are_looked_at(root: Path) -> None:
    """Compressed elsewhere they are what they were, and one that is not is found."""
    with Workspace.open(root) as workspace:
        for number in range(40):
            call(workspace, lambda files, _, n=number: files.write("a.txt", f"{n}"), tool=f"t{number}")
        workspace.record.texts.pack(leave=0)
    assert checked(root).fits
    edit(root, "UPDATE calls SET rendered_text = 99 WHERE seq = 7")

    verdict = checked(root)

    assert (verdict.position, verdict.upto) == (7, 6)


def test_who_was_killed_before_the_head_was_kept_is_not_accused(root: Path) -> None:
    """The kept head lags behind, and what came after it fits."""
    with Workspace.open(root) as workspace:
        call(workspace, lambda files, _: files.write("a.txt", "1"))
    child = os.fork()
    if not child:
        workspace = Workspace.open(root)
        for number in range(5):
            call(workspace, lambda files, _, n=number: files.write("a.txt", f"{n}"))
        os._exit(0)
    os.waitpid(child, 0)

    verdict = checked(root)

    assert verdict.fits
    assert (verdict.kept, verdict.upto) == (1, 6)


def test_the_head_is_kept_every_hundred_entries(root: Path) -> None:
    """Without any close."""
    with Workspace.open(root) as workspace:
        for _ in range(101):
            call(workspace, lambda *_: None)
        kept = kept_head(workspace.state)
        assert kept is not None
        assert kept[0] == 100


def test_two_processes_keep_one_chain(root: Path) -> None:
    """Each goes on where the other one was."""
    with Workspace.open(root) as one, Workspace.open(root) as other:
        for workspace in (one, other, other, one, one, other):
            call(workspace, lambda files, _: files.write("a.txt", str(len(one.calls()))))

    assert checked(root).upto == 6


def test_a_workspace_without_calls_fits(root: Path) -> None:
    """There is nothing to be said of it."""
    verdict = checked(root)

    assert (verdict.fits, verdict.upto) == (True, 0)


def test_a_record_that_is_gone_is_missed(made: Path) -> None:
    """The kept head knows that there was one."""
    for path in state_of(made).glob("record.db*"):
        path.unlink()

    assert checked(made).position == 1


def test_the_command_says_how_far_it_is_vouched_for(place: Path, cli: Callable[..., Done]) -> None:
    """And ends with 1 where something does not fit."""
    wink = cli
    assert wink("verify").out == "no entries yet\n"
    assert wink("verify", "--trust").status == 2
    for text in "ab":
        wink("call", "--section", "files.files", "write_file", "file_path=new.txt", f"content={text}")
        wink("call", "--section", "files.files", "read_file", "file_path=new.txt")

    fine = wink("verify")
    assert fine.status == 0
    assert "the record fits: 4 entries, up to c4\nup to entry 4 they are vouched for" in fine.out
    edit(place, "UPDATE calls SET arguments = '{}' WHERE seq = 2")
    found = wink("verify")
    assert found.status == 1
    assert found.out.startswith("entry 2, after c1, does not fit: it is not what was written")
    (row,) = wink("verify", "--json").rows
    assert (row["fits"], row["position"], row["upto"], row["kept"]) == (False, 2, 1, 0)
