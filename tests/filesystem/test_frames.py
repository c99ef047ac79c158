"""What a store's frames do beneath every handle: modes, links, and what becomes of transactions that nobody ended."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from wink.errors import PathRefused
from wink.filesystem import FilePart, Filesystem, Frame, HostFilesystem

Tree = Callable[[Filesystem], dict[str, bytes | None]]


@contextmanager
def changing(files: Filesystem) -> Iterator[tuple[FilePart, Frame]]:
    """A part and its frame, undone at the end."""
    part = files.begin()
    with part.changing(".") as frame:
        yield part, frame
    part.undo()


def test_modes_change_and_come_back(files: Filesystem) -> None:
    """Of files and directories; what a file replaces keeps its mode."""
    files.write("d/run.sh", "x\n")
    modes = files.stat("d").mode, files.stat("d/run.sh").mode
    with changing(files) as (part, frame):
        frame.chmod("d", 0o700)
        frame.chmod("d/run.sh", 0o750)
        frame.put("d/run.sh", b"y\n")
        frame.put("d/new.sh", b"z\n", mode=0o755)
        assert [files.stat(path).mode for path in ("d", "d/run.sh", "d/new.sh")] == [0o700, 0o750, 0o755]
        assert [(change.path, change.before and change.before.mode, change.after and change.after.mode)
                for change in part.changes()] == [
            ("d", modes[0], 0o700), ("d/run.sh", modes[1], 0o750), ("d/new.sh", None, 0o755),
        ]  # fmt: skip
        assert part.changes()[0].diff() == f"d: mode {modes[0]:o} became 700\n"

    assert (files.stat("d").mode, files.stat("d/run.sh").mode) == modes


def test_links_are_changes_like_others(files: Filesystem) -> None:
    """Made, moved and deleted as links."""
    files.write("a.txt", "x\n")
    with changing(files) as (part, frame):
        frame.symlink("link", "a.txt")
        frame.move("link", "other")
        with pytest.raises(FileExistsError):
            frame.symlink("a.txt", "b.txt")
        with pytest.raises(PathRefused):
            frame.symlink("nothing", "")
        assert [(change.path, change.after and change.after.target) for change in part.changes()] == [
            ("other", "a.txt")
        ]

    assert [entry.name for entry in files.list()] == ["a.txt"]


def test_links_lead_through_directories_and_back(files: Filesystem) -> None:
    """`..` in a link's body goes up from where the link is."""
    files.write("a/b/c.txt", "c\n")
    part = files.begin()
    with part.changing(".") as frame:
        frame.symlink("a/b/here", ".")
        frame.symlink("a/b/up", "..")
        frame.symlink("a/b/top", "../..")
        frame.symlink("a/b/around", "../b/c.txt/")
        frame.symlink("deep", "a/b/up/b/c.txt")
    part.publish()

    assert files.read("a/b/here/here/c.txt").content == "c\n"
    assert files.read("deep").content == "c\n"
    assert [entry.name for entry in files.list("a/b/up")] == ["b"]
    assert [entry.name for entry in files.list("a/b/top")] == ["a", "deep"]
    assert files.stat("a/b/here").is_directory
    with pytest.raises(NotADirectoryError):
        files.read("deep/x")
    with pytest.raises(FileNotFoundError):
        files.read("a/b/up/x/y")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda frame: frame.mkdir(""), FileExistsError),
        (lambda frame: frame.mkdir("a.txt"), FileExistsError),
        (lambda frame: frame.chmod("nowhere", 0o600), FileNotFoundError),
        (lambda frame: frame.put("d", b""), IsADirectoryError),
        (lambda frame: frame.put("nowhere/a.txt", b""), FileNotFoundError),
        (lambda frame: frame.put("a.txt", b"", exclusive=True), FileExistsError),
        (lambda frame: frame.delete("d"), OSError),
        (lambda frame: frame.move("a.txt", "nowhere/b.txt"), FileNotFoundError),
        (lambda frame: frame.move("a.txt", "a.txt"), FileExistsError),
    ],
)
def test_what_fails_changes_nothing(
    files: Filesystem, tree: Tree, change: Callable[[Frame], object], error: type[OSError]
) -> None:
    """And leaves no step behind."""
    files.write("a.txt", "x")
    files.write("d/b.txt", "y")
    before = tree(files)
    with changing(files) as (part, frame):
        with pytest.raises(error):
            change(frame)
        assert not part.dirty
        frame.move("a.txt", "a.txt", overwrite=True)
        assert tree(files) == before


def test_discarded_content_goes_nowhere(files: Filesystem, tree: Tree) -> None:
    """A stream that was abandoned has been staged and never put."""
    with changing(files) as (part, frame):
        staged = frame.stage()
        staged.write(b"x" * 2_000_000)
        staged.discard()
        assert not part.dirty

    assert tree(files) == {}


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
        files.turns.acquire(1)
        part.handle.write("a.txt", "after")
        part.leave()
        files.turns.release()

        files.turns.acquire(1)
        files.turns.release()

        assert [(done.transaction_id, done.outcome) for done in files.recovered] == [
            ("call-1", "kept" if was_stored else "undone")
        ]
        assert files.read("a.txt").content == ("after" if was_stored else "before")
        files.turns.acquire(1)
        files.turns.release()
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
        kept = [path.read_text() for path in (tmp_path / ".wink/staged").iterdir()]
        files.discard_preimages("call-1")

        assert kept == ["before"]
        assert list((tmp_path / ".wink/staged").iterdir()) == []
