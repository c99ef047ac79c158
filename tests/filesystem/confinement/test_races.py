"""Whatever is swapped just before any one call to the file system, nothing leads out, hangs or loses what a person saved.

Each operation is run again and again; before its first, second, third … call to the file system, somebody else strikes.
An ordinary run tries every seventh call, `nox -s races` (`WINK_RACES=all`) every one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from wink.errors import WinkError
from wink.filesystem import Filesystem, HostFilesystem
from wink.filesystem.disk import _beneath as beneath
from wink.filesystem.disk import _root as disk_root
from wink.filesystem.disk._store import DiskStore

STEP = 1 if os.environ.get("WINK_RACES") == "all" else 7

Act = Callable[[Filesystem], object]

OPERATIONS: dict[str, Act] = {
    "read": lambda files: files.read("d/a.txt"),
    "read a page": lambda files: files.read("d/a.txt", 0, 1),
    "open_read": lambda files: files.open_read("d/a.txt").read(),
    "stat": lambda files: files.stat("d/a.txt"),
    "list": lambda files: files.list("d"),
    "glob": lambda files: files.glob("**"),
    "grep": lambda files: files.grep("secret", respect_ignore=True),
    "write": lambda files: files.write("d/a.txt", "wink's\n"),
    "create": lambda files: files.write("d/new/deep/b.txt", "wink's\n"),
    "write much": lambda files: files.write("d/a.txt", "wink's\n" * 200_000),
    "open_write": lambda files: files.open_write("d/a.txt").close(),
    "append": lambda files: files.append("d/a.txt", "wink's\n"),
    "edit": lambda files: files.edit("d/a.txt", "old", "wink's"),
    "delete": lambda files: files.delete("d/a.txt"),
    "delete all": lambda files: files.delete("d", recursive=True),
    "move": lambda files: files.move("d/a.txt", "e/b.txt"),
    "move over": lambda files: files.move("d/a.txt", "e/c.txt", overwrite=True),
    "move all": lambda files: files.move("d", "e/d"),
    "copy": lambda files: files.copy("d/a.txt", "e/b.txt"),
    "copy over": lambda files: files.copy("d/a.txt", "e/c.txt", overwrite=True),
    "mkdir": lambda files: files.mkdir("d/new/deep"),
}
CALLS = (
    "access", "chmod", "chown", "fchmod", "fchown", "fstat", "fsync", "ftruncate", "link", "listdir", "lseek", "mkdir",
    "open", "pread", "pwrite", "read", "readlink", "rename", "rmdir", "scandir", "setxattr", "stat", "symlink", "unlink",
    "utime", "write",
)  # fmt: skip


class Striker:
    """Lets somebody else act just before the n-th call that wink makes."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.calls, self.at, self.strike = 0, -1, lambda: None
        for name in CALLS:
            patch.setattr(os, name, self._wrapped(getattr(os, name)))
        patch.setattr(beneath, "openat2", self._wrapped(beneath.openat2))
        patch.setattr(disk_root, "renameat2", self._wrapped(disk_root.renameat2))

    def arm(self, at: int, strike: Callable[[], None]) -> None:
        """Count from here."""
        self.calls, self.at, self.strike = 0, at, strike

    def _wrapped(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if sys._getframe(1).f_globals["__name__"].startswith("wink."):
                if self.calls == self.at:
                    self.at = -1
                    self.strike()
                self.calls += 1
            return real(*arguments, **options)

        return call


@pytest.fixture
def striker() -> Iterator[Striker]:
    """Inactive until armed."""
    with pytest.MonkeyPatch.context() as patch:
        yield Striker(patch)


def lay_out(top: Path) -> Path:
    """A workspace with two directories, and a tree outside that looks like one of them."""
    shutil.rmtree(top, ignore_errors=True)
    root = top / "root"
    for place, text in (
        (root / "d", "old\n"),
        (root / "e", "old\n"),
        (top / "outside", "secret\n"),
        (top / "other/d", "secret\n"),
    ):
        place.mkdir(parents=True)
        (place / "a.txt").write_text(text)
        (place / "c.txt").write_text(text)
    return root


def replace(path: Path, make: Callable[[Path], object]) -> None:
    """Put something else in the place of whatever is there, which goes to a place of its own."""
    if os.path.lexists(path):
        os.rename(path, path.with_name(f"{path.name}.away"))
    with contextlib.suppress(FileNotFoundError):
        make(path)


SWAPS: dict[str, Callable[[Path], None]] = {
    "file for a link": lambda root: replace(root / "d/a.txt", lambda path: path.symlink_to("../../outside/a.txt")),
    "directory for a link": lambda root: replace(root / "d", lambda path: path.symlink_to("../outside")),
    "target for a link": lambda root: replace(root / "e", lambda path: path.symlink_to("../outside")),
    "new directory for a link": lambda root: replace(root / "d/new", lambda path: path.symlink_to("../../outside")),
    "file for a FIFO": lambda root: replace(root / "d/a.txt", os.mkfifo),
    "root for another": lambda root: replace(root, lambda path: path.symlink_to("other")),
    "state for a link": lambda root: replace(root / ".wink", lambda path: path.symlink_to("../outside")),
}


def outside(top: Path) -> dict[str, tuple[object, ...]]:
    """Everything but the workspace, exactly, and when it was read."""
    found: dict[str, tuple[object, ...]] = {}
    for name in ("outside", "other"):
        for path in [top / name, top / name / "d", *(top / name).glob("**/*.txt")]:
            if path.exists():
                facts = os.stat(path)
                atime = facts.st_atime_ns if path.is_file() else 0
                found[str(path)] = (
                    facts.st_ino,
                    facts.st_mode,
                    facts.st_size,
                    facts.st_mtime_ns,
                    atime,
                    facts.st_nlink,
                )
    return found


@pytest.mark.parametrize("way", ["openat2", "walk"])
@pytest.mark.parametrize("swap", SWAPS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_no_swap_leads_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, striker: Striker, name: str, swap: str, way: str
) -> None:
    """In an operation that succeeds or fails, and in the rollback of what it did."""
    if way == "walk":
        monkeypatch.setattr(disk_root, "has_openat2", lambda: False)
    at = (sum(map(ord, name + swap)) % STEP) if STEP > 1 else 0
    while True:
        root = lay_out(tmp_path / "top")
        for path in (tmp_path / "top").glob("o*/**/*.txt"):
            os.utime(path, ns=(10**18, 2 * 10**18))
        before = outside(tmp_path / "top")
        with HostFilesystem(root) as files:
            part = files.begin()
            striker.arm(at, lambda root=root: SWAPS[swap](root))
            result: object = None
            with contextlib.suppress(WinkError, OSError, ValueError):
                result = OPERATIONS[name](part.handle)
                part.changes()
            with contextlib.suppress(WinkError, OSError):
                part.undo()
            ended = striker.at == at
            striker.arm(-1, lambda: None)
        assert outside(tmp_path / "top") == before, f"before call {at}"
        assert "secret" not in str(result), f"before call {at}"
        if ended:
            return
        at += STEP


SAVES: dict[str, Callable[[Path], None]] = {
    "in place": lambda path: save_in_place(path),
    "by rename": lambda path: save_by_rename(path),
    "by append": lambda path: save_by_append(path),
}
THEIRS = "a person's work\n"


def save_in_place(path: Path) -> None:
    """As nano does."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        fd = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CREAT, 0o644)
        os.write(fd, THEIRS.encode())
        os.close(fd)


def save_by_rename(path: Path) -> None:
    """As vim and most others do."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        beside = path.with_name(".saving")
        beside.write_text(THEIRS)
        os.replace(beside, path)


def save_by_append(path: Path) -> None:
    """As a program that writes a log does."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(fd, THEIRS.encode())
        os.close(fd)


CHANGING = (
    "write",
    "write much",
    "open_write",
    "append",
    "edit",
    "delete",
    "delete all",
    "move",
    "move all",
    "move over",
    "create",
)


@pytest.mark.parametrize("way", ["exchange", "portable"])
@pytest.mark.parametrize("ending", ["rolled back", "committed"])
@pytest.mark.parametrize("save", SAVES)
@pytest.mark.parametrize("name", CHANGING)
def test_what_a_person_saves_is_never_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, striker: Striker, name: str, save: str, ending: str, way: str
) -> None:
    """At whatever moment of a call or of its rollback: it is in a file, or in `conflicts/`."""
    at = (sum(map(ord, name + save)) % STEP) if STEP > 1 else 0
    while True:
        root = lay_out(tmp_path / "top")
        path = root / ("d/new/deep/b.txt" if name == "create" else "d/a.txt")
        saved: list[bool] = []

        def strike(path: Path = path, saved: list[bool] = saved) -> None:
            SAVES[save](path)
            saved.append(path.exists() and THEIRS in path.read_text())

        with HostFilesystem(root) as files:
            if way == "portable":
                store = files._transaction.tree.store
                assert isinstance(store, DiskStore)
                monkeypatch.setattr(store._root, "can_exchange", False)
            part = files.begin()
            striker.arm(at, strike)
            is_done = False
            with contextlib.suppress(WinkError, OSError, ValueError):
                OPERATIONS[name](part.handle)
                if ending == "committed":
                    part.prepare()
                    is_done = True
            with contextlib.suppress(WinkError, OSError):
                part.publish() if is_done else part.undo()
            ended = striker.at == at
            striker.arm(-1, lambda: None)
            # What a commit replaced waits in staging for whoever wants it back; a rollback leaves nothing there.
            kept = [
                place for place in root.rglob("*") if place.is_file() and (is_done or place.parent.name != "staged")
            ]
            if any(saved):
                assert any(THEIRS in place.read_text(errors="replace") for place in kept), f"lost before call {at}"
        if ended:
            return
        at += STEP
