"""gemini-cli, qwen-code and goose: what they tell, as recorded of them, becomes calls and turns; what they cannot is said."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from plugins.attach.tests.conftest import FILES, Project

from wink_attach import NOTHING, Agent, Event, Limited, Scope, Verdict
from wink_attach._place import hook_command
from wink_attach.agents import GeminiCli, Goose, QwenCode

AGENTS: dict[str, Agent] = {one.name: one for one in (GeminiCli(), Goose(), QwenCode())}
RULES = """
[[rules]]
action = "deny"
tools = "run_command"
arguments = { command = "*forbidden*" }
reason = "leave that alone"
"""
DENIED = Verdict("deny", "leave that alone")


@pytest.fixture(params=sorted(AGENTS))
def agent(request: pytest.FixtureRequest, project: Project) -> str:
    """Each of them, in a project."""
    project.agent = request.param
    return request.param


def heard(project: Project, event: str, **payload: Any) -> dict[str, Any]:
    """What a hook answers as a whole; each agent calls the event its own way."""
    told = {"hook_event_name": event, "event": event, "session_id": project.session, **payload}
    done = project.raw(event, json.dumps(told).encode())
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if done.stdout else {}


def test_hooks_are_written_once_and_taken_out_as_if_they_had_never_been(project: Project, agent: str) -> None:
    """With the directories that had to be made; `--dry-run` writes nothing, and what is not possible is said."""
    before = sorted(project.root.rglob("*"))
    project.wink("attach", agent, "--dry-run")
    assert sorted(project.root.rglob("*")) == before
    said = project.wink("attach", agent)
    limits = AGENTS[agent].limits if isinstance(AGENTS[agent], Limited) else ()
    assert [line for line in said.splitlines() if line.startswith("not with ")] == [
        f"not with {agent}: {one}" for one in limits
    ]
    written = project.settings.read_bytes()
    assert "still attached" in project.wink("attach", agent)
    assert project.settings.read_bytes() == written
    assert f"{agent}: attached for this project, not seen to work yet" in project.wink("attach")
    project.wink("detach", agent)
    assert sorted(project.root.rglob("*")) == before
    assert f"{agent} is not attached" in project.wink("detach", agent)


def test_for_all_projects_they_stand_with_the_user(project: Project, agent: str) -> None:
    """And lead to where the agent works."""
    project.wink("attach", agent, "--user")
    written = project.home / FILES[agent]
    assert f"client.py {agent} PreToolUse" in (text := written.read_text()) or "BeforeTool" in text
    assert str(project.root) not in text
    assert "is attached for all projects already" in project.wink("attach", agent, fails=True)
    project.wink("detach", agent, "--user")
    assert not written.parent.exists()


def test_what_lies_beside_them_stays(project: Project, agent: str, tmp_path: Path) -> None:
    """Settings with comments, as these agents read them; a directory with something else in it; nothing through links."""
    project.settings.parent.mkdir(parents=True)
    other = project.settings.parent / "other"
    other.write_text("mine")
    if agent != "goose":
        mine = '// mine\n{\n  "theme": "x", /* dark */\n  "hooks": {"Notification": [{"hooks": []}]}\n}\n'
        project.settings.write_text(mine)
    project.wink("attach", agent)
    project.wink("detach", agent)
    if agent != "goose":
        assert project.settings.read_text() == mine
        project.wink("attach", agent)
        project.settings.write_text(project.settings.read_text().replace("// mine", "// mine, too"))
        project.wink("detach", agent)
        assert project.settings.read_text() == mine.replace("// mine", "// mine, too")
    assert other.read_text() == "mine"
    top = project.root / Path(FILES[agent]).parts[0]
    top.rename(tmp_path / "moved")
    top.symlink_to(tmp_path / "moved")
    assert "hooks are not written through links" in project.wink("attach", agent, fails=True)


def test_another_agents_settings_that_are_none_keep_no_agent_attached(project: Project) -> None:
    """The copies stay then: its hooks may be in it."""
    project.wink("attach", "goose")
    broken = project.root / FILES["gemini-cli"]
    broken.parent.mkdir()
    broken.write_text("{")
    assert "goose is detached" in project.wink("detach", "goose")
    assert "is no JSON; fix it first" in project.wink("attach", "gemini-cli", fails=True)


@pytest.mark.parametrize(
    ("agent", "payload", "told"),
    [
        (
            "gemini-cli",
            {
                "hook_event_name": "AfterTool", "session_id": "s", "cwd": "/p", "tool_name": "run_shell_command",
                "tool_input": {"command": "exit 3", "dir_path": "src", "is_background": True},
                "tool_response": {
                    "llmContent": "<untrusted_context>\nOutput: (empty)\nExit Code: 3\nProcess Group PGID: 7\n</untrusted_context>",
                    "returnDisplay": "",
                },
            },
            {
                "kind": "after", "call_id": "", "reply": "Output: (empty)\nExit Code: 3\nProcess Group PGID: 7",
                "failure": "exit status 3", "is_moved_on": True, "directory": "/p/src",
            },
        ),
        (
            "gemini-cli",
            {
                "hook_event_name": "AfterTool", "tool_name": "replace", "tool_input": {},
                "tool_response": {"llmContent": [{"text": "a"}, {"text": "b"}], "error": {"message": "no match"}},
            },
            {"kind": "after", "reply": "a\nb", "failure": "no match"},
        ),
        (
            "gemini-cli",
            {"hook_event_name": "BeforeTool", "tool_name": "read_file", "tool_input": {"start_line": 3, "end_line": 5}},
            {"kind": "before", "arguments": {"start_line": 3, "end_line": 5, "offset": 3, "limit": 3}},
        ),
        ("gemini-cli", {"hook_event_name": "BeforeAgent", "prompt": "Go"}, {"kind": "turn", "prompt": "Go"}),
        ("gemini-cli", {"hook_event_name": "AfterAgent", "prompt": "Go"}, {"kind": "idle"}),
        ("gemini-cli", {"hook_event_name": "BeforeModel"}, {"kind": "other"}),
        (
            "qwen-code",
            {
                "hook_event_name": "PostToolUseFailure", "tool_use_id": "toolu_1", "tool_call_id": "call_1", "cwd": "/p",
                "tool_name": "run_shell_command", "tool_input": {"command": "exit 3"}, "agent_id": "a-1",
                "error": "Command: exit 3\nOutput: (empty)\nExit Code: 3\nSignal: (none)",
            },
            {
                "kind": "after", "call_id": "call_1", "failure": "exit status 3", "subagent": "a-1", "directory": "/p/",
                "reply": "Command: exit 3\nOutput: (empty)\nExit Code: 3\nSignal: (none)",
            },
        ),
        (
            "qwen-code",
            {
                "hook_event_name": "PostToolUse", "tool_name": "edit", "tool_call_id": "c",
                "tool_response": {"llmContent": "done", "returnDisplay": {}},
            },
            {"kind": "after", "reply": "done", "failure": ""},
        ),
        (
            "qwen-code",
            {
                "hook_event_name": "PostToolUse", "tool_name": "run_shell_command", "tool_call_id": "c",
                "tool_input": {"command": "x", "is_background": True}, "tool_response": {"llmContent": "started"},
            },
            {"kind": "after", "reply": "started", "is_moved_on": True},
        ),
        (
            "qwen-code",
            {"hook_event_name": "PostToolBatch", "tool_calls": [{"tool_use_id": "c1", "tool_call_id": "c1"}, 7]},
            {"kind": "batch", "calls": ("c1", "")},
        ),
        (
            "qwen-code",
            {"hook_event_name": "UserPromptSubmit", "prompt": "Go", "submitted_prompt": "Go"},
            {"kind": "turn", "prompt": "Go"},
        ),
        ("qwen-code", {"hook_event_name": "UserPromptSubmit", "prompt": ""}, {"kind": "other"}),
        ("qwen-code", {"hook_event_name": "UserPromptSubmit", "submitted_prompt": "<task-notification>"}, {"kind": "other"}),
        ("qwen-code", {"hook_event_name": "SubagentStop", "agent_id": "a-1"}, {"kind": "idle", "subagent": "a-1"}),
        (
            "goose",
            {
                "event": "PostToolUseFailure", "session_id": "20261122_1", "tool_call_id": "c", "tool_name": "shell",
                "tool_input": {"command": "exit 3"}, "working_dir": "/p", "matcher_context": "shell",
            },
            {"kind": "after", "call_id": "c", "tool": "shell", "failure": "goose does not say why", "directory": "/p"},
        ),
        ("goose", {"event": "UserPromptSubmit", "message": "Go"}, {"kind": "turn", "prompt": "Go"}),
        ("goose", {"event": "PreToolUse", "tool_name": "developer__shell"}, {"kind": "before", "tool": "shell"}),
        ("goose", {"event": ["PreToolUse"], "tool_input": [], "message": 7}, {"kind": "other", "prompt": ""}),
        ("gemini-cli", {"hook_event_name": 7, "tool_response": {"llmContent": [7]}, "tool_input": "x"}, {"kind": "other"}),
        ("qwen-code", {"hook_event_name": None, "tool_calls": "x", "error": {}}, {"kind": "other", "calls": ()}),
    ],
)  # fmt: skip
def test_events_are_read(agent: str, payload: dict[str, Any], told: dict[str, Any]) -> None:
    """As they were recorded, and whatever else comes."""
    event = AGENTS[agent].event(payload)
    assert {key: getattr(event, key) for key in told} == told


@pytest.mark.parametrize(
    ("agent", "tool", "arguments", "told"),
    [
        ("gemini-cli", "replace", {"file_path": "a"}, ("edit_file", "workspace")),
        ("gemini-cli", "run_shell_command", {"command": "ls"}, ("run_command", "process")),
        ("gemini-cli", "grep_search", {"pattern": "x", "dir_path": "src", "include_pattern": "*.py"}, ("grep", "read", ("src", "*.py"))),
        ("gemini-cli", "grep_search", {"pattern": "x", "names_only": True}, ("grep", "read", None)),
        ("gemini-cli", "mcp_a_b", {}, ("mcp_a_b", "external")),
        ("qwen-code", "edit", {"file_path": "a"}, ("edit_file", "workspace")),
        ("qwen-code", "grep_search", {"pattern": "x", "glob": "*.py"}, ("grep", "read", ("", "*.py"))),
        ("goose", "write", {"path": "a"}, ("write_file", "workspace")),
        ("goose", "shell", {"command": "ls"}, ("run_command", "process")),
        ("goose", "delegate", {"instructions": "x"}, ("agent", "external")),
    ],
)  # fmt: skip
def test_calls_have_the_names_of_rules(agent: str, tool: str, arguments: dict[str, Any], told: tuple[Any, ...]) -> None:
    """And a search says where it shows lines."""
    found = AGENTS[agent].meaning(Event("before", tool=tool, arguments=arguments))
    assert (found.tool, found.effects, found.shows)[: len(told)] == told


def test_answers_are_in_the_words_of_each_agent() -> None:
    """Where it takes any."""
    before, turn = Event("before"), Event("turn")
    gemini, qwen, goose = AGENTS["gemini-cli"], AGENTS["qwen-code"], AGENTS["goose"]
    assert json.loads(gemini.answer(before, DENIED, "")) == {"decision": "deny", "reason": "leave that alone"}
    assert json.loads(goose.answer(before, DENIED, "")) == {"decision": "block", "reason": "leave that alone"}
    for action in ("deny", "ask"):
        told = json.loads(qwen.answer(before, Verdict(action, "look at it"), ""))["hookSpecificOutput"]
        assert (told["permissionDecision"], told["permissionDecisionReason"]) == (action, "look at it")
    for one, name in ((gemini, "BeforeAgent"), (qwen, "UserPromptSubmit")):
        told = json.loads(one.answer(turn, NOTHING, "read again"))["hookSpecificOutput"]
        assert told == {"hookEventName": name, "additionalContext": "read again"}
    assert goose.answer(turn, NOTHING, "read again") == b""
    assert {one.answer(event, NOTHING, "") for one in AGENTS.values() for event in (before, turn)} == {b""}


def test_for_one_run_qwen_code_keeps_the_settings_of_the_machine_and_others_refuse(tmp_path: Path) -> None:
    """What stands in them is in those of this run."""
    given = tmp_path / "system.json"
    given.write_text('{"theme": "x", "hooks": {"Stop": [{"hooks": []}]}}')
    scope = Scope(str(tmp_path), str(tmp_path), {"QWEN_CODE_SYSTEM_SETTINGS_PATH": str(given)})

    words, more = QwenCode().once(scope, hook_command, f"{tmp_path}/once", ("qwen", "-p", "x"))

    assert words == ("qwen", "-p", "x")
    assert more == {"QWEN_CODE_SYSTEM_SETTINGS_PATH": f"{tmp_path}/once.json"}
    made = json.loads((tmp_path / "once.json").read_text())
    assert made["theme"] == "x"
    assert [len(made["hooks"][event]) for event in ("Stop", "PreToolUse")] == [2, 1]
    for odd, why in (
        ("{", "no JSON"),
        ('{"hooks": 1}', "not as the agent"),
        ('{"hooks": {"Stop": 1}}', "not as the agent"),
    ):
        given.write_text(odd)
        with pytest.raises(Exception, match=why):
            QwenCode().once(scope, hook_command, f"{tmp_path}/once", ("qwen",))
    for other in (GeminiCli(), Goose()):
        with pytest.raises(Exception, match="takes no hooks for one run; `wink attach"):
            other.once(scope, hook_command, f"{tmp_path}/once", ("x",))


def test_gemini_cli_calls_without_ids_are_told_apart_by_their_words(
    project: Project, rules: Callable[[str], None]
) -> None:
    """Also two in the same; a denied one is told why, and a session that has ended goes on with what was taken back."""
    rules(RULES)
    project.agent = "gemini-cli"
    project.attach()
    heard(project, "BeforeAgent", prompt="Go")

    def call(event: str, command: str) -> dict[str, Any]:
        told = {"tool_name": "run_shell_command", "tool_input": {"command": command}, "cwd": str(project.root)}
        return heard(project, event, **told, tool_response={"llmContent": "Output: (empty)"})

    same, other = "echo x >> same.txt", "echo y > other.txt"
    for command in (same, same, other):
        call("BeforeTool", command)
    for command in (other, same, same):
        subprocess.run(["/bin/sh", "-c", command], cwd=project.root, check=True)
        call("AfterTool", command)
    assert call("BeforeTool", "cat forbidden")["reason"] == "run_shell_command is denied: leave that alone"
    heard(project, "AfterAgent", prompt="Go")
    heard(project, "SessionEnd")

    assert [(call["outcome"], [change["path"] for change in call["changes"]]) for call in project.calls()] == [
        ("ok", ["other.txt"]), ("ok", ["same.txt"]), ("ok", ["same.txt"]), ("denied", []),
    ]  # fmt: skip
    assert "its beginning was not seen" not in "".join(project.wink("show", f"c{at}") for at in (1, 2, 3))
    project.wink("undo", "--turn")
    assert not (project.root / "same.txt").exists()
    project.kill_helper()
    told = heard(project, "BeforeAgent", prompt="On")["hookSpecificOutput"]
    assert "other.txt, same.txt" in told["additionalContext"]
    # Where an event is none, a call is denied; a prompt, which gemini-cli would forget, is not.
    assert [project.raw(event, b"[]").returncode for event in ("BeforeTool", "BeforeAgent")] == [2, 0]


def test_qwen_code_begins_no_turn_before_each_request(project: Project) -> None:
    """A call that a person refused in its dialog is settled by the batch."""
    project.agent = "qwen-code"
    project.attach()
    heard(project, "UserPromptSubmit", prompt="Go", submitted_prompt="Go")
    told = {"tool_name": "run_shell_command", "tool_use_id": "toolu_1", "tool_call_id": "call_1"}
    heard(project, "PreToolUse", **told, tool_input={"command": "true"})
    heard(project, "PostToolBatch", tool_calls=[{"tool_use_id": "call_1", "tool_call_id": "call_1"}])
    heard(project, "UserPromptSubmit", prompt="")
    told = {
        "tool_name": "run_shell_command",
        "tool_use_id": "toolu_2",
        "tool_call_id": "call_2",
        "agent_id": "helper-1",
    }
    heard(project, "PreToolUse", **told, tool_input={"command": "echo x > a.txt"})
    (project.root / "a.txt").write_text("x\n")
    heard(
        project, "PostToolUse", **told, tool_input={"command": "echo x > a.txt"}, tool_response={"llmContent": "done"}
    )

    log = project.wink("log")
    assert "turn 1 of qwen-code: Go\n" in log
    assert "turn 2" not in log
    first, second = project.calls()
    assert (first["id"], first["changes"]) == ("call_1", [])
    assert (second["prompt"], [change["path"] for change in second["changes"]]) == ("qwen-code helper-1", ["a.txt"])


def test_goose_may_not_ask_a_subagent_where_rules_deny(project: Project, rules: Callable[[str], None]) -> None:
    """No event tells of what that does; without rules it is one call, with all that it changes."""
    project.agent = "goose"
    project.attach()
    told = {"tool_name": "delegate", "tool_input": {"instructions": "x"}, "working_dir": str(project.root)}
    assert heard(project, "PreToolUse", **told, tool_call_id="c1") == {}
    (project.root / "a.txt").write_text("x\n")
    heard(project, "PostToolUse", **told, tool_call_id="c1")
    rules(RULES)
    denied = heard(project, "PreToolUse", **told, tool_call_id="c2")
    assert denied["decision"] == "block"
    assert "goose tells wink nothing of what its subagents do" in denied["reason"]
    assert [(call["outcome"], len(call["changes"])) for call in project.calls()] == [("ok", 1), ("denied", 0)]
