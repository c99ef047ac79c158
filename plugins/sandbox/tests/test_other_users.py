"""The same for a user who is not root, and maps only their own id."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import wink
import wink_sandbox
from wink_sandbox import remove_tree

NOBODY = 65534
PYTHON = "/usr/bin/python3"

CODE = """
import os
from wink.filesystem import HostFilesystem
from wink_sandbox import Command, Limits, OverlayGuard, Profile, Sandbox, foreign, words_of

files = HostFilesystem("workspace")
root = os.path.realpath("workspace")

def run(script, commit=True):
    part = files.begin()
    files.turns.acquire(10)
    with OverlayGuard().open(part, Sandbox(Profile(limits=Limits(memory_bytes=None)))) as guarded:
        ended = guarded.run(Command(words_of(script), env={"PATH": "/usr/bin:/bin"}))
        print(ended.status, ended.stdout.text() + ended.stderr.text(), [change.path for change in guarded.changes()])
        guarded.keep()
    if commit:
        part.prepare(); part.publish()
    else:
        part.undo()
    files.turns.release()

assert foreign(root) == (), foreign(root)
run("id -u; echo x > made; chmod 400 made; rm old; mkdir -m 500 closed")
run("cat made; rm -f made; unshare -Ur true && echo escaped; cat /etc/shadow; ls -A .wink")
run("mkdir -p d/e; echo y > d/e/f; chmod 500 d/e; chmod 500 d", commit=False)
run("ls")
from wink.state import locate
print(len(os.listdir(locate("workspace") + "/programs")), "overlay")
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory of nobody's, with a copy of wink that nobody can read."""
    directory = Path(tempfile.mkdtemp(prefix="wink-user-"))
    directory.chmod(0o755)
    for package in (wink, wink_sandbox):
        source = Path(package.__file__ or "").parent
        shutil.copytree(source, directory / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    (directory / "workspace").mkdir()
    (directory / "workspace/old").touch()
    (directory / "own").mkdir()
    if os.getuid() == 0:
        for path in (directory / "workspace", directory / "workspace/old", directory / "own"):
            os.chown(path, NOBODY, NOBODY)
    yield directory
    remove_tree(str(directory))  # the kernel leaves directories that not even their owner can look into


def test_programs_of_a_user_who_is_not_root(place: Path) -> None:
    """They are that user inside as well, have no rights that they could widen, and leave nothing that is in the way."""
    who = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
    environment = {"PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin"}
    environment["XDG_STATE_HOME"] = str(place / "own")

    said = subprocess.run(
        [PYTHON, "-c", CODE], cwd=place, env=environment, capture_output=True, text=True, check=False, timeout=60, **who
    )

    assert said.returncode == 0, said.stderr
    lines = said.stdout.splitlines()
    assert lines[0] == f"0 {who.get('user', os.getuid())}"
    assert lines[1] == " ['closed', 'made', 'old']"
    assert lines[2] == "0 x"
    assert "escaped" not in said.stdout
    assert "Permission denied" in lines[4]
    assert lines[5] == " ['made']"
    assert lines[6] == "0  ['d', 'd/e', 'd/e/f']"
    assert lines[7:10] == ["0 closed", " []", "1 overlay"]
