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
SAVED = {"toml": ".toml", "python": ".py", "json": ".jsonl"}
"""What blocks that are saved are written in, and how the names of such files end."""
_NAMED = re.compile(r"`((?:~/|\.\./)?[\w./-]+)`")


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
    """What a reader does, in order; a file's text is saved under the name that was told of right before it, TOML under the last."""
    names, end = dict[str, str](), 0
    for found in FENCE.finditer(page):
        told = [named[1] for named in _NAMED.finditer(page, end, found.start())]
        end, language = found.end(), found["language"].strip()
        names = {"toml": names.get("toml", "")}
        names |= {kind: name for name in told for kind, ending in SAVED.items() if name.endswith(ending)}
        if language == "console":
            yield from commands(found["text"])
        elif names.get(language):
            yield Step(file=names[language], printed=found["text"])


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
            file = self.directory / step.file.replace("~", str(self.home))
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(step.printed, encoding="utf-8")
            return step.printed
        done = subprocess.run(
            ["sh", "-c", f'{step.command}\nstatus=$?; pwd > "$HOME/.where"; exit $status'],
            cwd=self.directory,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=100,
            check=False,
        )
        self.directory = Path((self.home / ".where").read_text(encoding="utf-8").strip())
        return done.stdout


def fits(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed; `…` stands for any text."""
    pattern = ".*?".join(re.escape(piece) for piece in shown.strip().split("…"))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None
