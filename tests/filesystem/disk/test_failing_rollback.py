"""A rollback that the disk stops half-way goes on later where it stopped."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.states import journals, made_state, state_of

from wink.errors import RollbackFailed, TransactionError
from wink.filesystem import HostFilesystem
from wink.filesystem.disk._root import DiskRoot
from wink.filesystem.disk._store import DiskStore

from .conftest import State, denied

Look = Callable[[Path], State]


class Failing:
    """Lets calls of one function fail, from one of them on, for some time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, where: Any, name: str, code: int) -> None:
        self._real, self._code = getattr(where, name), code
        self.good, self.bad = 10**6, 0
        monkeypatch.setattr(where, name, self)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        if self.good:
            self.good -= 1
        elif self.bad:
            self.bad -= 1
            raise OSError(self._code, os.strerror(self._code))
        return self._real(*arguments, **options)

    def fail(self, bad: int = 1, *, after: int = 0) -> None:
        """Fail `bad` calls, after some more good ones."""
        self.good, self.bad = after, bad


def change(store: DiskStore) -> Any:
    """A change set with several steps on one path, which can be taken back in their order only."""
    change_set = store.begin("tx")
    change_set.put("tool.sh", b"outer")
    change_set.delete("top.txt")
    change_set.put("top.txt", b"anew")
    change_set.put("top.txt", b"once more")
    return change_set


def make_state(store: DiskStore) -> None:
    """A first transaction, so that making the state is not among what fails."""
    change_set = store.begin("first")
    change_set.put("tool.sh", b"first")
    change_set.publish()
    store.discard_preimages("first")


def test_nothing_passes_over_an_inner_rollback_that_stopped(
    tree: Path, open_store: Any, look: Look, monkeypatch: pytest.MonkeyPatch, leftovers: Callable[[Path], list[str]]
) -> None:
    """What a failed call inside left half undone must not be committed with the call around it."""
    made_state(tree)
    before, store = look(tree), open_store(tree, resolver="walk", exchange=False)
    placing = Failing(monkeypatch, os, "rename", errno.EACCES)
    change_set = change(store)
    placing.fail(after=1)
    with pytest.raises(RollbackFailed):
        change_set.undo(1)

    with pytest.raises(TransactionError):
        change_set.put("tool.sh", b"more")
    with pytest.raises(TransactionError):
        change_set.prepare()
    change_set.undo(0)

    assert {name: entry for name, entry in look(tree).items() if name != "."} == {
        name: entry for name, entry in before.items() if name != "."
    }
    assert leftovers(tree) == []


def test_rollback_on_a_full_disk_is_noted_by_cutting_the_journal_short(
    tree: Path, open_store: Any, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps that recovery does not know to be taken back it would take back again, over what came before them."""
    store = open_store(tree)
    make_state(store)
    before = look(tree)
    change_set = change(store)
    writing = Failing(monkeypatch, os, "pwrite", errno.ENOSPC)
    writing.fail(10**6)
    ending = Failing(monkeypatch, os, "ftruncate", errno.EIO)
    ending.fail(10**6, after=3)
    change_set.undo(0)
    store.close()
    monkeypatch.undo()

    again = open_store(tree)
    again.recover(lambda _: False)

    assert look(tree) == before
    assert not (state_of(tree) / "conflicts").exists()


def test_a_rollback_whose_journal_cannot_be_removed_is_ended_by_the_next_turn(
    tree: Path, open_store: Any, look: Look, monkeypatch: pytest.MonkeyPatch, leftovers: Callable[[Path], list[str]]
) -> None:
    """An old journal that is found much later would undo what has been done since."""
    store = open_store(tree)
    change_set = store.begin("tx")
    change_set.put("src/a/new.txt", b"new")
    before = leftovers(tree)
    for name in ("pwrite", "ftruncate"):
        Failing(monkeypatch, os, name, errno.EIO).fail(10**6)
    change_set.undo(0)
    monkeypatch.undo()

    assert before == ["journal"]
    assert store.pending()
    store.recover(lambda _: False)
    assert leftovers(tree) == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_failed_operation_leaves_nothing_in_staging(
    tree: Path, open_store: Any, monkeypatch: pytest.MonkeyPatch, leftovers: Callable[[Path], list[str]], code: int
) -> None:
    """It had staged its content before its record could be written."""
    store = open_store(tree)
    change_set = store.begin("tx")
    change_set.put("tool.sh", b"done")
    writing = Failing(monkeypatch, os, "pwrite", code)
    writing.fail()
    with pytest.raises(OSError, match=os.strerror(code)):
        change_set.put("top.txt", b"not done")

    change_set.undo(0)
    assert leftovers(tree) == []


def test_a_name_given_by_a_link_is_taken_back_when_the_other_stays(
    tree: Path, open_store: Any, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without exchange a file gets its name by a link; then its name in staging could not be removed."""
    made_state(tree)
    store = open_store(tree, resolver="walk", exchange=False)
    make_state(store)
    before = look(tree)
    change_set = store.begin("tx")
    removing = Failing(monkeypatch, os, "unlink", errno.EIO)
    removing.fail()
    with pytest.raises(OSError, match="Input/output error"):
        change_set.put("src/a/new.txt", b"new")
    removing.fail()
    with pytest.raises(OSError, match="Input/output error"):
        change_set.move("src/a/1.txt", "src/b/moved.txt")
    change_set.undo(0)

    assert look(tree) == before


def test_a_file_that_was_written_back_in_part_is_known_as_ours(
    tree: Path, open_store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rollback that is tried again must not take its own work for what somebody saved."""
    store = open_store(tree)
    change_set = store.begin("tx")
    change_set.put("tool.sh", b"outer")
    with monkeypatch.context() as patch:
        patch.setattr(DiskRoot, "swap", denied)
        change_set.put("top.txt", b"written in place")
    cutting = Failing(monkeypatch, os, "ftruncate", errno.EIO)
    cutting.fail()
    with pytest.raises(RollbackFailed):
        change_set.undo(1)

    change_set.undo(0)

    assert change_set.conflicts == ()
    assert (tree / "top.txt").read_bytes() == b"top\r\n"


def test_a_directory_gets_its_time_back_when_the_disk_works_again(
    tree: Path, open_store: Any, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only where we may not set times they are left as they are."""
    made_state(tree)
    os.utime(tree, ns=(10**18, 10**18))
    before, store = look(tree), open_store(tree)
    change_set = store.begin("tx")
    change_set.put("src/a/new.txt", b"new")
    setting = Failing(monkeypatch, os, "utime", errno.EIO)
    setting.fail()
    with pytest.raises(RollbackFailed):
        change_set.undo(0)

    store.recover(lambda _: False)

    assert look(tree) == before


def test_a_call_goes_on_though_the_disk_kept_the_journal_of_a_step_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal says nothing that still holds, so it must not keep the rest of the same call from changing files."""

    real = os.pwrite

    def pwrite(fd: int, data: bytes, at: int) -> int:
        if not any(data):  # a header that is wiped
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(fd, data, at)

    with HostFilesystem(tmp_path) as files:
        files.write("a.txt", "one")
        part = files.begin()
        with monkeypatch.context() as broken, pytest.raises(FileNotFoundError):
            broken.setattr(os, "pwrite", pwrite)
            Failing(broken, os, "ftruncate", errno.EIO).fail(10**6)
            part.handle.move("nowhere.txt", "new/b.txt")
        assert journals(tmp_path) == ["journal"]
        part.handle.write("a.txt", "two")
        part.handle.write("new/c.txt", "three")
        part.undo()

        assert files.read("a.txt").content == "one"
        assert not files.exists("new")
        files.write_lock.acquire(1)
        files.write_lock.release()
        assert [*journals(tmp_path), *(state_of(tmp_path) / "staged").iterdir()] == []
