"""What becomes of the transactions of a directory that nobody ended, and of what recorded ones replaced."""

from pathlib import Path

import pytest
from tests.states import state_of

from wink.filesystem import HostFilesystem


class Ledger:
    """A record that knows which transactions were stored."""

    def __init__(self, stored: set[str]) -> None:
        self.stored = stored

    def committed(self, transaction_id: str) -> bool:
        return transaction_id in self.stored


@pytest.mark.parametrize("was_stored", [True, False])
def test_a_transaction_that_nobody_ended_is_judged_when_the_turn_is_taken(tmp_path: Path, was_stored: bool) -> None:
    """The record decides; what is in it stands, anything else has not been."""
    with HostFilesystem(tmp_path) as files:
        files.write("a.txt", "before")
        files.recorder = Ledger({"call-1"} if was_stored else set())
        part = files.begin(transaction_id="call-1")
        files.write_lock.acquire(1)
        part.handle.write("a.txt", "after")
        part.leave()
        files.write_lock.release()

        files.write_lock.acquire(1)
        files.write_lock.release()

        assert [(done.transaction_id, done.outcome) for done in files.recovered] == [
            ("call-1", "kept" if was_stored else "undone")
        ]
        assert files.read("a.txt").content == ("after" if was_stored else "before")
        files.write_lock.acquire(1)
        files.write_lock.release()
        assert files.recovered == ()


def test_what_a_recorded_call_replaced_is_kept_until_told(tmp_path: Path) -> None:
    """Undo and history need it."""
    with HostFilesystem(tmp_path) as files:
        files.write("a.txt", "before")
        files.recorder = Ledger({"call-1"})
        part = files.begin(transaction_id="call-1")
        part.handle.write("a.txt", "after")
        part.prepare()
        part.publish()
        kept = [path.read_text() for path in (state_of(tmp_path) / "staged").iterdir()]
        files.discard_preimages("call-1")

        assert kept == ["before"]
        assert list((state_of(tmp_path) / "staged").iterdir()) == []
