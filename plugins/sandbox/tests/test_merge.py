"""What a program did becomes the workspace's exactly, in one step, or not at all."""

from __future__ import annotations

import hashlib
import os

import pytest
from plugins.sandbox.tests.conftest import Place

from wink.errors import MergeConflict
from wink.filesystem import COMPARED_BYTES
from wink_sandbox import Command, differences, merge, opened, words_of


def test_nothing_is_real_before_the_merge(place: Place) -> None:
    """A program sees its own changes; the workspace does not, until they are merged."""
    (place.root / "a.txt").write_text("before")

    ran = place.run("printf after > a.txt; mkdir d; cat a.txt", commit=False)

    assert ran.stdout == "after"
    assert ran.paths == {"a.txt": "modified", "d": "created"}
    assert (place.root / "a.txt").read_text() == "before"
    assert not (place.root / "d").exists()


def test_every_kind_of_change_is_carried(place: Place) -> None:
    """Created, changed, deleted, replaced by another kind, linked: the workspace is then what the program saw."""
    root = place.root
    (root / "tree/deep").mkdir(parents=True)
    (root / "tree/deep/old").write_text("old")
    (root / "keep").write_text("keep")
    (root / "tool").write_text("#!/bin/sh\n")
    (root / "was-file").write_text("x")

    ran = place.run(
        "rm -r tree; mkdir tree; echo new > tree/new; chmod 755 tool; ln -s keep link; ln tree/new tree/same;"
        "rm was-file; mkdir -p was-file/inside; printf '\\000\\377' > binary; mkdir -m 700 empty; touch -d @1 old"
    )

    assert ran.ended.status == 0
    assert sorted(path for path in os.listdir(root) if path != ".wink") == [
        "binary", "empty", "keep", "link", "old", "tool", "tree", "was-file",
    ]  # fmt: skip
    assert os.listdir(root / "was-file") == ["inside"]
    assert sorted(os.listdir(root / "tree")) == ["new", "same"]
    assert (root / "tree/new").stat().st_ino == (root / "tree/same").stat().st_ino
    assert (root / "tool").stat().st_mode & 0o777 == 0o755
    assert os.readlink(root / "link") == "keep"
    assert (root / "binary").read_bytes() == b"\0\xff"
    assert (root / "empty").stat().st_mode & 0o777 == 0o700
    assert (root / "old").stat().st_mtime == 1
    assert not os.listxattr(root / "tool")


def test_a_file_with_a_name_that_stays_behind_is_copied_with_its_holes(place: Place) -> None:
    """Writing to the other name must not change it, and a file larger than the disk must not fill it."""
    with opened(place.overlay()) as overlay:
        words = (
            "truncate -s 1T huge; printf end >> huge; printf x | dd of=huge bs=1 seek=5M conv=notrunc; ln huge other"
        )
        place.limited(file_bytes=None).run(Command(words_of(words), env={"PATH": "/usr/bin:/bin"}), overlay)
        part = place.files.begin()
        merge(differences(overlay).only(["huge"]), part)
        part.prepare()
        part.publish()
        made = (place.root / "huge").stat()
        assert (made.st_nlink, made.st_size) == (1, (1 << 40) + 3)
        assert made.st_blocks < 1000
        with open(place.root / "huge", "rb") as file:
            assert os.pread(file.fileno(), 1, 5 << 20) == b"x"
            assert os.pread(file.fileno(), 4, 1 << 40) == b"end"


def test_the_mode_that_is_told_is_the_one_that_is_given(place: Place) -> None:
    """Setuid bits are taken off, so they are no change: neither to a file of 755 nor to any other."""
    for name in ("tool", "other"):
        (place.root / name).write_text(name)
        (place.root / name).chmod(0o755)

    ran = place.run("chmod 4755 tool; chmod 6700 other; touch made; chmod 4750 made")

    modes = {change.path: change.after.mode for change in ran.found.changes() if change.after is not None}
    assert ran.paths.keys() == {"other", "made"}
    assert (modes["other"], modes["made"]) == (0o700, 0o750)
    assert (place.root / "other").stat().st_mode & 0o7777 == 0o700


def test_what_a_program_did_to_large_files_is_shown_before_it_is_merged(place: Place) -> None:
    """By lines up to 16 MiB, and by sizes and digests above, so that nobody accepts blind."""
    old = b"x" * (COMPARED_BYTES + 1)
    (place.root / "big.txt").write_text("".join(f"line {number}\n" for number in range(20_000)))
    (place.root / "huge.bin").write_bytes(old)

    with opened(place.overlay()) as overlay:
        script = "sed -i 's/^line 9999$/other/' big.txt; printf y >> huge.bin"
        place.sandbox.run(Command(words_of(script), env={"PATH": "/usr/bin:/bin"}), overlay)
        big, huge = sorted(differences(overlay).changes(), key=lambda change: change.path)

        assert "\n-line 9999\n+other\n" in big.diff()
        digests = [hashlib.sha256(content).hexdigest() for content in (old, old + b"y")]
        assert huge.diff() == (
            f"huge.bin: a file of {len(old)} bytes (SHA-256 {digests[0]}) became "
            f"a file of {len(old) + 1} bytes (SHA-256 {digests[1]})\n"
        )


def test_a_file_that_somebody_else_changed_meanwhile_is_a_conflict(place: Place) -> None:
    """Nothing is merged then, not even what nobody else touched, and the path is named."""
    (place.root / "a").write_text("a")
    part = place.files.begin()
    overlay = place.overlay()
    overlay.open()
    (place.root / "a").write_text("by a person")
    try:
        from wink_sandbox import Command, differences, merge, words_of

        place.sandbox.run(Command(words_of("echo program >> a; echo b > b"), env={"PATH": "/usr/bin:/bin"}), overlay)
        with pytest.raises(MergeConflict) as caught:
            merge(differences(overlay), part)
    finally:
        overlay.drop()
        part.undo()
    assert caught.value.paths == ("a",)
    assert (place.root / "a").read_text() == "by a person"
    assert not (place.root / "b").exists()
