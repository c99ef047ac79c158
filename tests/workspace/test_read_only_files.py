"""Files that their owner may not write, as programs leave them, and as an ordinary user meets them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

CASES = {
    "closed later": ["echo one > a.txt", "echo two > a.txt", "chmod 444 a.txt"],
    "opened and closed": ["echo one > a.txt; chmod 444 a.txt", "chmod 644 a.txt; echo two > a.txt; chmod 444 a.txt"],
    "replaced": ["echo one > a.txt; chmod 444 a.txt", "echo two > b; chmod 400 b; mv -f b a.txt"],
    "of two names": ["echo one > a.txt; ln a.txt b", "echo two > a.txt; chmod 444 a.txt"],
    "deleted": ["echo one > a.txt", "chmod 444 a.txt", "rm -f a.txt"],
}
WORK = """
import contextlib, importlib, json, os, sys
place, cases, known = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3:]
if known and os.geteuid() == 0:
    # The interpreter may lie where only root can read: everything is imported before.
    for name in json.loads(open(known[0]).read()):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
    if not os.access(sys.executable, os.X_OK):
        # What starts programs is a script, for which any Python does.
        sys.executable = "/usr/bin/python3"
        sys.prefix = sys.base_prefix = sys.exec_prefix = sys.base_exec_prefix = "/usr"
from wink.testing import Harness

def tried(root, commands, fold):
    os.makedirs(root)
    with Harness(root=root, audit=False) as harness:
        harness.use("section", "shell.commands")
        states = []
        for command in commands:
            reply = harness.call("run_command", command=command)
            if not reply.success:
                return reply.text
            states.append(seen(root))
        if fold:
            harness.workspace.fold()
        try:
            harness.workspace.undo(n=len(commands) - 1)
            undone = seen(root)
            harness.workspace.redo()
        except OSError as error:
            return repr(error)
    return "as it was" if (undone, seen(root)) == (states[0], states[-1]) else f"{undone}, {seen(root)} of {states}"

def seen(root):
    path = os.path.join(root, "a.txt")
    return (open(path).read(), oct(os.stat(path).st_mode)) if os.path.exists(path) else None

found = {name: [tried(f"{place}/{name}{fold}", case, fold) for fold in (0, 1)] for name, case in cases.items()}
print(json.dumps([found, sorted(sys.modules)]))
"""


@pytest.fixture(scope="module")
def found() -> Iterator[dict[str, list[str]]]:
    """What came of each case, for somebody who is not root."""
    directory = Path(tempfile.mkdtemp(prefix="wink-read-only-"))
    directory.chmod(0o755)
    listed = directory / "modules"
    done = json.loads(_run(directory / "before"))
    listed.write_text(json.dumps(done[1]))
    yield json.loads(_run(directory / "then", str(listed)))[0]
    shutil.rmtree(directory)


def _run(place: Path, *more: str) -> str:
    place.mkdir()
    if os.geteuid() == 0 and more:
        os.chown(place, 65534, 65534)
    environment = {"PATH": os.environ["PATH"], "HOME": str(place), "XDG_STATE_HOME": str(place / "own")}
    words = [sys.executable, "-c", WORK, str(place), json.dumps(CASES), *more]
    return subprocess.run(words, cwd=place, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="programs are confined by bubblewrap")
@pytest.mark.parametrize("case", CASES)
def test_a_file_that_is_read_only_goes_back(case: str, found: dict[str, list[str]]) -> None:
    """Whoever made it so may undo what was done before: they could open it, change it and close it again themselves."""
    assert found[case] == ["as it was", "as it was"]  # out of staging, and out of the history
