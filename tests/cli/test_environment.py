"""Who reads the environment: the command line, and what has to be the same in every program that uses the library."""

import re
from pathlib import Path

import wink

ROOT = Path(wink.__file__).parent
READS = re.compile(r"\benviron\b|\bgetenv\b")
SHELL = ("cli", "testing", "batch")
"""Commands, what tests are written with, and what starts processes that are commands themselves."""
OTHERS = {
    "state/_key.py": "the user's directory for state",
    "trust.py": "PATH, and a switch of pydantic's",
}


def test_only_the_command_line_reads_the_environment() -> None:
    """What a variable says is handed on as a value; each other place has its reason."""
    found = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if READS.search(path.read_text(encoding="utf-8"))
    }

    assert {path for path in found if not path.startswith(SHELL)} == OTHERS.keys()
