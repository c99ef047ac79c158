"""One process at a time changes a tree, and a dead one holds nobody up."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from tests.filesystem.injected import failing
from tests.states import state_of

from wink.errors import WinkError, WorkspaceBusy
from wink.filesystem import HostFilesystem
from wink.filesystem.disk import _lease
from wink.filesystem.disk._store import DiskStore

HOLDER = """
import sys
import threading
import time
from wink.filesystem.disk._store import DiskStore
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
    change_set = store.begin("tx")
    change_set.put("new.txt", b"x")
    change_set.publish()
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

    monkeypatch.setattr(_lease.fcntl, "flock", locking)
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

    monkeypatch.setattr(_lease.time, "sleep", pause)
    two.lease(60)
    assert len(pauses) == 5
    assert pauses == sorted(pauses)


def test_closing_a_store_gives_everything_back(tree: Path) -> None:
    """No descriptor is left, and others get the lease."""
    before = len(os.listdir("/proc/self/fd"))
    for number in range(3):
        store = DiskStore(str(tree))
        store.lease(0)
        change_set = store.begin(f"tx{number}")
        change_set.put("top.txt", b"x")
        change_set.put("src/a/new.txt", b"x")
        change_set.delete("src", recursive=True)
        change_set.changes()
        change_set.undo(0)
        for path in ("nothing", "link/x", "src/b/9"):
            with pytest.raises(OSError, match=path):
                store.open(path)
        store.close()
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("renaming", [errno.EIO, errno.ENOSYS], ids=errno.errorcode.get)
def test_a_lease_file_that_could_not_be_finished_keeps_nobody_out(
    tree: Path, open_store: Any, monkeypatch: pytest.MonkeyPatch, renaming: int
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
    refusal = OSError(renaming, os.strerror(renaming))
    monkeypatch.setattr("wink.filesystem.disk._lease.renameat2", Mock(side_effect=refusal))
    with pytest.raises(OSError, match="Input/output error"):
        store.begin("tx").put("top.txt", b"first")
    assert len(os.listdir("/proc/self/fd")) == open_before
    monkeypatch.undo()

    change_set = store.begin("again")
    change_set.put("top.txt", b"second")
    change_set.publish()
    assert (tree / "top.txt").read_bytes() == b"second"


def test_a_disk_that_fails_while_the_lease_is_made_costs_no_snapshot(tmp_path: Path) -> None:
    """Its file kept a second name, which made it look like somebody's link: nothing could be restored any more."""
    for after in range(40):
        root = tmp_path / str(after)
        root.mkdir()
        (root / "a.txt").write_text("before")
        with HostFilesystem(root) as files:
            before = files.snapshot()
            with failing(after, dies=False) as hit, suppress(OSError, WinkError):
                files.write("a.txt", "now")
            files.write("a.txt", "after")
            files.restore(before)
        assert (root / "a.txt").read_text() == "before", hit
        if not hit:
            return
    pytest.fail("not every call was made to fail")


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
    change_set = store.begin("tx")
    with monkeypatch.context() as full, pytest.raises(OSError, match="No space left"):
        full.setattr(os, "mkdir", mkdir)
        change_set.put("a.txt", b"x")
    change_set.put("a.txt", b"x")
    change_set.publish()
    store.close()

    assert (tree / "a.txt").read_bytes() == b"x"


def made(tree: Path, open_store: Any) -> tuple[DiskStore, DiskStore]:
    """Two stores of a tree that has a state."""
    change_set = (one := open_store(tree)).begin("tx")
    change_set.put("new.txt", b"x")
    change_set.publish()
    return one, open_store(tree)


def is_somebody_first(tree: Path) -> bool:
    """Whether anybody waits for the lease, or is just about to take it."""
    directory = os.open(state_of(tree), os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(directory)
    return False


def first_in_line(tree: Path, store: DiskStore) -> threading.Thread:
    """A thread in which a store waits for the lease, before all others."""
    waiting = threading.Thread(target=store.lease, args=(30,))
    waiting.start()
    while not is_somebody_first(tree):
        time.sleep(0.001)
    return waiting


def test_who_gives_the_lease_back_comes_behind_who_waits(
    tree: Path, open_store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two that went on writing one made thousands of calls while the other waited for its first."""
    monkeypatch.setattr(_lease, "_TURN", 0.0)
    one, two = made(tree, open_store)
    one.lease(0)
    waiting = first_in_line(tree, two)

    one.unlease()
    with pytest.raises(WorkspaceBusy):
        one.lease(0)

    waiting.join()
    two.unlease()
    one.lease(0)
    one.unlease()


def test_who_came_first_may_take_it_again_for_a_moment(
    tree: Path, open_store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Handed on with each call, a thousand of four processes took two thirds longer than those of one."""
    monkeypatch.setattr(_lease, "_TURN", 1000.0)
    one, two = made(tree, open_store)
    one.lease(0)
    one.unlease()
    directory = os.open(state_of(tree), os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        with pytest.raises(WorkspaceBusy):
            two.lease(0)
        one.lease(0)
        one.unlease()
        now = time.monotonic
        with monkeypatch.context() as later, pytest.raises(WorkspaceBusy):
            later.setattr(_lease.time, "monotonic", lambda: now() + 1000)
            one.lease(0)
    finally:
        os.close(directory)


def test_who_finds_it_taken_waits_in_line_in_its_moment_too(
    tree: Path, open_store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else came first meanwhile."""
    monkeypatch.setattr(_lease, "_TURN", 1000.0)
    one, two = made(tree, open_store)
    one.lease(0)
    one.unlease()
    two.lease(0)
    waiting = first_in_line(tree, one)
    two.unlease()
    waiting.join()
    one.unlease()


def test_all_who_want_it_again_and_again_have_their_share(tree: Path, open_store: Any) -> None:
    """Not the same number, but nobody is kept out."""
    stores = [*made(tree, open_store), open_store(tree), open_store(tree)]
    taken, ended = [0] * len(stores), threading.Event()

    def work(number: int) -> None:
        while not ended.is_set():
            stores[number].lease(30)
            time.sleep(0.0005)
            stores[number].unlease()
            taken[number] += 1
            if taken[number] == 100:
                ended.set()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(stores))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert min(taken) >= 10


@pytest.mark.parametrize("timeout", [0, 30])
def test_who_waits_no_more_is_in_nobodys_way(
    tree: Path, open_store: Any, monkeypatch: pytest.MonkeyPatch, timeout: float
) -> None:
    """Whether the time is over or somebody pressed Ctrl-C."""
    one, two = made(tree, open_store)
    one.lease(0)

    def interrupted(_: float) -> None:
        assert is_somebody_first(tree)
        raise KeyboardInterrupt

    monkeypatch.setattr(_lease.time, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt if timeout else WorkspaceBusy):
        two.lease(timeout)

    assert not is_somebody_first(tree)
    one.unlease()
    one.lease(0)
    assert not is_somebody_first(tree)
    one.unlease()


def test_an_older_wink_that_knows_no_queue_is_kept_out_and_let_in(tree: Path, open_store: Any) -> None:
    """It asks for the lease alone."""
    one, _ = made(tree, open_store)
    older = os.open(state_of(tree) / "lease", os.O_RDWR)
    try:
        fcntl.flock(older, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with pytest.raises(WorkspaceBusy):
            one.lease(0)
        fcntl.flock(older, fcntl.LOCK_UN)
        one.lease(0)
        with pytest.raises(BlockingIOError):
            fcntl.flock(older, fcntl.LOCK_EX | fcntl.LOCK_NB)
        one.unlease()
        fcntl.flock(older, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(older)


def test_where_no_directory_can_be_locked_the_lease_alone_counts(
    tree: Path, open_store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some network filesystems lock only files that are open for writing; then nobody is first."""
    one, two = made(tree, open_store)
    flock = fcntl.flock

    def only_files(fd: int, operation: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(errno.EBADF, "Bad file descriptor")
        flock(fd, operation)

    monkeypatch.setattr(fcntl, "flock", only_files)
    one.lease(0)
    with pytest.raises(WorkspaceBusy):
        two.lease(0)
    one.unlease()
    two.lease(0)
    two.unlease()
