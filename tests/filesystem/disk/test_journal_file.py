"""One file is kept open for the journals of a state: whose it is, when it is believed, and what an earlier wink left beside it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.states import journals, state_of

from wink.errors import JournalNotOurs, TransactionError
from wink.filesystem.disk import DiskStore, has_journals
from wink.filesystem.disk._journal import Record, encoded, header, standing
from wink.filesystem.disk._journal_file import OWNER

from .conftest import State

SALT = b"12345678"


def kept(tree: Path) -> Path:
    return state_of(tree) / "wal/journal"


def change(store: DiskStore, transaction_id: str, content: bytes) -> None:
    change_set = store.begin(transaction_id)
    change_set.put("top.txt", content)
    change_set.publish()


def unknown(_: str) -> bool:
    return False


def owned(transaction_id: str, *records: Record) -> bytes:
    """A journal of this owner, as in the file; the record of whose it is has no more than these fields."""
    import struct
    import zlib

    body = f"0\0{OWNER}\0{transaction_id}".encode()
    framed = struct.pack("<II", len(body), zlib.crc32(body, zlib.crc32(SALT))) + body
    return header(SALT) + framed + b"".join(encoded(record, SALT) for record in records)


def test_one_transaction_after_the_other_uses_the_same_file(tree: Path, open_store: Any) -> None:
    """To make one for each costs more than all that is written to it."""
    one, other = open_store(tree), open_store(tree)
    change(one, "a", b"1")
    inode = kept(tree).stat().st_ino
    for number in range(6):
        change((one, other)[number % 2], f"b{number}", b"%d" % number)

    assert (kept(tree).stat().st_ino, os.listdir(kept(tree).parent)) == (inode, ["journal"])
    assert journals(tree) == []
    assert (tree / "top.txt").read_bytes() == b"5"


@pytest.mark.parametrize("settled", [True, False])
def test_what_an_earlier_wink_left_is_taken_back(
    tree: Path, open_store: Any, look: Callable[[Path], State], settled: bool
) -> None:
    """It named a file for each transaction; with the lease held they are noticed, whenever they came."""
    store = open_store(tree)
    change(store, "first", b"committed")
    if settled:
        os.utime(kept(tree).parent, ns=(0, 0))
    store.lease(1)
    assert not store.pending()
    store.unlease()
    before = look(tree)
    dead = open_store(tree)
    dead.begin("tx").put("top.txt", b"half done")
    dead.close()
    records = standing(kept(tree).read_bytes()).records
    kept(tree).write_bytes(b"")
    (kept(tree).parent / "tx").write_bytes(header(SALT) + b"".join(encoded(record, SALT) for record in records))

    store.lease(1)
    assert store.pending()
    (recovered,) = store.recover(unknown)

    assert (recovered.transaction_id, recovered.outcome, recovered.paths) == ("tx", "undone", ("top.txt",))
    assert look(tree) == before
    assert not store.pending()
    assert os.listdir(kept(tree).parent) == ["journal"]


def test_what_another_process_left_in_the_file_is_found_by_whoever_has_it_open(tree: Path, open_store: Any) -> None:
    """Nothing but its header tells: the directory is as it was."""
    store = open_store(tree)
    change(store, "first", b"committed")
    dead = open_store(tree)
    dead.begin("tx").put("top.txt", b"half done")
    dead.close()

    store.lease(1)
    assert store.pending()
    assert has_journals(str(state_of(tree)))
    assert [one.transaction_id for one in store.recover(unknown)] == ["tx"]
    assert not store.pending()
    assert not has_journals(str(state_of(tree)))
    assert (tree / "top.txt").read_bytes() == b"committed"


def test_two_that_are_under_way_have_a_journal_each(tree: Path, open_store: Any, look: Callable[[Path], State]) -> None:
    """Whoever works without a lease must not write over the other's."""
    one, other = open_store(tree), open_store(tree)
    change(one, "first", b"committed")
    before = look(tree)
    one.begin("a").put("tool.sh", b"half done")
    other.begin("b").put("top.txt", b"half done")
    with pytest.raises(TransactionError, match="'a' was left behind"):
        other.begin("a").put("top.txt", b"again")
    assert journals(tree) == ["b", "journal"]
    one.close()
    other.close()

    assert {found.transaction_id for found in open_store(tree).recover(unknown)} == {"a", "b"}
    assert {path: what for path, what in look(tree).items() if path} == {p: w for p, w in before.items() if p}
    assert journals(tree) == []


def test_a_file_with_another_name_is_not_written_to(tree: Path, tmp_path: Path, open_store: Any) -> None:
    """It may be somebody's; what is in it does not matter, so there is simply another one from now on."""
    victim = tmp_path / "victim.txt"
    store = open_store(tree)
    change(store, "first", b"1")
    os.link(kept(tree), victim)
    content = victim.read_bytes()

    change(store, "second", b"2")
    change(open_store(tree), "third", b"3")

    assert victim.read_bytes() == content
    assert kept(tree).stat().st_ino != victim.stat().st_ino
    assert (tree / "top.txt").read_bytes() == b"3"


def test_a_file_that_was_put_in_its_place_is_looked_at(tree: Path, open_store: Any) -> None:
    """The one that is open has no name any more, and nobody would find what is written to it."""
    store = open_store(tree)
    change(store, "first", b"1")
    new = kept(tree).with_name("other")
    new.write_bytes(b"")
    new.rename(kept(tree))

    change_set = store.begin("second")
    change_set.put("top.txt", b"2")

    assert b"top.txt" in kept(tree).read_bytes()
    change_set.undo(0)
    assert (tree / "top.txt").read_bytes() == b"1"


@pytest.mark.parametrize("what", ["rubbish", "link", "directory", "other name", "owner"])
def test_what_cannot_be_believed_is_left_alone_and_named(
    tree: Path, tmp_path: Path, open_store: Any, what: str
) -> None:
    """Undoing by guess would be worse than asking; `wink recover --set-aside` goes by the name."""
    store = open_store(tree)
    change(store, "first", b"1")
    store.close()
    record = Record(1, "C", "top.txt", "", None, None, (0, 0))
    if what == "rubbish":
        kept(tree).write_bytes(b"somebody's notes\n")
    elif what == "other name":
        kept(tree).write_bytes(owned("tx", record))
        os.link(kept(tree), tmp_path / "again")
    elif what == "owner":
        kept(tree).write_bytes(owned("../tx", record))
    else:
        kept(tree).unlink()
        if what == "link":
            (tmp_path / "victim.txt").write_bytes(b"")
            kept(tree).symlink_to(tmp_path / "victim.txt")
        else:
            kept(tree).mkdir()
    store = open_store(tree)

    assert store.pending()
    for _ in range(2):
        with pytest.raises(JournalNotOurs) as error:
            store.recover(unknown)
        assert error.value.transaction_id == "journal"
    kept(tree).rename(tmp_path / "aside")
    assert store.recover(unknown) == ()
    change(store, "second", b"2")
    assert (tree / "top.txt").read_bytes() == b"2"


@pytest.mark.parametrize("written", [0, 3, 8, 15, 16, 20, 24, 29])
def test_a_beginning_that_was_cut_short_is_no_journal(tree: Path, open_store: Any, written: int) -> None:
    """The disk was full, or the power failed: what is not written down was never begun."""
    store = open_store(tree)
    change(store, "first", b"1")
    with open(kept(tree), "r+b") as file:
        file.write(owned("tx")[:written])
    other = open_store(tree)

    assert not other.pending()
    change(other, "second", b"2")
    change(store, "third", b"3")
    assert journals(tree) == []


def test_a_full_disk_does_not_keep_a_journal_from_ending(
    tree: Path, open_store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some filesystems copy what is overwritten; cutting a file short takes no room."""

    def full(fd: int, data: bytes, at: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    store = open_store(tree)
    change_set = store.begin("tx")
    change_set.put("top.txt", b"1")
    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", full)
        change_set.publish()

    assert journals(tree) == []
    change(store, "next", b"2")
    assert (tree / "top.txt").read_bytes() == b"2"


def test_a_long_journal_does_not_keep_its_room(tree: Path, open_store: Any) -> None:
    """A transaction of thousands of files would leave megabytes behind for good."""
    store = open_store(tree)
    change_set = store.begin("tx")
    for number in range(300):
        change_set.mkdir("n" * 200 + f"{number}")
        change_set.symlink(f"link{number}", "n" * 900)
    size = kept(tree).stat().st_size
    change_set.undo(0)

    assert size > 1 << 18 > kept(tree).stat().st_size
    change(store, "next", b"2")
    assert journals(tree) == []


def test_a_state_that_was_removed_is_made_again(tree: Path, open_store: Any) -> None:
    """The file that is still open is nobody's by then."""
    import shutil

    store = open_store(tree)
    change(store, "first", b"1")
    shutil.rmtree(tree / ".wink")

    store.lease(1)
    assert not store.pending()
    change_set = store.begin("second")
    change_set.put("top.txt", b"2")
    assert b"top.txt" in kept(tree).read_bytes()
    change_set.publish()
    store.unlease()

    assert (tree / "top.txt").read_bytes() == b"2"
