"""What a call changed can be found again from the record alone."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from wink.filesystem import FileChange, Filesystem, HostFilesystem
from wink.record import Record
from wink.transactions import CommitEntry

MakeEntry = Callable[..., CommitEntry]
Work = Callable[[Filesystem], object]


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def changes(tmp_path: Path, record: Record, entry: MakeEntry) -> Callable[[Work], dict[str, FileChange]]:
    """Commits some work on files, and gives what the record then knows of it."""
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "d").mkdir()
    (tmp_path / "d/x.txt").write_text("inside\n")

    def commit(work: Work) -> dict[str, FileChange]:
        with HostFilesystem(tmp_path, state=tmp_path / ".wink") as files:
            files.recorder = record
            part = files.begin(transaction_id="tx-1")
            work(part.handle)
            record.commit(entry(changes=part.changes()))
            part.prepare()
            part.publish()
        return {change.path: change for change in record.calls()[0].changes}

    return commit


def test_preimage_is_named_and_still_there(tmp_path: Path, changes: Callable[[Work], dict[str, FileChange]]) -> None:
    """Whoever takes a call back later has nothing but the record and the staging directory."""
    found = changes(lambda files: (files.write("a.txt", "two\n"), files.delete("d", recursive=True)))

    before = {path: change.before for path, change in found.items()}
    kept = {path: version.kept for path, version in before.items() if version is not None}
    staged = {path: trace.staged for path, trace in kept.items() if trace is not None}
    assert sorted(staged) == ["a.txt", "d", "d/x.txt"]
    assert (tmp_path / ".wink/staged" / str(staged["a.txt"])).read_text() == "one\n"
    assert (tmp_path / ".wink/staged" / str(staged["d/x.txt"])).read_text() == "inside\n"


def test_what_a_call_left_is_known_by_digest_and_mark(
    tmp_path: Path, changes: Callable[[Work], dict[str, FileChange]]
) -> None:
    """So it can be told later whether somebody has changed a file since, also after it was copied or restored."""

    def work(files: Filesystem) -> None:
        files.write("new.txt", "new\n")
        files.edit("a.txt", "one", "two")  # not read before, so that no stamp tells the digest

    found = changes(work)

    for path, text in (("new.txt", "new\n"), ("a.txt", "two\n")):
        after = found[path].after
        assert after is not None
        assert after.kept is not None
        status = os.stat(tmp_path / path)
        assert (after.kept.inode, after.kept.modified_ns) == (status.st_ino, status.st_mtime_ns)
        assert after.kept.digest == sha(text)


def test_moved_file_is_known_by_its_mark(tmp_path: Path, changes: Callable[[Work], dict[str, FileChange]]) -> None:
    """A rename keeps inode and time, and nobody has to read a large file for it."""
    found = changes(lambda files: files.move("a.txt", "b.txt"))

    before, after = found["a.txt"].before, found["b.txt"].after
    assert before is not None
    assert after is not None
    assert before.kept is not None
    assert after.kept is not None
    assert found["b.txt"].moved_from == "a.txt"
    assert before.kept.inode == after.kept.inode == os.stat(tmp_path / "b.txt").st_ino
    assert before.kept.staged is None


def test_attempt_keeps_what_it_had_written(tmp_path: Path, record: Record, entry: MakeEntry) -> None:
    """After the rollback nothing else holds it, and people want to see what a failed call was about to do."""
    (tmp_path / "a.txt").write_text("one\n")
    with HostFilesystem(tmp_path, state=tmp_path / ".wink") as files:
        part = files.begin(transaction_id="tx-1")
        part.handle.write("a.txt", "two\n")
        seen = part.changes()
        part.undo()
        record.attempt(entry(outcome="rolled back", changes=seen))

    (change,) = record.calls()[0].changes
    assert change.after is not None
    assert change.after.content() == b"two\n"
