"""One process at a time changes a tree, and a dead one holds nobody up."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.states import state_of

from wink.errors import WorkspaceBusy
from wink.filesystem import _lock
from wink.filesystem._disk import DiskStore

HOLDER = """
import sys
from wink.filesystem._disk import DiskStore
store = DiskStore(sys.argv[1])
store.lease(5)
if sys.argv[2] == "change":
    store.begin("tx").put("held.txt", b"x")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(tree: Path) -> Any:
    """Starts processes that hold the lease until they are killed."""
    started: list[subprocess.Popen[bytes]] = []

    def start(what: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(tree), what], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("what", ["nothing", "change"])
def test_a_dead_process_gives_the_lease_back(tree: Path, holder: Any, open_store: Any, what: str) -> None:
    """Whether it had changed something yet or not, and whoever made the state."""
    store = open_store(tree)
    process = holder(what)

    with pytest.raises(WorkspaceBusy) as busy:
        store.lease(0.01)
    assert busy.value.holder == f"process {process.pid}"
    assert (tree / ".wink").exists() == (what == "change")

    process.kill()
    process.wait()
    store.lease(5)
    assert store.pending() == (what == "change")
    assert len(store.recover(lambda _: False)) == (what == "change")
    assert not (tree / "held.txt").exists()
    store.unlease()


def test_the_lease_made_with_the_state_is_held_already(tree: Path, open_store: Any) -> None:
    """Between making the state and locking the file in it, nobody else may come in."""
    one, two = open_store(tree), open_store(tree)
    one.lease(0)
    with pytest.raises(WorkspaceBusy):
        two.lease(0)
    one.begin("tx").put("new.txt", b"x")
    for _ in range(2):
        with pytest.raises(WorkspaceBusy):
            two.lease(0)

    one.unlease()
    two.lease(0)
    with pytest.raises(WorkspaceBusy):
        one.lease(0)
    two.unlease()
    one.lease(0)
    one.unlease()


def test_a_lease_taken_by_another_program_counts(tree: Path, open_store: Any) -> None:
    """It is plain `flock` on a plain file."""
    store = open_store(tree)
    frame = store.begin("tx")
    frame.put("new.txt", b"x")
    frame.publish()
    with (state_of(tree) / "lease").open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(WorkspaceBusy):
            store.lease(0)
    store.lease(0)


def test_a_state_that_was_removed_and_made_again(tree: Path, open_store: Any) -> None:
    """A lock on a file that has lost its name holds nobody off, so it is not counted."""
    one, two = open_store(tree), open_store(tree)
    one.begin("tx").put("new.txt", b"x")
    one.lease(0)
    one.unlease()
    shutil.rmtree(state_of(tree))
    two.begin("tx2").put("other.txt", b"x")

    two.lease(0)
    with pytest.raises(WorkspaceBusy):
        one.lease(0)
    two.unlease()
    one.lease(0)
    with pytest.raises(WorkspaceBusy):
        two.lease(0)


def test_where_directories_cannot_be_locked_the_state_is_made_at_once(
    tree: Path, open_store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NFS locks only what is open for writing."""
    real = fcntl.flock

    def locking(fd: int, operation: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{fd}"):
            raise OSError(9, "Bad file descriptor")
        real(fd, operation)

    monkeypatch.setattr(_lock.fcntl, "flock", locking)
    one, two = open_store(tree), open_store(tree)
    one.lease(0)
    with pytest.raises(WorkspaceBusy):
        two.lease(0)


def test_waiting_ends_as_soon_as_the_lease_is_free(
    tree: Path, open_store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A waiter looks again and again, at most as long as it was told."""
    one, two = open_store(tree), open_store(tree)
    one.lease(0)
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 5:
            one.unlease()

    monkeypatch.setattr(_lock.time, "sleep", pause)
    two.lease(60)
    assert len(pauses) == 5
    assert pauses == sorted(pauses)


def test_closing_a_store_gives_everything_back(tree: Path) -> None:
    """No descriptor is left, and others get the lease."""
    before = len(os.listdir("/proc/self/fd"))
    for number in range(3):
        store = DiskStore(str(tree))
        store.lease(0)
        frame = store.begin(f"tx{number}")
        frame.put("top.txt", b"x")
        frame.put("src/a/new.txt", b"x")
        frame.delete("src", recursive=True)
        frame.changes()
        frame.undo(0)
        for path in ("nothing", "link/x", "src/b/9"):
            with pytest.raises(OSError, match=path):
                store.open(path)
        store.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_lease_file_that_could_not_be_finished_keeps_nobody_out(
    tree: Path, open_store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock on it belongs to its descriptor, which must not stay open when the disk fails."""
    store, real = open_store(tree), os.link

    def failing(*arguments: Any, **options: Any) -> None:
        if str(arguments[0]).startswith("lease."):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(*arguments, **options)

    store.lease(1)
    open_before = len(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(os, "link", failing)
    with pytest.raises(OSError, match="Input/output error"):
        store.begin("tx").put("top.txt", b"first")
    assert len(os.listdir("/proc/self/fd")) == open_before
    monkeypatch.undo()

    frame = store.begin("again")
    frame.put("top.txt", b"second")
    frame.publish()
    assert (tree / "top.txt").read_bytes() == b"second"


@pytest.mark.parametrize("name", ["wal", "staged"])
def test_a_state_that_could_not_be_finished_is_finished_by_the_next_change(
    tree: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The lease file was there and locked by ourselves by then, which must not keep us out."""
    real = os.mkdir

    def mkdir(path: Any, *arguments: Any, **options: Any) -> None:
        if path == name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(path, *arguments, **options)

    store = DiskStore(str(tree))
    store.lease(0)
    frame = store.begin("tx")
    with monkeypatch.context() as full, pytest.raises(OSError, match="No space left"):
        full.setattr(os, "mkdir", mkdir)
        frame.put("a.txt", b"x")
    frame.put("a.txt", b"x")
    frame.publish()
    store.close()

    assert (tree / "a.txt").read_bytes() == b"x"
