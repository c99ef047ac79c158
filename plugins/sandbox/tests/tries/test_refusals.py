"""The page of refusals: each is printed as it says, the way on that it names works, and none is missing."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.refusal_cases import CASES
from tests.docs.console import blocks, commands

import wink
import wink_sandbox

PAGE = Path(__file__).parents[4] / "docs/reference/refusals.md"
ENTRIES = {
    part.partition("\n")[0]: part
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
    for part in section.split("\n### ")[1:]
}
IDENTITY = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """What the examples begin in, below a directory of the user's own."""
    for directory in ("project/src", "home", "bin"):
        (tmp_path / directory).mkdir(parents=True)
    (tmp_path / "bin/wink").write_text(f'#!/bin/sh\nexec {sys.executable} -m wink "$@"\n')
    (tmp_path / "bin/wink").chmod(0o755)
    (tmp_path / "project/a.txt").write_text("one\n")
    (tmp_path / "project/src/b.txt").write_text("b\n")
    return tmp_path / "project"


def shell(place: Path, script: str, around: tuple[str, ...] = ()) -> tuple[int, str]:
    """The exit status and the output of a script in the project."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WINK_", "XDG_", "GIT_", "SSH_"))}
    outside = place.resolve().parent
    own = {"HOME": str(outside / "home"), "PATH": f"{outside}/bin:{os.environ['PATH']}", "PYTHONWARNINGS": "error"}
    state = {"XDG_STATE_HOME": os.environ["XDG_STATE_HOME"], "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        [*around, "sh", "-c", script],
        cwd=place,
        env={**kept, **IDENTITY, **own, **state},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
        check=False,
    )
    return done.returncode, done.stdout


def is_shown(lines: str, printed: str) -> bool:
    """Whether some lines of a page, in which `…` stands for any text, are among what was printed, one after the other."""
    pattern = ".*?".join(re.escape(piece) for piece in lines.strip("\n").split("…"))
    return re.search(f"^{pattern}$", printed, re.DOTALL | re.MULTILINE) is not None


@pytest.mark.parametrize("name", ENTRIES)
def test_what_the_page_shows_is_printed_and_the_way_on_works(place: Path, name: str) -> None:
    """Every command of an entry, with its exit status, and what is there in the end."""
    case = CASES[name]
    begun, said = shell(place, f"set -e\ngit init -q -b main\ngit add .\ngit commit -qm one\n{case.before}")
    assert begun == 0, said

    steps = [step for block in blocks(ENTRIES[name], "console") for step in commands(block)]
    statuses: list[int] = []
    for step in steps:
        status, printed = shell(place / case.where, step.command, case.around)
        assert is_shown(step.printed, printed), f"$ {step.command}\n{printed}\nand the page shows:\n{step.printed}"
        if re.search(r"(^|[^.])\bwink ", step.command):
            statuses.append(status)

    assert tuple(statuses) == case.statuses
    ended, said = shell(place / case.where, f"set -ex\n{case.after}")
    assert ended == 0, said


def test_every_entry_has_a_case_and_every_case_an_entry() -> None:
    """So that none is forgotten when the page changes."""
    assert set(ENTRIES) == set(CASES)


# -- no refusal without an entry

OTHER_FILES = {
    # programs in calls of tools, and what `wink doctor` says
    "_call.py", "_copy.py", "_copy_guard.py", "_guard.py", "_probe.py", "_unguarded.py", "_written.py",
    # what `wink explain` answers, where nothing is refused yet
    "_explained.py", "_judged.py", "_seen.py",
    # what a client that speaks no HTTP or SOCKS is answered
    "_http.py", "_socks.py",
    # no refusals
    "__init__.py", "_hunks.py", "_launcher.py", "_noted.py", "_mounting.py", "_output.py", "_profiles.py",
}  # fmt: skip
OTHER_TEXTS = {
    # of calls of tools, which are answered to a model
    "belongs to a user or group that is not yours: programs can read it here, and not change it",
    "was given … bytes, where a program may write … to a file",
    "changed by somebody else while the program ran: …; nothing was merged, run it again",
    # said as something else: `TryBusy`, why an update leaves a path, and what the launcher tells
    "a program has closed it",
    "it hides what the workspace has there",
    "it was removed, or moved, in this very moment",
    "it ended at once",
    "the launcher ended",
    # for the log of the program that runs wink, where an editor or a client of MCP could not be asked
    "a person could not be asked about a host",
    # where no state has a place either, which is said first
    "a copy for a program that nothing confines needs a place; set HOME or XDG_STATE_HOME",
    "wrote too much",
    # a word before a program starts, when nothing has been refused
    "scripts in {0}/bin, as pip, name the workspace's own path, and what they change there is real; {0}/bin/python -m pip changes the copy",
    # what a client is answered that asks for a tunnel with a body
    "a CONNECT has no body",
    # what there is more of, and what was let through
    "… more to other hosts, or with other outcomes",
    ", … bytes sent, … bytes received",
    ", as … was approved",
    # what a person is asked, when nothing has been refused
    "… wants to connect to …, which is not listed…",
    ", and not on the public internet",
    "…: …; answer within … s: `wink approve …` for this run, with lasts=once or lasts=always for less or more, or `wink deny …`",
    "; and … more",
}


def _texts(source: Path, *, of_errors_alone: bool) -> Iterator[str]:
    """What a file says in words, with `…` for what it fills in: every text of three words, or those of its errors."""
    module = ast.parse(source.read_text(encoding="utf-8"))
    passed_over: set[ast.AST] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            passed_over.add(node.value)  # a docstring
        elif isinstance(node, ast.Assert):
            passed_over |= set(ast.walk(node))
        elif isinstance(node, ast.keyword) and node.arg == "help":
            passed_over |= set(ast.walk(node.value))
        elif isinstance(node, ast.JoinedStr):
            passed_over |= {one for one in ast.walk(node) if isinstance(one, ast.Constant)}
    roots: list[ast.AST] = [module]
    if of_errors_alone:
        roots = [node for node in ast.walk(module) if isinstance(node, ast.Raise)]
        roots += [node for node in module.body if isinstance(node, ast.Assign)]
        roots += [
            node for node in module.body if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Constant)
        ]
    for node in (node for root in roots for node in ast.walk(root) if node not in passed_over):
        text = ""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = re.sub(r"{([a-z_]+(![rsa])?)?}", "…", node.value)
        elif isinstance(node, ast.JoinedStr):
            text = "".join(str(one.value) if isinstance(one, ast.Constant) else "…" for one in node.values)
        if len(re.findall(r"[a-z…]+ ", text)) > 1:
            yield text


def _refusals() -> Iterator[tuple[str, str]]:
    plugin, errors = Path(wink_sandbox.__file__).parent, Path(wink.__file__).parent / "errors"
    for source in (*sorted(plugin.rglob("*.py")), errors / "_sandbox.py", errors / "_tries.py"):
        if source.name not in OTHER_FILES:
            for text in _texts(source, of_errors_alone=source.parent.name == "commands"):
                yield source.name, text


def _is_on(page: str, text: str) -> bool:
    pieces = [re.escape(piece) for piece in re.split("…|\n", text) if piece.strip()]
    return re.search(".*?".join(pieces), page) is not None


def test_every_refusal_in_the_source_is_on_the_page() -> None:
    """Whoever adds one says how to go on."""
    page = "\n".join(text for entry in ENTRIES.values() for kind in ("console", "text") for text in blocks(entry, kind))

    missing = {f"{file}: {text}" for file, text in _refusals() if text not in OTHER_TEXTS and not _is_on(page, text)}

    assert missing == set(), "add an entry to docs/reference/refusals.md, and a case to refusal_cases.py"


def test_a_refusal_that_is_added_is_found(tmp_path: Path) -> None:
    """The check itself."""
    (tmp_path / "new.py").write_text('def f(path): raise MergeRefused([(path, f"has no {path} at all")])\n')

    assert list(_texts(tmp_path / "new.py", of_errors_alone=True)) == ["has no … at all"]
    assert not _is_on(PAGE.read_text(encoding="utf-8"), "has no … at all")
