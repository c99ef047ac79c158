"""Do what the tutorial says, word for word, and hold what happens against what it shows.

Every block of the page counts. A `console` block is run, command by command, and its output compared. A `python` block is
the file that the paragraph above it tells the reader to write, a `diff` block an edit of one. What differs from run to run is
evened out in both texts, and nothing else: wink's version, how many tests passed in how many seconds, their dots, times of day, absolute
paths, and how wide columns are, which depends on what else is installed.
"""

import os
import re
import shlex
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "your-first-plugin.md"
PROGRAMS = ("wink", "pytest", "pip")

EVENED_OUT = (
    (r"^\.+ +\[ *\d+%\]\n", ""),
    (r"^\d+ passed in [\d.]+s", "N passed in N s"),
    (r"^wink, version \S+", "wink, version N"),
    (r"\b\d\d:\d\d(:\d\d)?\b", "HH:MM"),
    (r"(?<!\S)/[\w./+@-]+", "/PATH"),
    (r"(?<=\S) {2,}", "  "),
)
"""Patterns and what stands for them, in what the page shows and in what happened."""


@dataclass(frozen=True)
class Block:
    """A block of the page, and the paragraph above it."""

    line: int
    language: str
    text: str
    above: str

    @property
    def path(self) -> str:
        """The file that the paragraph above names, last of all code in it."""
        names = re.findall(r"`([^`\s]+\.\w+)`", self.above)
        assert names, f"line {self.line}: the paragraph above names no file: {self.above!r}"
        assert self.above.endswith(":"), f"line {self.line}: {self.above!r} must end in a colon"
        return names[-1]


def blocks(page: str) -> Iterator[Block]:
    """Every fenced block, in order."""
    for match in re.finditer(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        paragraphs = page[: match.start()].strip().split("\n\n")
        above = " ".join(paragraphs[-1].split())
        yield Block(page[: match.start()].count("\n") + 1, match[1], match[2], above)


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Each command of a console block, and the output that the page shows for it."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def evened_out(text: str) -> str:
    """A text without what differs from run to run."""
    for pattern, stands_for in EVENED_OUT:
        text = re.sub(pattern, stands_for, text, flags=re.MULTILINE)
    return text


class Reader:
    """Somebody who does what the page says, in a terminal with a fresh virtual environment."""

    def __init__(self, place: Path) -> None:
        self.here = place / "work"
        self.here.mkdir()
        self._pwd = place / "pwd"
        environment = place / "venv"
        venv.create(environment, symlinks=True)
        self._bin = environment / "bin"
        # wink and the tools for tests are there already: what runs these tests has them.
        site = sysconfig.get_path("purelib", vars={"base": str(environment), "platbase": str(environment)})
        running = "".join(f"import site; site.addsitedir({path!r})\n" for path in _packages())
        Path(site, "running.pth").write_text(running, encoding="utf-8")
        for name in PROGRAMS:
            program = self._bin / name
            program.write_text(f'#!/bin/sh\nexec {shlex.quote(str(self._bin / "python"))} -m {name} "$@"\n')
            program.chmod(0o755)
        (place / "home").mkdir()
        self._environ = {
            "PATH": f"{self._bin}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(place / "home"),
            "LANG": "C.UTF-8",
            "COLUMNS": "100",
            "PIP_NO_INDEX": "1",
            "PIP_NO_BUILD_ISOLATION": "0",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_ROOT_USER_ACTION": "ignore",
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def run(self, command: str) -> tuple[str, int]:
        """What a command prints, and its exit status; `cd` counts for the commands after it."""
        script = f"{command}\nstatus=$?\npwd > {shlex.quote(str(self._pwd))}\nexit $status\n"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.here,
            env=self._environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        self.here = Path(self._pwd.read_text(encoding="utf-8").strip())
        return done.stdout, done.returncode

    def write(self, path: str, text: str) -> None:
        """Save a file."""
        (self.here / path).write_text(text, encoding="utf-8")

    def edit(self, path: str, difference: str) -> None:
        """Change the lines that a difference takes away into those that it brings."""
        lines = difference.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] in "- ")
        new = "".join(line[1:] for line in lines if line[0] in "+ ")
        text = (self.here / path).read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{path} does not hold once:\n{old}"
        self.write(path, text.replace(old, new))


def _packages() -> list[str]:
    """Where the running environment has its packages."""
    return list(dict.fromkeys(path for path in sys.path if path.endswith(("site-packages", "dist-packages"))))


@pytest.mark.timeout(600)
def test_the_tutorial_works_word_for_word(tmp_path: Path) -> None:
    """A newcomer who meets one wrong line has no way to know which of the two is wrong, the page or they."""
    reader, done = Reader(tmp_path), 0
    for block in blocks(PAGE.read_text(encoding="utf-8")):
        if block.language == "console":
            for command, shown in commands(block):
                output, status = reader.run(command)
                assert evened_out(output) == evened_out(shown), f"line {block.line}: $ {command}"
                # A command that is meant to fail says so, in a line that the page shows.
                assert status == 0 or output.startswith("wink: "), f"line {block.line}: $ {command}: {status}"
        elif block.language == "diff":
            reader.edit(block.path, block.text)
        else:
            assert block.language == "python", f"line {block.line}: nobody would know what to do with this"
            reader.write(block.path, block.text)
        done += 1
    assert done == PAGE.read_text(encoding="utf-8").count("```") // 2, "a block was passed over"
