"""Play a page: run what it shows at the prompt, save the files that it shows, and compare what is printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FENCE = re.compile(r"^(?P<marks>`{3,})(?P<language>[^\n`]*)\n(?P<text>.*?)^(?P=marks)$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"`([\w.-]+\.toml)`")


@dataclass(frozen=True)
class Step:
    """A command and what it prints, or with a `file` a text that the reader is told to save."""

    command: str = ""
    printed: str = ""
    file: str = ""


def blocks(page: str, language: str) -> list[str]:
    """The texts of a page's fenced blocks of one language."""
    return [found["text"] for found in FENCE.finditer(page) if found["language"].strip() == language]


def commands(block: str) -> Iterator[Step]:
    """Each command of a console block with what it prints."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        yield Step(command, printed)


def steps(page: str) -> Iterator[Step]:
    """What a reader of a tutorial does, in order; a block of TOML is saved under the name that was last told of."""
    name, end = "", 0
    for found in FENCE.finditer(page):
        for told in _NAMED.finditer(page, end, found.start()):
            name = told[1]
        end = found.end()
        if found["language"].strip() == "console":
            yield from commands(found["text"])
        elif found["language"].strip() == "toml":
            yield Step(file=name, printed=found["text"])


@dataclass
class Reader:
    """Somebody at a shell, who does what a page says."""

    home: Path
    directory: Path
    environment: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        kept = {name: os.environ[name] for name in ("LANG", "LC_ALL", "TMPDIR") if name in os.environ}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**kept, "PATH": path, "HOME": str(self.home), "PYTHONWARNINGS": "error"}

    def do(self, step: Step) -> str:
        """Save, or run and give what is printed; a `cd` holds for what follows."""
        if step.file:
            (self.directory / step.file).write_text(step.printed, encoding="utf-8")
            return step.printed
        done = subprocess.run(
            ["sh", "-c", f'{step.command}\nstatus=$?; pwd > "$HOME/.where"; exit $status'],
            cwd=self.directory,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        self.directory = Path((self.home / ".where").read_text(encoding="utf-8").strip())
        return done.stdout + done.stderr


def fits(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed; `…` stands for any text."""
    pattern = ".*?".join(re.escape(piece) for piece in shown.strip().split("…"))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None
