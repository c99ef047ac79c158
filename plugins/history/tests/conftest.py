"""A workspace, and the real git to judge what wink writes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import cli, place, process
from tests.states import state_of

from wink.workspace import Workspace

__all__ = ["cli", "place", "process"]

Git = Callable[..., str]


def git(store: Path, *arguments: str, check: bool = True) -> str:
    """Run git on a bare repository, with nobody's settings but its own; gives what it said, complaints too."""
    done = subprocess.run(
        ["git", f"--git-dir={store}", *arguments],
        capture_output=True,
        check=False,
        env={**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_PAGER": "cat"},
    )
    said = (done.stdout + done.stderr).decode(errors="surrogateescape")
    assert not check or done.returncode == 0, said
    return said


def fsck(store: Path) -> None:
    """Fail unless git has nothing at all to say against a repository."""
    said = git(store, "fsck", "--strict", "--full", "--no-dangling", "--no-progress")
    # Before the first commit there is nothing to point to.
    assert all(line.startswith("notice: ") for line in said.splitlines()), said
    packs = sorted(map(str, (store / "objects/pack").glob("*.idx")))
    if packs:
        git(store, "verify-pack", *packs)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory to work on."""
    root = tmp_path / "work"
    root.mkdir()
    return root


@pytest.fixture
def workspace(root: Path) -> Iterator[Workspace]:
    with Workspace.open(root) as workspace:
        yield workspace


@pytest.fixture
def store(root: Path) -> Path:
    """Where the history is or will be."""
    return state_of(root) / "store.git"
