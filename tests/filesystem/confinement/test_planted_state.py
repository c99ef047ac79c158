"""A workspace may come with a state of its own, written by somebody who wants wink's recovery to work for them."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import pytest
from tests.states import state_of

from wink.errors import WinkError
from wink.filesystem import HostFilesystem
from wink.filesystem.disk._journal import Record, encoded, header, mark

SALT = b"12345678"
VALUES = (
    "../outside/secret.txt", "../../../outside/secret.txt", "{outside}/secret.txt", "up/secret.txt", "..",
    "dir/../../outside/inner", "",
)  # fmt: skip


@pytest.fixture
def planted(disk: Any, watch: Any) -> Any:
    """A function that plants one record and lets wink recover, whatever comes of it."""

    def plant(record: Record) -> None:
        state = state_of(disk.root)
        (state / "wal/tx").write_bytes(header(SALT) + encoded(record, SALT))
        disk.files.close()
        disk.files = HostFilesystem(disk.root)
        watching = watch()
        with contextlib.suppress(WinkError, OSError):
            disk.files.write("own.txt", "written\n")
        watching.stop()

    return plant


@pytest.mark.parametrize("kind", list("XCDNMTPWKEB"))
@pytest.mark.parametrize("place", ["path", "staged", "note"])
def test_no_record_leads_out(disk: Any, planted: Any, kind: Any, place: str) -> None:
    """Each kind of record, with each of its names leading elsewhere."""
    (disk.root / "up").symlink_to("../outside")
    own = mark(os.lstat(disk.root / "own.txt"))
    record = Record(1, kind, "dir/new.txt", "tx.1", own, own, (0, 0, 0, 0), "420" if kind == "P" else "dir/other.txt")

    for value in VALUES:
        planted(record._replace(**{place: value.format(outside=disk.outside)}))


@pytest.mark.parametrize(
    "name", ["wal/tx", "wal/journal", "lease", "spare", "staged/tx.1", "wal", "staged", "conflicts"]
)
@pytest.mark.parametrize("what", ["fifo", "link", "hard link", "directory"])
def test_no_file_of_the_state_is_a_trap(disk: Any, watch: Any, name: str, what: str) -> None:
    """A FIFO would block, a link would have wink write somewhere else."""
    disk.files.close()
    place = state_of(disk.root) / name
    if place.is_dir():
        for inside in place.iterdir():
            inside.unlink()
        place.rmdir()
    else:
        place.unlink(missing_ok=True)
    if what == "fifo":
        os.mkfifo(place)
    elif what == "link":
        place.symlink_to(disk.outside if name in ("wal", "staged", "conflicts") else disk.outside / "secret.txt")
    elif what == "directory":
        place.mkdir()
    else:
        os.link(disk.outside / "secret.txt", place)
        disk.seal()
    disk.files = HostFilesystem(disk.root)
    watch()
    with contextlib.suppress(WinkError, OSError):
        part = disk.files.begin()
        disk.files.write_lock.acquire(1)
        try:
            part.handle.write("own.txt", "written\n")
            (disk.root / "own.txt").write_text("a person's\n")
            part.undo()
        finally:
            disk.files.write_lock.release()
    assert (disk.outside / "secret.txt").read_text() == "secret\n"
    if what == "hard link" and place.exists():
        place.unlink()
    disk.seal()
