"""The picture in the README is a recording, not a drawing."""

from __future__ import annotations

import html
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def test_the_recorder_still_draws_what_the_picture_shows(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever changes the demo, or how it is shown, can record it again, and sees here when that is due."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    del place  # only its environment is wanted

    drawn = html.unescape(runpy.run_path(str(DOCS / "record_demo.py"))["record"]()).replace("\xa0", " ")
    shown = html.unescape((DOCS / "demo.svg").read_text(encoding="utf-8")).replace("\xa0", " ")

    for text in (
        "denied",
        "rolled back",
        "tests pass",
        "untouched",
        "taken back; nothing of this stayed:",
        "Step 3 updated.",
    ):
        assert text in drawn
        assert text in shown
    assert "/tmp" not in shown
    assert "http" not in shown.replace("http://www.w3.org/2000/svg", "").replace("https://www.textualize.io", "")
