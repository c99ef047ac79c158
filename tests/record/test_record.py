"""What is put into a record comes out again, and only what was committed counts."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from wink.errors import CommitFailed, WorkspaceClosed, WorkspaceReadOnly
from wink.filesystem import FileChange, FileVersion
from wink.record import Record
from wink.session import SliceDelta
from wink.transactions import CommitEntry

MakeEntry = Callable[..., CommitEntry]


@dataclass(frozen=True, slots=True)
class Note:
    """An item of a slice."""

    text: str


def notes(op: str, *texts: str, keys: tuple[str | None, ...] | None = None, policy: str = "state") -> SliceDelta:
    return SliceDelta("tests:Note", op, tuple(Note(text) for text in texts), keys, policy)  # type: ignore[arg-type]


def stored(record: Record, session: str = "default") -> list[str] | None:
    rows = record.loader(session)("tests:Note")
    return None if rows is None else [text for _, text in rows]


def test_nothing_is_created_before_something_is_stored(record: Record, state: Path) -> None:
    """Looking at a workspace must not leave a trace in it."""
    assert record.calls() == ()
    assert record.sessions() == ()
    assert stored(record) is None
    assert not record.committed("tx-1")

    assert not state.exists()


def test_state_directory_is_ignored_by_git(record: Record, state: Path, entry: MakeEntry) -> None:
    """What wink keeps must never end in somebody's commit."""
    record.commit(entry())

    assert (state / ".gitignore").read_text() == "*\n"
    assert sorted(path.name for path in state.iterdir() if path.suffix != "") == [
        "record.db",
        "record.db-shm",
        "record.db-wal",
    ]


def test_call_comes_back_as_it_was_made(record: Record, entry: MakeEntry) -> None:
    """The row of a call is all that people have to understand it later."""
    change = FileChange("a.txt", FileVersion("file", 3, 0o644), FileVersion("file", 5, 0o755), "b.txt")
    made = FileChange("link", None, FileVersion("link", 5, 0o777, "a.txt"))
    call = entry(decisions=(("rbw", True, None, False), ("order", False, "plan first", False)), changes=(change, made))

    record.commit(call)

    (row,) = record.calls()
    assert row.committed
    assert row.changes == (change, made)
    for name in ("transaction_id", "session", "call_id", "tool", "prompt", "outcome", "arguments", "rendered"):
        assert getattr(row, name) == getattr(call, name)
    assert (row.started_at, row.duration, row.decisions) == (call.started_at, call.duration, call.decisions)


def test_calls_are_listed_newest_first_and_by_session(record: Record, entry: MakeEntry) -> None:
    """The last call is what people want to see; other sessions' calls can be left out."""
    for session in ("one", "two", "one"):
        record.commit(entry(session=session))

    assert [row.call_id for row in record.calls()] == ["call-3", "call-2", "call-1"]
    assert [row.call_id for row in record.calls("one")] == ["call-3", "call-1"]
    assert [row.call_id for row in record.calls(limit=1)] == ["call-3"]
    assert record.sessions() == ("one", "two")


def test_attempt_is_listed_and_is_not_committed(record: Record, entry: MakeEntry) -> None:
    """Recovery must undo what an attempt left behind, however well it is documented."""
    record.attempt(entry(outcome="rolled back"))

    (row,) = record.calls()
    assert (row.outcome, row.committed) == ("rolled back", False)
    assert not record.committed("tx-1")


def test_attempt_keeps_logs_and_drops_state(record: Record, entry: MakeEntry) -> None:
    """A log tells what happened, and that a call failed is part of it."""
    record.attempt(entry(deltas=(notes("extend", "log", policy="log"),)))
    record.attempt(entry(deltas=(notes("extend", "state"),)))

    assert stored(record) == ['{"text":"log"}']


def test_nested_calls_share_the_transaction_of_the_outermost(record: Record, entry: MakeEntry) -> None:
    """They were committed by it, in one step."""
    inner = entry(tool="inner")
    outer = entry(tool="outer")

    record.commit(outer, [inner])

    rows = record.calls()
    assert [row.tool for row in rows] == ["outer", "inner"]
    assert {row.transaction_id for row in rows} == {outer.transaction_id}
    assert all(row.committed for row in rows)


def test_committed_is_known_by_id(record: Record, entry: MakeEntry) -> None:
    """Recovery has nothing but the id that a journal carries."""
    record.commit(entry())
    record.commit(entry())

    assert record.committed("tx-1")
    assert not record.committed("tx-3")


def test_looking_up_what_changed_files_does_not_read_everything(record: Record, entry: MakeEntry) -> None:
    """Each kept pre-image is asked about after a crash; there may be thousands of them."""
    from wink.record._ledger import _FIND_CHANGING

    change = FileChange("a.txt", None, FileVersion("file", 3, 0o644))
    record.commit(entry(changes=(change,)))
    record.attempt(entry(changes=(change,), outcome="rolled back"))

    assert record.committed("tx-1")
    assert not record.committed("tx-2")
    (plan,) = record._ledger.ask(f"EXPLAIN QUERY PLAN {_FIND_CHANGING}", "tx-1")
    assert "USING INDEX changing" in plan[3]


def test_slice_that_was_emptied_is_not_one_that_never_was(record: Record, entry: MakeEntry) -> None:
    """Otherwise a cleared plan would be set up anew each time the workspace is opened."""
    record.commit(entry(deltas=(notes("extend", "a"),)))
    record.commit(entry(deltas=(notes("replace"),)))

    assert stored(record) == []
    assert stored(record, "other") is None


def test_replaced_items_are_gone_from_the_table(record: Record, entry: MakeEntry) -> None:
    """A plan that is replaced a thousand times must not fill the disk."""
    for number in range(20):
        record.commit(entry(deltas=(notes("replace", str(number)),)))

    record.texts.pack()
    assert record._ledger.ask("SELECT count(*) FROM slice_items") == [(1,)]
    assert record._ledger.ask("SELECT count(*) FROM calls WHERE written IS NOT NULL") == [(0,)]


def test_item_written_by_key_keeps_its_place(record: Record, entry: MakeEntry) -> None:
    """A keyed slice is a dictionary, and dictionaries keep the order of first insertion."""
    record.commit(entry(deltas=(notes("upsert", "a1", "b1", keys=("a", "b")),)))
    record.commit(entry(deltas=(notes("upsert", "a2", "c1", keys=("a", "c")),)))

    rows = record.loader("default")("tests:Note")
    assert rows is not None
    assert [(key, text) for key, text in rows] == [
        ("a", '{"text":"a2"}'),
        ("b", '{"text":"b1"}'),
        ("c", '{"text":"c1"}'),
    ]


def test_text_that_is_no_unicode_is_kept(record: Record, entry: MakeEntry) -> None:
    """File names are bytes, and models send half surrogate pairs."""
    odd = "caf\udce9 \ud83d \0 end"
    change = FileChange(odd, None, FileVersion("link", 1, 0o777, odd))
    delta = notes("upsert", odd, keys=(odd,))

    record.commit(entry(rendered=odd, arguments=odd, call_id=odd, changes=(change,), deltas=(delta,)))

    (row,) = record.calls()
    assert (row.rendered, row.arguments, row.call_id, row.changes) == (odd, odd, odd, (change,))
    rows = record.loader("default")("tests:Note")
    assert rows is not None
    assert rows[0][0] == odd


def test_item_that_is_no_json_fails_the_commit_and_leaves_no_trace(record: Record, entry: MakeEntry) -> None:
    """The rest of the call must not be stored without it."""

    @dataclass(frozen=True)
    class Odd:
        value: object

    bad = SliceDelta("tests:Odd", "extend", (Odd(object()),), None, "state")

    with pytest.raises(CommitFailed, match="nothing was stored"):
        record.commit(entry(deltas=(notes("extend", "good"), bad)))

    assert record.calls() == ()
    assert stored(record) is None


def test_many_threads_commit_through_one_record(record: Record, entry: MakeEntry) -> None:
    """Calls that only read run side by side, and each has its row and its item."""
    entries = [entry(deltas=(notes("extend", str(number)),)) for number in range(80)]
    errors: list[BaseException] = []

    def commit(part: list[CommitEntry]) -> None:
        try:
            for call in part:
                record.commit(call)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=commit, args=(entries[start::4],)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    assert len(record.calls()) == len(entries)
    assert len(stored(record) or ()) == len(entries)


def test_child_of_a_fork_has_a_connection_of_its_own(record: Record, entry: MakeEntry) -> None:
    """SQLite forbids using a connection across a fork; both processes must be able to go on."""
    record.commit(entry())
    child_entry, parent_entry = entry(), entry()
    with record._database.hold():  # as if another thread were at work when the process forks
        child = os.fork()
        if child == 0:  # pragma: no cover - another process
            status = 1
            try:
                record.commit(child_entry)
                record.close()
                status = 0
            finally:
                os._exit(status)
    _, status = os.waitpid(child, 0)

    record.commit(parent_entry)

    assert status == 0
    assert [row.transaction_id for row in record.calls()] == ["tx-3", "tx-2", "tx-1"]


def test_processes_that_begin_a_record_at_the_same_moment_share_it(state: Path, entry: MakeEntry) -> None:
    """Several agents may be let loose on a fresh workspace at once; none may fail, or replace another's record."""
    start, ready = os.pipe()
    children: list[int] = []
    for call in [entry() for _ in range(6)]:
        child = os.fork()
        if child == 0:  # pragma: no cover - another process
            status = 1
            try:
                os.close(ready)
                os.read(start, 1)
                record = Record(str(state))
                record.commit(call)
                record.close()
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    os.close(start)
    os.close(ready)

    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 6
    record = Record(str(state))
    assert sorted(row.transaction_id for row in record.calls()) == [f"tx-{number}" for number in range(1, 7)]
    record.close()


def test_record_that_was_deleted_is_begun_anew(record: Record, state: Path, entry: MakeEntry) -> None:
    """Somebody removes the state while we run: writing on into a file without a name would lose everything."""
    record.commit(entry())
    for file in state.iterdir():
        file.unlink()
    state.rmdir()

    record.commit(entry())

    assert [row.transaction_id for row in record.calls()] == ["tx-2"]
    assert (state / "record.db").exists()


def test_closed_record_says_so(record: Record, entry: MakeEntry) -> None:
    """A session that outlives its workspace must not open it again unnoticed."""
    record.commit(entry())
    record.close()

    with pytest.raises(WorkspaceClosed):
        record.calls()
    with pytest.raises(CommitFailed, match="has been closed"):
        record.commit(entry())


def test_power_durability_waits_for_the_disk(state: Path, entry: MakeEntry) -> None:
    """A commit that survives a power cut is synced before it counts."""
    for durability, synchronous in (("process", 1), ("power", 2)):
        record = Record(str(state), durability=durability)  # type: ignore[arg-type]
        record.commit(entry())
        assert record._ledger.ask("PRAGMA synchronous") == [(synchronous,)]
        assert record._ledger.ask("PRAGMA journal_mode") == [("wal",)]
        record.close()


def test_state_that_is_a_link_is_refused(record: Record, state: Path, tmp_path: Path, entry: MakeEntry) -> None:
    """A workspace from somewhere else could send our writes anywhere."""
    (tmp_path / "elsewhere").mkdir()
    state.symlink_to("elsewhere")
    change = FileChange("a.txt", None, FileVersion("file", 1, 0o644))

    with pytest.raises(CommitFailed, match="can only be read") as caught:
        record.commit(entry(changes=(change,)))

    assert isinstance(caught.value.__cause__, WorkspaceReadOnly)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_call_that_changed_no_file_passes_where_nothing_can_be_stored(
    record: Record, state: Path, entry: MakeEntry, caplog: pytest.LogCaptureFixture
) -> None:
    """Reading works in a workspace that cannot be written to; that it leaves no record is said once."""
    state.write_text("in the way")

    record.commit(entry())
    record.attempt(entry())

    assert [message.message.split(":")[0] for message in caplog.records] == ["calls are not recorded"]
    assert state.read_text() == "in the way"
