"""Who looks at what an overlay holds sees files of any size: by their lines, or by how large they are and their digests."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from wink.filesystem import COMPARED_BYTES, DIFFABLE_BYTES
from wink_overlay import OverlayFilesystem

MakeLower = Callable[[dict[str, bytes]], tuple[Any, str]]
LINES = b"".join(b"line %d\n" % number for number in range(20_000))


def test_a_file_above_64_kib_is_shown_by_its_lines(make_lower: MakeLower) -> None:
    """It was a sentence, and whoever committed the overlay did so blind."""
    lower, path = make_lower({"big.txt": LINES})
    files = OverlayFilesystem(lower, path)
    before = files.snapshot()

    files.edit("big.txt", "line 10000\n", "line ten thousand\n")
    files.write_bytes("new.txt", LINES)

    assert len(LINES) > 2 * DIFFABLE_BYTES
    for changes in (files.diff(), files.diff(before)):
        big, new = sorted(changes, key=lambda change: change.path)
        assert "\n-line 10000\n+line ten thousand\n" in big.diff()
        assert new.diff().count("\n+line ") == 20_000
    after = files.snapshot()
    files.delete("new.txt")
    assert "\n+line ten thousand\n" in "".join(change.diff() for change in files.diff(before, after))


@pytest.mark.parametrize("make_lower", ["zip", "file", "wink-memory", "wink-disk"], indirect=True)
def test_of_a_file_above_16_mib_sizes_and_digests_are_told(make_lower: MakeLower) -> None:
    """By these a person can at least compare it to what it should be."""
    old = b"x" * (COMPARED_BYTES + 1)
    lower, path = make_lower({"huge.bin": old})
    files = OverlayFilesystem(lower, path)

    files.write_bytes("huge.bin", b"y" + old)

    (change,) = files.diff()
    digests = hashlib.sha256(old).hexdigest(), hashlib.sha256(b"y" + old).hexdigest()
    assert change.diff() == (
        f"huge.bin: a file of {len(old)} bytes (SHA-256 {digests[0]}) became "
        f"a file of {len(old) + 1} bytes (SHA-256 {digests[1]})\n"
    )
