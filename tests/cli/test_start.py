"""How much a command loads before it does anything: counted, since what takes time on one machine takes none on another."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MOST = {
    "--help": 195,
    "log": 315,
    "log --help": 194,
    "undo --help": 193,
    "call --help": 195,
    "call ls": 476,
    "try --help": 384,
    "try -- true": 408,
    "serve --help": 280,
}
"""Modules that are loaded at the end of a command, in a workspace with a call; lower it when some go."""
PROGRAM = "import sys, atexit; atexit.register(lambda: print(len(sys.modules), file=sys.stderr)); from wink.cli import main; main(sys.argv[1:])"


def loaded(command: str, place: Path) -> int:
    """How many modules there are when a command ends."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *command.split()], cwd=place, capture_output=True, text=True, check=False
    )
    return int(done.stderr.split()[-1])


@pytest.mark.parametrize("command", MOST)
def test_a_command_loads_no_more_than_it_did(command: str, place: Path) -> None:
    """Each module costs a third of a millisecond, and nobody notices one."""
    loaded("call ls", place)
    assert loaded(command, place) <= MOST[command]
