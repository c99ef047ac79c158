"""`wink attach` writes hooks beside what is there, and `wink detach` takes out exactly those."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from plugins.attach.tests.conftest import AGENT, Project

THEIRS = {
    "permissions": {"allow": ["Bash(ls:*)"]},
    "hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "/usr/bin/wink client.py"}]}],
        "Notification": [{"hooks": [{"type": "command", "command": "true"}]}],
    },
}


def test_hooks_are_written_beside_what_is_there_and_taken_out_again(project: Project) -> None:
    """Twice changes nothing; a hook that only calls itself wink is somebody else's, and stays."""
    project.settings.parent.mkdir()
    project.settings.write_text(json.dumps(THEIRS))

    project.wink("attach", AGENT)
    written = project.settings.read_text()
    project.wink("attach", AGENT)

    assert project.settings.read_text() == written
    found = json.loads(written)
    assert found["permissions"] == THEIRS["permissions"]
    assert found["hooks"]["PreToolUse"][0] == THEIRS["hooks"]["PreToolUse"][0]
    assert len(found["hooks"]["PreToolUse"]) == 2
    assert "attached for this project, not seen to work yet" in project.wink("attach")
    assert "claude-code: attached for this project" in project.wink("doctor")

    project.wink("detach", AGENT)

    assert json.loads(project.settings.read_text()) == THEIRS
    assert "no agent is attached here" in project.wink("attach")


def test_json_says_what_was_written_and_what_is_attached(project: Project) -> None:
    """One object, and no diff beside it."""
    would = json.loads(project.wink("attach", AGENT, "--dry-run", "--json"))
    assert (would["agent"], would["file"], would["changed"]) == (AGENT, str(project.settings), True)
    assert not project.settings.exists()

    done = json.loads(project.wink("attach", AGENT, "--json"))
    assert (done["changed"], done["dry_run"], done["active"]) == (True, False, True)
    assert json.loads(project.wink("attach", AGENT, "--json"))["changed"] is False
    (listed,) = json.loads(project.wink("attach", "--json"))["attached"]
    assert listed == {"agent": AGENT, "user": False, "complete": True, "seen_at": None}

    assert json.loads(project.wink("detach", AGENT, "--json"))["changed"] is True
    assert json.loads(project.wink("attach", "--json")) == {"attached": []}


def test_a_file_that_only_wink_had_written_goes(project: Project) -> None:
    """Nothing is left of it."""
    project.wink("attach", AGENT)
    project.wink("detach", AGENT)

    assert not project.settings.exists()


def test_a_dry_run_shows_and_writes_nothing(project: Project) -> None:
    """Neither in the project nor in the home."""
    assert '+        "hooks": [' in project.wink("attach", AGENT, "--dry-run")
    assert not project.settings.exists()
    assert {path.name for path in project.home.iterdir()} <= {".cache"}  # what wink knows of plugins


def test_for_all_projects_it_stands_in_the_users_own_settings(project: Project) -> None:
    """And is not written into a project besides, where each event would be told twice."""
    project.wink("attach", AGENT, "--user")

    assert (project.home / ".claude/settings.json").exists()
    assert not project.settings.exists()
    assert "attached for all projects already" in project.wink("attach", AGENT, fails=True)
    project.wink("detach", AGENT, "--user")
    assert not (project.home / ".claude/settings.json").exists()


@pytest.mark.parametrize("content", ["[1]", "{", '{"hooks": []}', '{"hooks": {"PreToolUse": {}}}', "[" * 100_000])
def test_settings_that_are_no_settings_stay_as_they_are(project: Project, content: str) -> None:
    """They are the person's to fix."""
    project.settings.parent.mkdir()
    project.settings.write_text(content)

    assert "fix" in project.wink("attach", AGENT, fails=True)
    assert project.settings.read_text() == content


@pytest.mark.parametrize("is_directory", [False, True])
def test_nothing_is_written_through_a_link_of_the_project(project: Project, tmp_path: Path, is_directory: bool) -> None:
    """A project may have been made so that its settings are another file of the person's."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "settings.local.json").write_text("{}")
    if is_directory:
        project.settings.parent.symlink_to(other)
    else:
        project.settings.parent.mkdir()
        project.settings.symlink_to(other / "settings.local.json")

    assert "link" in project.wink("attach", AGENT, fails=True)
    assert (other / "settings.local.json").read_text() == "{}"
    project.settings.unlink() if not is_directory else project.settings.parent.unlink()


def test_an_unknown_agent_is_one_line(project: Project) -> None:
    """With what there is."""
    assert "claude-code" in project.wink("attach", "claude-cod", fails=True)


def test_the_home_is_no_project(project: Project) -> None:
    """Everything that a person has would be kept; it is said before anything is shown or written."""
    for above in (project.home, project.home.parent):
        for option in ((), ("--dry-run",)):
            told = project.wink("attach", AGENT, "--workspace", str(above), *option, fails=True)
            assert "holds more than a project" in told
    assert {path.name for path in project.home.iterdir()} <= {".cache"}  # what wink knows of plugins


def test_detaching_drops_what_was_kept_for_the_next_call_and_nothing_that_was_recorded(attached: Project) -> None:
    """Copies of files are of no use then; calls can still be taken back."""
    attached.prompt("Go")
    attached.bash("t1", "echo two >> a.txt")
    baselines = attached.home / ".local/state/wink/attach/baselines"
    assert list(baselines.glob("*/baseline.db"))

    attached.wink("detach", AGENT)

    assert not list(baselines.glob("*"))
    attached.wink("undo", "--turn")
    assert (attached.root / "a.txt").read_text() == "one\n"
