"""A workspace with a tree beside it that nothing may reach, and a watch over every call to the file system."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from wink.filesystem import Filesystem, HostFilesystem, InMemoryFilesystem
from wink.filesystem.disk import _beneath as beneath
from wink.filesystem.disk import _root as disk_root
from wink.filesystem.disk._syscalls import RESOLVE_BENEATH, RESOLVE_NO_MAGICLINKS, has_openat2

Use = Callable[[Filesystem, str], object]

USES: dict[str, Use] = {
    "read": lambda files, path: files.read(path),
    "read a page": lambda files, path: files.read(path, 0, 5),
    "read_bytes": lambda files, path: files.read_bytes(path),
    "open_read": lambda files, path: files.open_read(path).read(),
    "open_text": lambda files, path: files.open_text(path).read(),
    "stat": lambda files, path: files.stat(path),
    "list": lambda files, path: files.list(path),
    "glob": lambda files, path: files.glob("**", path),
    "grep": lambda files, path: files.grep("secret", path),
    "write": lambda files, path: files.write(path, "planted"),
    "create": lambda files, path: files.write(path, "planted", "create"),
    "append": lambda files, path: files.append(path, "planted"),
    "edit": lambda files, path: files.edit(path, "secret", "planted"),
    "open_write": lambda files, path: files.open_write(path).close(),
    "delete": lambda files, path: files.delete(path),
    "delete all": lambda files, path: files.delete(path, recursive=True),
    "move from": lambda files, path: files.move(path, "taken"),
    "move to": lambda files, path: files.move("own.txt", path, overwrite=True),
    "copy from": lambda files, path: files.copy(path, "taken"),
    "copy to": lambda files, path: files.copy("own.txt", path, overwrite=True),
    "mkdir": lambda files, path: files.mkdir(path, exist_ok=False),
}
"""Every way in which a tool can use a path."""

_WATCHED = (
    "access", "chmod", "chown", "link", "listdir", "lstat", "mkdir", "mkfifo", "mknod", "open", "readlink", "remove",
    "rename", "replace", "rmdir", "scandir", "stat", "statvfs", "symlink", "truncate", "unlink", "utime",
)  # fmt: skip
_NEVER_FOLLOWED = frozenset(
    ("link", "mkdir", "readlink", "remove", "rename", "replace", "rmdir", "symlink", "unlink", "mkfifo", "mknod")
)


class Watch:
    """Sees that each call names one entry of an open directory and follows no link, so that it cannot lead out.

    The kernel's own resolution, `openat2`, may be given a path, when it is told to stay beneath.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.calls, self.stop = 0, patch.undo
        for name in _WATCHED:
            patch.setattr(os, name, self._watched(name, getattr(os, name)))
        patch.setattr(beneath, "openat2", self._beneath(beneath.openat2))
        patch.setattr(disk_root, "renameat2", self._renamed(disk_root.renameat2))

    def _watched(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if not sys._getframe(1).f_globals["__name__"].startswith("wink."):
                return real(*arguments, **options)
            self.calls += 1
            told = f"os.{name}{arguments} {options}"
            paths = [path for path in arguments[: 2 if name in ("link", "rename", "replace") else 1] if path != "."]
            if name == "symlink":
                paths = [arguments[1]]
            for path in paths:
                if isinstance(path, int) or path == "/proc/locks" or path.startswith("/proc/self/fd/"):
                    continue
                assert "/" not in path, told
                assert path != "..", told
                assert any(value is not None for key, value in options.items() if key.endswith("dir_fd")), told
                if name == "open":
                    assert arguments[1] & os.O_NOFOLLOW, told
                elif name not in _NEVER_FOLLOWED:
                    # A mode is changed only where staging holds the name, which nobody else writes to.
                    assert options.get("follow_symlinks") is False or name == "chmod", told
            return real(*arguments, **options)

        return call

    def _beneath(self, real: Callable[..., int]) -> Callable[..., int]:
        def call(fd: int, path: str, how: bytes) -> int:
            self.calls += 1
            assert not path.startswith("/"), path
            assert ".." not in path.split("/"), path
            resolve = int.from_bytes(how[16:24], "little")
            assert resolve & RESOLVE_BENEATH
            assert resolve & RESOLVE_NO_MAGICLINKS
            return real(fd, path, how)

        return call

    def _renamed(self, real: Callable[..., None]) -> Callable[..., None]:
        def call(one: int, source: str, two: int, target: str, flags: int) -> None:
            self.calls += 1
            for name in (source, target):
                assert "/" not in name, name
                assert name not in ("", ".", ".."), name
            real(one, source, two, target, flags)

        return call


@dataclass
class World:
    """A workspace and what lies around it. `root` is None in memory."""

    files: Filesystem
    kind: str
    top: Path
    root: Path | None
    before: dict[str, tuple[object, ...]] = field(default_factory=dict[str, tuple[object, ...]])
    names: list[str] = field(default_factory=list[str])

    @property
    def outside(self) -> Path:
        """What may not be reached."""
        return self.top / "outside"

    def seal(self) -> None:
        """Remember what is outside; from here on a read can be told by a time of access."""
        sealed = [self.outside, *self.outside.rglob("*")]
        for path in sealed:
            if not path.is_symlink():
                os.utime(path, ns=(10**18, 2 * 10**18))
        self.before = {str(path): _facts(path) for path in sealed}
        self.names = sorted(os.listdir(self.top))

    def is_untouched(self) -> bool:
        """Whether nothing outside was read, changed, made or removed since."""
        return {path: _facts(path) for path in self.before} == self.before and sorted(
            os.listdir(self.top)
        ) == self.names

    def refuses(self, use: Use, path: str, kinds: type[BaseException] | tuple[type[BaseException], ...]) -> str:
        """The error of a use that must fail; it tells nothing of the host."""
        with pytest.raises(kinds) as told:
            use(self.files, path)
        said = str(told.value)
        assert str(self.top) not in said, said
        return said


def _facts(path: str | Path) -> tuple[object, ...]:
    found = os.lstat(path)
    times = found.st_atime_ns, found.st_mtime_ns, found.st_ctime_ns
    return found.st_ino, found.st_mode, found.st_size, found.st_nlink, *times


def make_world(kind: str, top: Path) -> World:
    """A workspace `root` beside `outside` and `root-sibling`, with a file `own.txt` in it."""
    (top / "outside/inner").mkdir(parents=True)
    (top / "outside/secret.txt").write_text("secret\n")
    (top / "outside/inner/secret.txt").write_text("secret\n")
    (top / "root-sibling").mkdir()
    (top / "root-sibling/secret.txt").write_text("secret\n")
    root = None if kind == "memory" else top / "root"
    if root is not None:
        root.mkdir()
    files = InMemoryFilesystem() if root is None else HostFilesystem(root)
    files.write("own.txt", "mine\n")
    files.write("dir/own.txt", "mine\n")
    return World(files, kind, top, root)


def worlds(kinds: tuple[str, ...]) -> Callable[..., Iterator[World]]:
    """A fixture that gives a world of each kind."""

    @pytest.fixture(params=kinds)
    def fixture(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
        if request.param == "walk":
            monkeypatch.setattr(disk_root, "has_openat2", lambda: False)
        elif request.param == "openat2" and not has_openat2():
            pytest.fail("this kernel has no openat2, so that its way cannot be tried")
        made = make_world(request.param, tmp_path / "top")
        made.seal()
        yield made
        if isinstance(made.files, HostFilesystem):
            assert made.files.level == request.param
            made.files.close()
        assert made.is_untouched()

    return fixture


world = worlds(("memory", "openat2", "walk"))
disk = worlds(("openat2", "walk"))
kernel = worlds(("openat2",))


@pytest.fixture
def watch() -> Iterator[Callable[[], Watch]]:
    """Begins to watch the calls to the file system; name it after the world, so that the watch ends first."""
    with pytest.MonkeyPatch.context() as patch:
        yield lambda: Watch(patch)


@pytest.fixture
def uses() -> dict[str, Use]:
    """Every way in which a tool can use a path."""
    return USES
