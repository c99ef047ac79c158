"""`wink rewind` of an attached agent, killed at any step: before or after, and the same command once more completes it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest
from plugins.attach.tests.conftest import Project
from plugins.attach.tests.test_rewinding import UUID, rewound, three
from tests.faults.library import build, compiler

__all__ = ["three"]

KILLED = Path(__file__).with_name("killed.py")
EVERY = 1 if os.environ.get("WINK_EVERY_STEP") else 13


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What kills."""
    return build(tmp_path_factory.mktemp("faults"))


def rewind(project: Project, library: Path, number: int) -> bool:
    """Go back to the first turn, and die on the way, if it is that far; whether it did."""
    command = [sys.executable, str(KILLED), str(project.root), str(number)]
    environment = project.environment | {"LD_PRELOAD": str(library)}
    arguments = ("rewind", "--to", "1", "--", "-p", "Otherwise")
    done = subprocess.run([*command, *arguments], cwd=project.root, env=environment, capture_output=True, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


@pytest.mark.timeout(3600)
@pytest.mark.skipif(compiler() is None, reason="fault injection was NOT RUN: no C compiler")
def test_killed_at_any_step_both_have_gone_back_or_neither(three: Project, library: Path) -> None:
    """What was said is not touched by it at all, and what the record says of the turns is what the files say."""
    third = three.files()
    said = {path: path.read_bytes() for path in (three.home / ".claude/projects").rglob("*.jsonl")}
    seen = {"before": 0, "after": 0}
    first: dict[str, bytes | None] | None = None
    for number in count(0, EVERY):
        died = rewind(three, library, number)
        shown = three.wink("rewind", "--to", "1", "--dry-run")  # goes on with what did not end, too
        now = three.files()
        told = rewound(three, "--to", "1", "--", "-p", "Otherwise")
        first = first or three.files()
        assert now in (first, third), number
        assert ("no file changes" in shown) == (now == first), number
        assert "turn 2 would go" in shown
        command = told["command"]
        assert isinstance(command, list)
        assert command[1:5] == ["--resume", UUID, "--resume-session-at", "a2"]
        assert three.files() == first != third
        three.wink("redo")
        assert three.files() == third
        assert {path: path.read_bytes() for path in said} == said
        if not died:
            break
        seen["before" if now == third else "after"] += 1
    assert now == first
    assert seen["before"] > 90 / EVERY
    assert seen["after"] > 3 or EVERY > 1
