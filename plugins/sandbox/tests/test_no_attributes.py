"""A Python without functions for extended attributes, as on macOS: what a copy needs of them is asked for, and said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from plugins.sandbox.tests.conftest import Place

from wink.errors import SandboxUnavailable
from wink_sandbox import CopyOfTry, Overlay
from wink_sandbox._copy import WorkspaceCopy

NAMES = ("getxattr", "setxattr", "listxattr", "removexattr")


@pytest.fixture
def bare(place: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A workspace with a file and a link, and no such function."""
    (place.root / "a").write_text("one\n")
    (place.root / "out").symlink_to("/nowhere/at/all")
    for name in NAMES:
        monkeypatch.delattr(os, name)
    monkeypatch.setattr("shutil._copyxattr", lambda *_, **__: None)  # as it is where there are none when it is imported
    return place


def test_a_copy_is_made_and_told_apart(bare: Place) -> None:
    """Mode, times and content are all that there is then."""
    overlay = Overlay(str(bare.root), str(bare.root.parent / "copy"), is_copy=True)
    overlay.open()
    copy = WorkspaceCopy(overlay, passed=lambda path: path == ".wink", is_scratch=lambda _: False)
    copy.bring_up_to_date()
    seen = Path(overlay.upper)
    (seen / "a").write_text("two\n")
    (seen / "out").unlink()

    steps, _ = copy.steps()
    overlay.close()

    assert [(step.kind, step.path) for step in steps] == [("file", "a"), ("drop", "out")]


def test_a_try_on_a_copy_is_refused_before_anything_is_copied(bare: Place) -> None:
    """Its layer could not say what was deleted."""
    overlay = bare.overlay()
    overlay.open()
    copy = CopyOfTry(overlay)

    with pytest.raises(SandboxUnavailable, match="a copy needs Linux; on macOS run wink in a virtual machine"):
        copy.begin()
    overlay.close()

    assert not os.path.lexists(copy.shown.upper)


def test_wink_starts_and_says_it_in_a_line(tmp_path: Path) -> None:
    """From the first import on."""
    script = f"import os\nfor name in {NAMES}: delattr(os, name)\nfrom wink.cli import main; main()"
    words = [sys.executable, "-c", script, "try", "--unconfined", "--", "touch", "ran"]

    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr.count("\n")) == (2, 2)
    assert done.stderr.endswith("on macOS run wink in a virtual machine, as podman machine makes\n")
    assert not (tmp_path / "ran").exists()
