"""What the tests of batches share: tables, commands, and waiting for what has to happen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from plugins.batch.tests.acting import TURNS

ROOT = Path(__file__).resolve().parents[3]
BOUND = 240.0
"""Seconds after which something that has to happen is taken not to happen; CI's machines are slow."""


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    """Wait for a condition."""
    end = time.monotonic() + BOUND
    while not is_so():
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.02)


def write_table(place: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """A table of tasks."""
    place.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return place


def write_turns(place: Path) -> Path:
    """A script for a model that acts once."""
    place.write_text(TURNS)
    return place


def environment() -> dict[str, str]:
    """The environment for commands: nothing of the test's own but where its modules are."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def command(*arguments: str) -> list[str]:
    """`wink …` as a command of this Python."""
    return [sys.executable, "-m", "wink", *arguments]


def wink(*arguments: str, cwd: Path, status: int | None = 0) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    done = subprocess.run(
        command(*arguments), cwd=cwd, env=environment(), capture_output=True, text=True, timeout=BOUND, check=False
    )
    if status is not None:
        assert done.returncode == status, done.stdout + done.stderr
    return done


def rows(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a file."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def git(*arguments: str, cwd: Path) -> str:
    """Run git."""
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *who, *arguments], cwd=cwd, capture_output=True, text=True, check=True).stdout


def repository(place: Path, files: dict[str, str]) -> tuple[Path, str]:
    """A bare repository with one commit on `main`, and the commit."""
    work = place.with_name(f"{place.name}-work")
    work.mkdir()
    git("init", "-q", ".", cwd=work)
    for name, text in files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    git("add", ".", cwd=work)
    git("commit", "-q", "-m", "one", cwd=work)
    git("clone", "-q", "--bare", str(work), str(place), cwd=work)
    return place, git("rev-parse", "HEAD", cwd=work).strip()
