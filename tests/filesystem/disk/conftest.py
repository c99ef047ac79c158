"""A tree on a real disk, its exact state, and crashes before any chosen system call."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from tests.states import journals, state_of

from wink.filesystem.disk import _root
from wink.filesystem.disk._store import DiskStore
from wink.filesystem.disk._syscalls import has_openat2

State = dict[str, tuple[object, ...]]

VARIANTS = {
    "kernel": {"resolver": "openat2", "exchange": True},
    "walk": {"resolver": "walk", "exchange": True},
    "portable": {"resolver": "walk", "exchange": False},
}


class Crash(BaseException):
    """The process is gone: nothing that it still runs reaches the disk."""


class Faults:
    """Dies before the n-th call that changes the disk, or in the middle of it when it is a write."""

    CALLS = (
        "chmod", "fchmod", "fchown", "ftruncate", "link", "mkdir", "open", "pwrite", "rename", "rmdir", "setxattr",
        "symlink", "unlink", "utime", "write",
    )  # fmt: skip

    def __init__(self) -> None:
        self.left: int | None = None
        self.torn = False
        self.calls = 0
        self.is_dead = False
        self._real: dict[str, Any] = {}

    def arm(self, left: int | None, *, torn: bool = False) -> None:
        """Count from here."""
        self.left, self.torn, self.calls, self.is_dead = left, torn, 0, False

    def __enter__(self) -> Self:
        for name in self.CALLS:
            self._real[name] = getattr(os, name)
            setattr(os, name, self._wrapped(name, self._real[name]))
        self._renameat2 = _root.renameat2
        _root.renameat2 = self._wrapped("renameat2", self._renameat2)
        return self

    def __exit__(self, *_: object) -> None:
        for name, function in self._real.items():
            setattr(os, name, function)
        _root.renameat2 = self._renameat2

    def _wrapped(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if name == "open" and not arguments[1] & os.O_CREAT:
                return function(*arguments, **options)
            self.calls += 1
            if self.is_dead:
                raise Crash
            if self.left is not None:
                self.left -= 1
                if self.left < 0:
                    self.is_dead = True
                    if self.torn and name in ("write", "pwrite"):
                        fd, data, *rest = arguments
                        function(fd, bytes(data)[: len(data) // 2], *rest)
                    raise Crash
            return function(*arguments, **options)

        return call


def denied(*_: object) -> bool:
    """What a directory that may not be written to says to an exchange of names."""
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


@pytest.fixture
def faults() -> Iterator[Faults]:
    """System calls that can be made to fail; inactive until armed."""
    with Faults() as active:
        yield active


@pytest.fixture
def look() -> Callable[[Path], State]:
    """The exact state of a tree: kinds, modes, times, inodes, contents and links, without wink's own."""
    return exact_state


def exact_state(root: Path) -> State:
    """See `look`."""
    state: State = {".": (os.lstat(root).st_mtime_ns,)}
    for directory, names, files in os.walk(root):
        if ".wink" in names:
            names.remove(".wink")
        for name in names + files:
            path = os.path.join(directory, name)
            found = os.lstat(path)
            body: object = None
            if stat.S_ISLNK(found.st_mode):
                body = os.readlink(path)
            elif stat.S_ISREG(found.st_mode):
                body = Path(path).read_bytes()
            state[os.path.relpath(path, root)] = (found.st_mode, found.st_mtime_ns, found.st_ino, found.st_nlink, body)
    return state


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small tree with one of everything, whose times lie well in the past."""
    return make_tree(tmp_path / "tree")


def make_tree(root: Path) -> Path:
    """See `tree`."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for name in ("a", "b"):
        (root / "src" / name).mkdir(parents=True)
        for number in range(3):
            (root / "src" / name / f"{number}.txt").write_bytes(b"%d " % number * (number * 40 + 5))
    (root / "top.txt").write_bytes(b"top\r\n")
    (root / "tool.sh").write_bytes(b"#!/bin/sh\n")
    (root / "tool.sh").chmod(0o750)
    (root / "big.bin").write_bytes(b"B" * 300_000)
    (root / "empty" / "inner").mkdir(parents=True)
    (root / "link").symlink_to("src/a/1.txt")
    (root / "dir-link").symlink_to("src/a")
    (root / "one-name.txt").write_bytes(b"linked")
    os.link(root / "one-name.txt", root / "other-name.txt")
    for directory, names, files in os.walk(root, topdown=False):
        for index, name in enumerate(sorted(names + files)):
            os.utime(Path(directory) / name, ns=(10**18 + index, 10**18 + index * 7), follow_symlinks=False)
    os.utime(root, ns=(10**18, 10**18))
    return root


@pytest.fixture(params=list(VARIANTS))
def variant(request: pytest.FixtureRequest) -> dict[str, Any]:
    """How a store resolves paths and exchanges names."""
    if request.param == "kernel" and not has_openat2():
        return VARIANTS["walk"]
    return VARIANTS[request.param]


@pytest.fixture
def open_store() -> Iterator[Callable[..., DiskStore]]:
    """Opens stores and closes them after the test."""
    stores: list[DiskStore] = []

    def open_one(root: Path, **options: Any) -> DiskStore:
        stores.append(DiskStore(str(root), **options))
        return stores[-1]

    yield open_one
    for store in stores:
        try:
            store.close()
        except OSError as error:
            if error.errno != errno.EBADF:
                raise


@pytest.fixture
def store(tree: Path, variant: dict[str, Any], open_store: Callable[..., DiskStore]) -> DiskStore:
    """A store over `tree`, in every variant."""
    return open_store(tree, **variant)


def left_in(root: Path) -> list[str]:
    """What a store left in its journals and staging."""
    staged = state_of(root) / "staged"
    return [*journals(root), *(sorted(os.listdir(staged)) if staged.exists() else [])]


@pytest.fixture
def leftovers() -> Callable[[Path], list[str]]:
    """What a store left in its journals and staging."""
    return left_in


@pytest.fixture
def new_tree() -> Callable[[Path], Path]:
    """Makes the tree again."""
    return make_tree
