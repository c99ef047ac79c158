"""What a hook answers where no helper can be reached, and who it believes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest
from plugins.attach.tests.conftest import Project

DENYING = '[[rules]]\naction = "deny"\ntools = "run_command"\nreason = "no"\n'
CALL = json.dumps(
    {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Read", "tool_input": {}, "tool_use_id": "t"}
).encode()


def unreachable(project: Project) -> None:
    """Let the sockets lie where somebody else could have put one."""
    run = project.home / ".local/state/wink/attach/run"
    client = run.parent / "client.py"
    planted = project.home / "planted"
    planted.mkdir()
    planted.chmod(0o777)
    client.write_text(client.read_text().replace(repr(os.readlink(run)), repr(str(planted))))


@pytest.mark.parametrize("denies", [False, True])
def test_without_a_helper_a_call_is_denied_only_where_rules_deny(
    project: Project, rules: Callable[[str], None], denies: bool
) -> None:
    """A call that nobody judged is no call, where somebody wanted it judged; the agent goes on otherwise."""
    rules(DENYING if denies else "")
    project.wink("attach", "claude-code")
    unreachable(project)

    before, after = project.raw("PreToolUse", CALL), project.raw("PostToolUse", CALL)

    assert (after.returncode, after.stdout) == (0, b"")
    assert before.returncode == (2 if denies else 0)
    assert before.stdout == b""
    assert (b"is not a directory of yours alone" in before.stderr) == denies


def test_the_client_imports_nothing_but_what_is_built_in(project: Project) -> None:
    """With site and the rest it would take three times as long, and could be given other modules."""
    project.wink("attach", "claude-code")
    words = project.command("PreToolUse").split()

    assert words[1:3] == ["-I", "-S"]
    assert os.path.isabs(words[0])
    assert words[3].startswith(str(project.home))
