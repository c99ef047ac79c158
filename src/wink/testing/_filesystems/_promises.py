"""What every test of `FilesystemContract` stands on: the filesystem that is tried, and the promise in the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar, NamedTuple, Protocol

import pytest

from wink.filesystem import FileChange, Filesystem, FileTransaction
from wink.testing._promise import Promised, needs

__all__ = ["Entry", "Make", "Promises", "commit", "contents", "exactly", "facts", "needs"]


class Make(Protocol):
    """Makes a filesystem: an empty one, or with `place` the one that was made there before."""

    def __call__(self, place: Path | None = None, *, read_only: bool = False) -> Filesystem: ...


class Promises(Promised):
    """A filesystem to try, and what it says of itself.

    A capability that is declared is always tested; the tests of one that is not are not collected.
    """

    has_links: ClassVar[bool] = True
    """Relative links can be made and are followed as long as they stay inside."""

    has_modes: ClassVar[bool] = True
    """Permission bits are kept."""

    has_times: ClassVar[bool] = True
    """What is rolled back has its old modification times again."""

    has_portable_names: ClassVar[bool] = True
    """Names that no Windows could hold are not made."""

    has_snapshots: ClassVar[bool] = True
    """`snapshot`, `restore` and `diff` work, on the filesystem itself and in a call."""

    reopens: ClassVar[bool] = False
    """`make_filesystem` opens the files again that it made at the same place before."""

    on_host: ClassVar[bool] = False
    """The files are the real ones beneath the place, where other programs see and change them."""

    def make_filesystem(self, place: Path, *, read_only: bool = False) -> Filesystem:
        """An empty filesystem that shares nothing with others; `place` is an empty directory for it to use or ignore."""
        raise NotImplementedError(f"{type(self).__name__} must define make_filesystem(self, place, *, read_only=False)")

    def close_filesystem(self, files: Filesystem) -> None:
        """Let go of a filesystem that was made; calls its `close`, if it has one."""
        close: Callable[[], object] = getattr(files, "close", lambda: None)
        close()

    def commit_call(self, files: Filesystem, part: FileTransaction) -> None:
        """End a call that succeeded; where something records the calls on these files, it has to be told here."""
        del files
        commit(part)

    @pytest.fixture
    def make(self, tmp_path: Path) -> Iterator[Make]:
        """Makes filesystems and closes them after the test."""
        made: list[Filesystem] = []

        def make_one(place: Path | None = None, *, read_only: bool = False) -> Filesystem:
            if place is None:
                place = tmp_path / f"files-{len(made)}"
                place.mkdir()
            made.append(self.make_filesystem(place, read_only=read_only))
            return made[-1]

        yield make_one
        for files in reversed(made):
            self.close_filesystem(files)

    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        """Where `files` is made."""
        place = tmp_path / "files"
        place.mkdir()
        return place

    @pytest.fixture
    def files(self, make: Make, place: Path) -> Filesystem:
        """The filesystem that most tests try, empty."""
        return make(place)


class Entry(NamedTuple):
    """All that can be told of one path. `content` is a file's; `target` a link's body, where it leads somewhere."""

    kind: str
    mode: int | None = None
    modified_at: object = None
    content: bytes | None = None
    target: str | None = None


def exactly(files: Filesystem) -> dict[str, Entry]:
    """Everything in a filesystem, with modes and times."""
    found: dict[str, Entry] = {}
    waiting = [""]
    while waiting:
        for entry in files.list(waiting.pop(), limit=100_000):
            if entry.is_link:
                target = files.stat(entry.path).target if entry.is_file or entry.is_directory else None
                found[entry.path] = Entry("link", target=target)
                continue
            stat = files.stat(entry.path)
            if entry.is_directory:
                waiting.append(entry.path)
                found[entry.path] = Entry("directory", stat.mode, stat.modified_at)
            else:
                found[entry.path] = Entry("file", stat.mode, stat.modified_at, files.read_bytes(entry.path))
    return found


def contents(files: Filesystem) -> dict[str, bytes | None]:
    """Every path with its content; None for directories and links."""
    return {path: entry.content for path, entry in sorted(exactly(files).items())}


def commit(part: FileTransaction) -> None:
    """The end of a call that succeeds."""
    part.revoke()
    part.prepare()
    part.publish()


def facts(changes: tuple[FileChange, ...]) -> list[tuple[str, str]]:
    """Kind and path of each change."""
    return [(change.kind, change.path) for change in changes]
