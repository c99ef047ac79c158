"""What attached agents did, below what they were asked for."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect
from plugins.ui.tests.browser.conftest import IMAGES, Open

from wink.filesystem import FileTransaction
from wink.transactions import CommitEntry
from wink.workspace import Workspace, apply

SHOW = 'def show(cents: int) -> str:\n    """An amount for an invoice."""\n    return f"{cents // 100}.{cents % 100:02} EUR"\n'
WORK = (
    ("t1", "Write", {"file_path": "invoice/show.py"}, SHOW),
    ("t1", "Bash", {"command": "python -m pytest -q > report.txt"}, "2 passed\n"),
    ("", "between", {"after": "c2"}, "ask Ann about discounts\n"),
    ("t2", "Edit", {"file_path": "invoice/show.py", "old_string": "EUR"}, SHOW.replace("EUR", "€")),
    ("t2", "Bash", {"command": "npm ci && npm run build > report.txt"}, "built\n"),
)


@pytest.fixture
def worked(place: Path) -> None:
    """Two turns of an agent, and a save of its user's in between."""
    with Workspace.open(place) as workspace:
        for number, prompt in enumerate(("Show amounts with two digits of cents", "Use the sign, and build it"), 1):
            workspace.record.turn("claude-code-5e551011", "claude-code", prompt)
            for run, tool, arguments, text in WORK[:3] if number == 1 else WORK[3:]:
                path = str(arguments.get("file_path") or ("report.txt" if tool == "Bash" else "notes.txt"))

                def work(part: FileTransaction, path: str = path, text: str = text) -> None:
                    part.handle.write(path, text)

                def told(
                    made: CommitEntry, run: str = run, given: str = json.dumps(arguments), tool: str = tool
                ) -> CommitEntry:
                    noted = "not kept: what has changed in node_modules" if "npm" in given else None
                    effects = "process" if tool == "Bash" else "workspace"
                    return replace(made, run=run, arguments=given, prompt="claude-code", error=noted, effects=effects)

                session = "claude-code-5e551011" if run else "default"
                apply(workspace, tool, {}, work, session=session, told=told)


@pytest.mark.usefixtures("worked")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_turns_are_for_everybody(at: Open, axe: str, scheme: str, tmp_path: Path) -> None:
    """Headings in order, no rule of accessibility broken; and the guide's picture, written there with `WINK_IMAGES=1`."""
    page = at("/calls/5", color_scheme=scheme, viewport={"width": 1280, "height": 620})
    expect(page.locator("#live")).to_have_attribute("data-state", "on")
    expect(page.locator(".asked")).to_have_text(
        [
            "turn 2 of claude-code: Use the sign, and build it",
            "turn 1 of claude-code: Show amounts with two digits of cents",
        ]
    )
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert [(one["id"], node["html"][:150]) for one in found["violations"] for node in one["nodes"]] == []
    images = IMAGES if os.environ.get("WINK_IMAGES") and scheme == "light" else tmp_path
    page.screenshot(path=images / "page-turns-light.png", animations="disabled")
    assert (images / "page-turns-light.png").read_bytes().startswith(b"\x89PNG")
