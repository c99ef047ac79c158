"""What a call that waits for a person would do to a file is told whatever the file is, as far as the arguments say."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from wink.cli import proposed_change
from wink.filesystem import COMPARED_BYTES, FileChange, HostFilesystem

LINES = "".join(f"line {number}\n" for number in range(20_000))


@pytest.fixture
def files(tmp_path: Path) -> HostFilesystem:
    """A workspace with a large text, a larger file, and one that is no text."""
    root = tmp_path / "work"
    root.mkdir()
    (root / "big.txt").write_text(LINES)
    (root / "huge.txt").write_bytes(b"x" * (COMPARED_BYTES + 1))
    (root / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    return HostFilesystem(root)


def proposed(files: HostFilesystem, **arguments: object) -> FileChange:
    """The change that these arguments propose."""
    found = proposed_change(arguments, files)
    assert found is not None
    return found


def test_an_edit_of_a_large_text_is_told_by_lines(files: HostFilesystem) -> None:
    """Above 64 KiB, too."""
    change = proposed(files, file_path="big.txt", old_string="line 9999\n", new_string="other\n")

    assert "\n-line 9999\n+other\n" in change.diff()


def test_what_takes_the_place_of_something_larger_is_told_by_sizes_and_digests(files: HostFilesystem) -> None:
    """Nothing was told of it."""
    digest = hashlib.sha256(b"x" * (COMPARED_BYTES + 1)).hexdigest()

    change = proposed(files, file_path="huge.txt", content="one\n")
    assert change.diff() == (
        f"huge.txt: a file of {COMPARED_BYTES + 1} bytes (SHA-256 {digest}) became a file of 4 bytes\n"
    )

    whole = "y" * (COMPARED_BYTES + 1)
    change = proposed(files, file_path="new.txt", content=whole)
    digest = hashlib.sha256(whole.encode()).hexdigest()
    assert change.diff() == f"new.txt: created a file of {COMPARED_BYTES + 1} bytes (SHA-256 {digest})\n"


def test_a_text_in_the_place_of_an_image_is_no_new_file(files: HostFilesystem) -> None:
    """It was shown as one, as if nothing were lost."""
    change = proposed(files, file_path="image.png", content="one\n")

    assert change.diff() == "image.png: a PNG image of 9 bytes became a file of 4 bytes\n"


def test_what_arguments_do_not_say_is_not_told(files: HostFilesystem) -> None:
    """An edit that does not fit, or of what is too large to be held."""
    for arguments in (
        {"file_path": "big.txt", "old_string": "nowhere", "new_string": ""},
        {"file_path": "big.txt", "old_string": "\ud800", "new_string": ""},
        {"file_path": "huge.txt", "old_string": "x", "new_string": "y"},
        {"file_path": "image.png"},
        {"content": "x"},
    ):
        assert proposed_change(arguments, files) is None
