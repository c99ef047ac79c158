"""A repository for agents to work on."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit."""
    root = tmp_path / "repository"
    root.mkdir()
    (root / "greet.py").write_text('def greet():\n    return "hello"\n')
    (root / "notes.txt").write_text("keep me\n")
    git = ["git", "-C", str(root), "-c", "user.name=n", "-c", "user.email=e@x"]
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    return root


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home, so that nothing of this machine's user is read or written."""
    made = tmp_path / "home"
    made.mkdir()
    return made
