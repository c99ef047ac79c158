"""A helper that is killed at any step loses nothing: no byte of anybody's, and no change without an entry that takes it back.

`nox -s dying` goes through every step; the usual run takes some of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from plugins.attach.tests.conftest import Project

from wink.workspace import Workspace

DYING = Path(__file__).with_name("dying.py")
LAST = 130
"""More steps than there are; at one that is not reached nothing dies."""
STEPS = range(1, LAST, 1) if os.environ.get("WINK_EVERY_STEP") else (3, 11, 19, 23, 29, 37, 44)


def start(project: Project, number: int) -> subprocess.Popen[bytes]:
    """A helper that will die, in the place of the one that is there."""
    project.kill_helper()
    command = [sys.executable, str(DYING), str(project.root), str(number)]
    return subprocess.Popen(command, env=project.environment, cwd=project.home)


def scenario(project: Project) -> None:
    """Two calls, a save of the person's between them, and the end of a turn."""
    project.prompt("Go")
    project.bash("t1", "echo two >> a.txt; mkdir d; echo x > d/new")
    (project.root / "mine.txt").write_text("mine\n")
    project.bash("t2", "rm src/main.py; ln -s a.txt link; chmod 600 a.txt")
    (project.root / "mine.txt").write_text("mine, too\n")
    project.hook("Stop")
    project.prompt("And on")


@pytest.mark.parametrize("number", STEPS)
def test_nothing_is_lost_and_every_change_has_an_entry(
    attached: Project, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are as the agent and the person left them, and going back through the entries comes to what there was."""
    before = attached.files()
    mode = (attached.root / "a.txt").stat().st_mode
    helper = start(attached, number)
    try:
        scenario(attached)
    finally:
        helper.kill()
        helper.wait()
    attached.prompt("And on")  # a helper that nobody kills has the last word

    after = attached.files()
    assert after == {
        "a.txt": b"one\ntwo\n", "d": None, "d/new": b"x\n", "link": b"one\ntwo\n", "mine.txt": b"mine, too\n", "src": None,
    }  # fmt: skip
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(attached.home))
    with Workspace.open(attached.root) as workspace:
        for call in workspace.calls():
            if call.changes:
                workspace.undo(call.position)
    assert attached.files() == before
    assert (attached.root / "a.txt").stat().st_mode == mode
