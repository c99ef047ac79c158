"""Whatever goes wrong around calls of an attached agent: no byte of anybody's is lost, and every change of what is kept has an entry.

A table of faults, each in the middle of two calls and a save of the person's; a helper that is killed at every step has
`test_dying.py`.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from plugins.attach.tests.conftest import Project

from wink.workspace import Workspace

QUEUED = Path("/proc/sys/fs/inotify/max_queued_events")
FAULTS: dict[str, Callable[[Project], None]] = {}
"""What goes wrong, by its name; the first call has been made, and the second one is after it."""


def fault(function: Callable[[Project], None]) -> Callable[[Project], None]:
    """A row of the table."""
    FAULTS[function.__name__] = function
    return function


def shell(project: Project, command: str) -> None:
    """What somebody runs there."""
    subprocess.run(["/bin/sh", "-c", command], cwd=project.root, check=True)


def other(project: Project) -> Project:
    """Codex, attached to the same project."""
    one = Project(project.root, project.home, session="0dd", agent="codex")
    one.settings.parent.mkdir(exist_ok=True)
    one.settings.write_text(project.settings.read_text().replace("claude-code", "codex"))
    return one


@fault
def the_watch_overflows(project: Project) -> None:
    """More happens at once than the kernel tells a helper that does not listen."""
    (project.root / "many").mkdir()
    project.before("f", "Bash", command="make many")
    helper = project.helper()
    os.kill(helper, signal.SIGSTOP)
    for number in range(int(QUEUED.read_text()) // 2 + 1000):
        (project.root / "many" / f"{number % 500}").write_text(f"{number}\n")
    shell(project, "echo told >> a.txt")
    os.kill(helper, signal.SIGCONT)
    project.after("f", "Bash", command="make many")


@fault
def the_agent_is_killed(project: Project) -> None:
    """Nobody tells of its call's end."""
    told = {"hook_event_name": "PreToolUse", "session_id": project.session, "tool_use_id": "f"}
    told |= {"tool_name": "Bash", "tool_input": {"command": "half"}}
    # A process that runs the hook by a shell, and is gone afterwards.
    agent = "import subprocess, sys; sys.exit(subprocess.call([sys.argv[1] + '; true'], shell=True))"
    command = shlex.join([sys.executable, "-c", agent, project.command("PreToolUse")])
    assert project.run(f"{command}; true", json.dumps(told).encode(), project.root).returncode == 0
    shell(project, "echo half > half; echo half >> a.txt")
    project.session = "another"
    project.hook("SessionStart")


@fault
def the_helper_is_killed_in_a_call(project: Project) -> None:
    """The next one hears of the end alone."""
    project.before("f", "Bash", command="half")
    shell(project, "echo half > half")
    project.kill_helper()
    shell(project, "echo half >> a.txt")
    project.after("f", "Bash", command="half")


@contextmanager
def power_cut(project: Project, places: list[Path]) -> Iterator[None]:
    """What was written to some places meanwhile is as if it had never been, and the helper is gone; other files are there."""
    helper = project.helper()
    os.kill(helper, signal.SIGSTOP)
    then = {path: path.read_bytes() for place in places for path in place.rglob("*") if path.is_file()}
    os.kill(helper, signal.SIGCONT)
    yield
    project.kill_helper()
    for path in [path for place in places for path in place.rglob("*") if path.is_file()]:
        if path not in then:
            path.unlink()
        elif path.read_bytes() != then[path]:
            path.write_bytes(then[path])


@fault
def the_power_is_cut(project: Project) -> None:
    """Baseline and record are as they were when the call began."""
    project.before("f", "Bash", command="half")
    with power_cut(project, [project.baseline, project.state]):
        shell(project, "echo half > half; echo half >> a.txt")
        project.after("f", "Bash", command="half")
        project.hook("Stop")


@fault
def the_power_is_cut_before_the_baseline_is_written(project: Project) -> None:
    """The call stands in the record, and its changes are found once more."""
    project.before("f", "Bash", command="half")
    with power_cut(project, [project.baseline]):
        shell(project, "echo half > half; echo half >> a.txt")
        project.after("f", "Bash", command="half")
        project.hook("Stop")


@fault
def two_agents_work_at_once(project: Project) -> None:
    """Both change one file, and each one of its own."""
    codex = other(project)
    codex.prompt("Do it, too")
    project.before("f", "Bash", command="echo ours >> a.txt; echo 1 > ours")
    codex.before("g", "Bash", command="echo theirs >> a.txt; echo 1 > theirs")
    shell(project, "echo ours >> a.txt; echo theirs >> a.txt; echo 1 > ours; echo 1 > theirs")
    codex.after("g", "Bash", command="echo theirs >> a.txt; echo 1 > theirs")
    project.after("f", "Bash", command="echo ours >> a.txt; echo 1 > ours")


@fault
def subagents_work_at_once(project: Project) -> None:
    """Their calls overlap, and one of them ends after the turn."""
    for one in ("f", "g"):
        told = {"tool_name": "Bash", "tool_input": {"command": f"echo {one} > {one}"}, "tool_use_id": one}
        project.hook("PreToolUse", agent_id=one, agent_type="general-purpose", **told)
        shell(project, f"echo {one} > {one}; echo {one} >> a.txt")
    project.hook("PostToolUse", agent_id="f", agent_type="general-purpose", tool_use_id="f", tool_name="Bash")
    project.hook("Stop")
    project.hook("PostToolUse", agent_id="g", agent_type="general-purpose", tool_use_id="g", tool_name="Bash")


@fault
def the_person_saves_the_same_file(project: Project) -> None:
    """While the call is at work on it."""
    project.before("f", "Bash", command="echo agent >> a.txt")
    shell(project, "echo agent >> a.txt; sed 's/one/person/' a.txt > new; mv new a.txt; echo mine > mine.txt")
    project.after("f", "Bash", command="echo agent >> a.txt")


@fault
def the_person_changes_branches(project: Project) -> None:
    """Thousands of files become others between two calls, and none of them is the agent's."""
    shell(
        project,
        "for d in 0 1 2 3 4 5 6 7 8 9; do mkdir t$d; for n in $(seq 300); do echo branch > t$d/$n; done; done; rm src/main.py",
    )
    project.before("f", "Bash", command="echo mine > agents")
    shell(project, "echo mine > agents")
    project.after("f", "Bash", command="echo mine > agents")
    agents = [paths for tool, paths in project.changed() if tool == "Bash"]
    assert not [path for paths in agents for path in paths if path.startswith("t") or path == "src/main.py"]


@fault
def a_payload_is_hostile(project: Project) -> None:
    """It names what is not the workspace's, and more of it than anybody reads."""
    outside = project.root.parent / "outside.txt"
    outside.write_text("outside\n")
    told = {"file_path": "../outside.txt", "content": "x" * 2_000_000, "deep": [[[{}]]]}
    project.before("../../f", "Write", **told)
    shell(project, "echo half > half")
    project.after("../../f", "Write", **told)
    assert outside.read_text() == "outside\n"


@pytest.mark.parametrize("name", FAULTS)
def test_nothing_is_lost_and_every_change_has_an_entry(
    attached: Project, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are as the agent and the person left them, and going back through the entries comes to what there was."""
    before = attached.files()
    attached.prompt("Go")
    attached.bash("t1", "echo two >> a.txt")
    FAULTS[name](attached)
    (attached.root / "saved.txt").write_text("saved\n")
    left = attached.files()
    attached.bash("t2", "echo last > last.txt")
    attached.hook("Stop")
    attached.prompt("And on")

    assert attached.files() == {**left, "last.txt": b"last\n"}
    for variable in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(attached.home))
    with Workspace.open(attached.root) as workspace:
        for call in workspace.calls(limit=1000):
            if call.changes:
                workspace.undo(call.position)
    assert attached.files() == before


def test_a_record_that_has_lost_calls_says_so(attached: Project) -> None:
    """Where the baseline was written before the power was cut, and the record was not; what wink does then is its own again."""
    attached.bash("t1", "echo two >> a.txt")
    with power_cut(attached, [attached.state]):
        attached.bash("t2", "echo lost > lost")
    attached.prompt("And on")
    attached.bash("t3", "echo three > three")
    attached.wink("undo")
    attached.prompt("And on")

    said = [call["tool"] for call in attached.calls()]
    assert said == ["Bash", "hook", "Bash", "undo"]
    assert "the record has lost 1 of its last entries" in attached.wink("show", "c2")
    assert attached.files()["lost"] == b"lost\n"
    assert "three" not in attached.files()
