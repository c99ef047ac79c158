"""A project, a home, and an editor that opens it."""

from __future__ import annotations

from pathlib import Path

import pytest
from plugins.acp.tests.editor import Editor


@pytest.fixture
def editor(tmp_path: Path) -> Editor:
    """An editor that declares neither files nor terminals, over a project with one file."""
    root, home = tmp_path / "project", tmp_path / "home"
    root.mkdir()
    home.mkdir()
    (root / "a.txt").write_text("one\ntwo\nthree\n")
    return Editor(root, home)


def rules(editor: Editor, text: str) -> None:
    """Put rules into the user's own settings."""
    settings = editor.home / ".config/wink/wink.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(text)
