"""opencode's plugin is a file that is all wink's, and what it tells is put into the words of rules."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from plugins.attach.tests.conftest import Project

from wink_attach import Event, Meaning, Scope
from wink_attach._place import hook_command
from wink_attach.agents import OpenCode

AGENT = "opencode"


@pytest.fixture
def plugin(project: Project) -> Path:
    """Where the plugin is put."""
    return project.root / ".opencode/plugin/wink.js"


def test_the_plugin_is_written_and_taken_out(project: Project, plugin: Path) -> None:
    """Twice changes nothing, with `--dry-run` nothing is written, and one of an earlier wink is replaced."""
    project.wink("attach", AGENT, "--dry-run")
    assert not plugin.exists()
    shown = project.wink("attach", AGENT)
    assert f"+++ {plugin}" in shown
    written = plugin.read_text()
    assert f"client.py opencode PreToolUse {project.root}" in written
    assert "still attached" in project.wink("attach", AGENT)
    assert plugin.read_text() == written
    assert f"{AGENT}: attached for this project, not seen to work yet" in project.wink("attach")
    project.wink("detach", AGENT)
    assert not plugin.exists()
    assert f"{AGENT} is not attached" in project.wink("detach", AGENT)


def test_what_somebody_else_has_written_stays(project: Project, plugin: Path) -> None:
    """A file of that name, and wink's own with something of theirs in it."""
    plugin.parent.mkdir(parents=True)
    plugin.write_text("export const Mine = async () => ({})\n")
    assert "is not as wink has written it" in project.wink("attach", AGENT, fails=True)
    project.wink("detach", AGENT)
    assert plugin.read_text() == "export const Mine = async () => ({})\n"
    plugin.unlink()
    project.wink("attach", AGENT)
    plugin.write_text(plugin.read_text() + "// mine\n")
    project.wink("detach", AGENT)
    assert plugin.read_text().endswith("// mine\n")


@pytest.mark.parametrize("linked", [".opencode", ".opencode/plugin"])
def test_the_plugin_is_not_written_through_links(project: Project, linked: str, tmp_path: Path) -> None:
    """A clone could have it written anywhere."""
    outside = tmp_path / "outside"
    (outside / "plugin").mkdir(parents=True)
    (project.root / linked).parent.mkdir(exist_ok=True)
    (project.root / linked).symlink_to(outside)

    assert "hooks are not written through links" in project.wink("attach", AGENT, fails=True)
    assert list(outside.rglob("*.js")) == []


def test_for_all_projects_it_stands_beside_the_users_settings(project: Project) -> None:
    """And leads to where opencode works."""
    project.wink("attach", AGENT, "--user")
    written = project.home / ".config/opencode/plugin/wink.js"
    assert str(project.root) not in written.read_text()
    project.wink("detach", AGENT, "--user")
    assert not written.exists()


def test_for_one_run_it_is_given_beside_plugins_that_are_there(tmp_path: Path) -> None:
    """In the variable that opencode reads; what is in it stays, and what is none is refused."""
    given = {"theme": "x", "plugin": ["mine"]}
    scope = Scope(str(tmp_path), str(tmp_path), {"OPENCODE_CONFIG_CONTENT": json.dumps(given)})

    words, more = OpenCode().once(scope, hook_command, str(tmp_path / "once"), ("opencode", "run"))

    assert words == ("opencode", "run")
    settings = json.loads(more["OPENCODE_CONFIG_CONTENT"])
    assert settings == {"theme": "x", "plugin": ["mine", f"file://{tmp_path}/once.js"]}
    assert "COMMANDS = {}" not in (tmp_path / "once.js").read_text()
    for odd in ("{", "[]", '{"plugin": 1}'):
        with pytest.raises(Exception, match="is no JSON object with a list of plugins"):
            OpenCode().once(scope._replace(environ={"OPENCODE_CONFIG_CONTENT": odd}), hook_command, "/x", ("opencode",))


def meaning(tool: str, **arguments: Any) -> Meaning:
    """What a call is to rules."""
    payload = {"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": arguments, "cwd": "/srv/p"}
    return OpenCode().meaning(OpenCode().event(payload))


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (lambda: meaning("write", filePath="a", content="x"), ("write_file", "workspace", {"file_path": "a", "content": "x"})),
        (lambda: meaning("read", filePath="a"), ("read_file", "read", {"file_path": "a"})),
        (lambda: meaning("bash", command="ls"), ("run_command", "process", {"command": "ls"})),
        (lambda: meaning("webfetch", url="u"), ("webfetch", "external", {"url": "u"})),
        (lambda: meaning("My Tool"), ("my_tool", "external", {})),
    ],
)  # fmt: skip
def test_calls_have_the_names_of_rules(found: Callable[[], Meaning], told: tuple[str, str, dict[str, str]]) -> None:
    """Of tools and arguments."""
    assert found()[:3] == told


def test_a_patch_is_about_its_files_and_a_search_shows_lines() -> None:
    """Each file under the tool that does such a thing."""
    patch = "*** Begin Patch\n*** Delete File: a.txt\n*** Add File: b.txt\n+x\n*** End Patch"
    found = meaning("apply_patch", patchText=patch)
    assert [(one.tool, one.arguments["paths"]) for one in (found, *found.also)] == [
        ("write_file", ["/srv/p/b.txt"]), ("rm", ["/srv/p/a.txt"]),
    ]  # fmt: skip
    assert meaning("apply_patch", patchText=7).doubt
    assert meaning("grep", pattern="x", path="src", include="*.py").shows == ("src", "*.py")


@pytest.mark.parametrize("payload", [{}, {"hook_event_name": 7, "tool_input": [], "exit": "x"}, {"exit": True}])
def test_an_event_that_nobody_understands_is_none(payload: dict[str, Any]) -> None:
    """From an opencode newer than what was tried."""
    assert OpenCode().event(payload).kind == "other"
    assert isinstance(OpenCode().event(payload), Event)


def test_writing_needs_reading_and_a_failed_call_is_recorded(project: Project, plugin: Path) -> None:
    """By the names that policies know; what the plugin is told is what it gives to the model."""
    project.wink("attach", AGENT)
    commands = json.loads(plugin.read_text().partition("const COMMANDS = ")[2].partition("}")[0] + "}")

    def hook(event: str, call: str, tool: str, path: str, **more: Any) -> dict[str, str]:
        told = {"tool_name": tool, "tool_use_id": call, "tool_input": {"filePath": str(project.root / path)}, **more}
        payload = {"hook_event_name": event, "session_id": "ses_1", "cwd": str(project.root), **told}
        done = project.run(commands[event], json.dumps(payload).encode(), project.root)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout or b"{}")

    assert "has not been read" in hook("PreToolUse", "t1", "write", "a.txt")["deny"]
    hook("PreToolUse", "t2", "read", "a.txt")
    hook("PostToolUse", "t2", "read", "a.txt", output="one")
    assert hook("PreToolUse", "t3", "write", "a.txt") == {}
    hook("PostToolUse", "t3", "write", "a.txt", error="no room")

    calls = project.calls()
    assert [(call["tool"], call["outcome"]) for call in calls] == [("write", "denied"), ("read", "ok"), ("write", "ok")]
    assert "no room" in project.wink("show", calls[2]["call"])
    project.wink("detach", AGENT)
