"""What the filesystems that programs make have of their own."""

import pickle
from pathlib import Path

import pytest
from tests.states import state_of

from wink.filesystem import HostFilesystem, InMemoryFilesystem, Listing


def test_a_host_filesystem_shows_the_directory_and_hides_its_state(tmp_path: Path) -> None:
    """What wink keeps in `.wink` is not a part of the project."""
    with HostFilesystem(tmp_path) as files:
        files.write("a.txt", "x\n")

        assert [entry.name for entry in files.list()] == ["a.txt"]
        assert files.root == str(tmp_path)
        assert files.level in ("openat2", "walk")
        assert files.recovered == ()
    files.close()


def test_a_closed_filesystem_is_of_no_use(tmp_path: Path) -> None:
    """Its descriptors may be another file's by now."""
    files = HostFilesystem(tmp_path)
    files.write("a.txt", "x\n")
    handle = files.begin().handle
    files.close()

    for use in (lambda: files.read("a.txt"), lambda: files.write("a.txt", "y"), lambda: handle.write("a.txt", "y")):
        with pytest.raises(ValueError, match="has been closed"):
            use()
    assert files.root == str(tmp_path)


def test_what_direct_changes_replaced_does_not_pile_up(tmp_path: Path) -> None:
    """Nobody recorded them, so nobody will ask for it."""
    with HostFilesystem(tmp_path) as files:
        for number in range(200):
            files.write("a.txt", str(number))
        assert len(list((state_of(tmp_path) / "staged").iterdir())) < 100

    assert list((state_of(tmp_path) / "staged").iterdir()) == []


def test_large_wide_text_is_read_by_pages(memory: InMemoryFilesystem) -> None:
    """Where a newline is more than one byte, lines are counted in the text."""
    lines = [f"{number:06d}{'.' * 40}\n" for number in range(100_000)]
    memory.write("big.txt", "".join(lines), encoding="utf-16")

    page = memory.read("big.txt", offset=70_000, limit=2, encoding="utf-16")

    assert page.content == "".join(lines[70_000:70_002])
    assert page.total_lines == 100_000


def test_names_that_windows_cannot_hold_are_made_with_a_setting(tmp_path: Path) -> None:
    """For projects that nobody will ever check out there."""
    InMemoryFilesystem(portable_names=False).write("aux.c", "x")
    with HostFilesystem(tmp_path, portable_names=False) as files:
        files.write("what?.md", "x")

    assert (tmp_path / "what?.md").read_text() == "x"


def test_results_can_be_copied_and_pickled(memory: InMemoryFilesystem) -> None:
    """They travel in events and over process boundaries."""
    memory.write("a.txt", "word\n")
    for found in (
        memory.list(),
        memory.glob("*", limit=1),
        memory.grep("word"),
        memory.read("a.txt"),
        memory.stat("a.txt"),
    ):
        assert pickle.loads(pickle.dumps(found)) == found
    listing = pickle.loads(pickle.dumps(Listing(["a"], truncated=True)))
    assert listing == ("a",)
    assert listing.truncated
