"""qwen-code: its hooks stand in `.qwen/settings.json`, of the project or of the user.

What its events really hold was looked at with 0.24.4. It begins a turn before each request to the model: only one with what a
person has submitted is theirs. A batch knows calls by the model's ids. Subagents run in the background, also past the end of a turn.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from wink.cli import wrong
from wink_attach._agent import Command, Edit, Event, Kind, Meaning, Scope, Verdict, mapping, text
from wink_attach._hooks_file import edited, parsed, read_settings
from wink_attach._place import write_own
from wink_attach.agents._claude_code import meant
from wink_attach.agents._gemini_cli import exit_status, said

_KINDS: Final[Mapping[str, Kind]] = {
    "SessionStart": "start",
    "UserPromptSubmit": "turn",
    "PreToolUse": "before",
    "PostToolUse": "after",
    "PostToolUseFailure": "after",
    "PostToolBatch": "batch",
    "SubagentStop": "idle",
    "Stop": "idle",
    "SessionEnd": "end",
}
_TOOLS: Final[Mapping[str, tuple[str, str]]] = {
    "run_shell_command": ("run_command", "process"),
    "read_file": ("read_file", "read"),
    "write_file": ("write_file", "workspace"),
    "edit": ("edit_file", "workspace"),
    "notebook_edit": ("edit_file", "workspace"),
    "glob": ("glob", "read"),
    "grep_search": ("grep", "read"),
    "list_directory": ("ls", "read"),
    "todo_write": ("todowrite", "read"),
    "tool_search": ("tool_search", "read"),
    "skill": ("skill", "read"),
    "agent": ("agent", "read"),
}
_SHELL: Final = "run_shell_command"
_SYSTEM: Final = "QWEN_CODE_SYSTEM_SETTINGS_PATH"
_SYSTEMS: Final = "/etc/qwen-code/settings.json"


class QwenCode:
    """Implements `Agent`."""

    name: Final = "qwen-code"
    asks: Final = True

    def event(self, payload: Mapping[str, Any]) -> Event:
        """Read what a hook was given."""
        kind: Kind = _KINDS.get(text(payload.get("hook_event_name")), "other")
        prompt = text(payload.get("submitted_prompt"))
        if kind == "turn" and (not prompt or prompt.lstrip().startswith("<task-notification>")):
            kind = "other"
        tool, arguments = text(payload.get("tool_name"), 200), mapping(payload.get("tool_input"))
        error, directory = text(payload.get("error")), text(payload.get("cwd"), 4096)
        if tool == _SHELL:
            directory = os.path.join(directory, text(arguments.get("directory"), 4096))
        calls = payload.get("tool_calls")
        return Event(
            kind,
            session=text(payload.get("session_id"), 200),
            call_id=_id(payload),
            tool=tool,
            arguments=arguments,
            reply=(error if tool == _SHELL else "") or said(mapping(payload.get("tool_response")).get("llmContent")),
            failure=(exit_status(error) or error) if tool == _SHELL else error,
            prompt=prompt,
            subagent=text(payload.get("agent_id"), 100),
            calls=tuple(_id(mapping(one)) for one in calls[:1000])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            if isinstance(calls, list)
            else (),
            is_moved_on=tool == _SHELL and arguments.get("is_background") is True,
            directory=directory,
        )

    def meaning(self, event: Event) -> Meaning:
        """What a call is to rules; a search shows lines."""
        found, given = meant(_TOOLS, event), event.arguments
        if event.tool == "grep_search":
            return found._replace(shows=(text(given.get("path")), text(given.get("glob"))))
        return found

    def answer(self, event: Event, verdict: Verdict, note: str) -> bytes:
        """What the hook prints."""
        told: dict[str, str] = {}
        if event.kind == "before" and verdict.action != "allow":
            told = {
                "hookEventName": "PreToolUse",
                "permissionDecision": verdict.action,
                "permissionDecisionReason": verdict.reason,
            }
        elif note and event.kind == "turn":
            told = {"hookEventName": "UserPromptSubmit", "additionalContext": note}
        return json.dumps({"hookSpecificOutput": told}).encode() if told else b""

    def attach(self, scope: Scope, command: Command) -> Edit:
        """The settings with wink's hooks in them."""
        return edited(_place(scope), self._hooks(scope, command), agent=self.name, root=scope.root)

    def detach(self, scope: Scope) -> Edit:
        """The settings without wink's hooks."""
        return edited(_place(scope), {}, agent=self.name, root=scope.root)

    def once(
        self, scope: Scope, command: Command, place: str, words: Sequence[str]
    ) -> tuple[Sequence[str], Mapping[str, str]]:
        """With settings of this run in the place of the machine's, which are in them too."""
        given = scope.environ.get(_SYSTEM) or _SYSTEMS
        settings = parsed(given, read_settings(given))
        hooks: Any = settings.get("hooks", {})
        if not isinstance(hooks, dict):
            raise wrong(f"{given}: hooks are not as the agent wants them; fix them first")
        known: dict[str, Any] = {**hooks}
        for event, group in self._hooks(scope, command).items():
            before: Any = known.get(event, [])
            if not isinstance(before, list):
                raise wrong(f"{given}: hooks are not as the agent wants them; fix them first")
            known[event] = [*before, group]
        write_own(f"{place}.json", json.dumps({**settings, "hooks": known}))
        return words, {_SYSTEM: f"{place}.json"}

    def _hooks(self, scope: Scope, command: Command) -> dict[str, Any]:
        return {
            event: {
                "hooks": [
                    {
                        "type": "command",
                        "name": "wink",
                        "command": command(self.name, event, scope.root),
                        "timeout": 30,
                    }
                ]
            }
            for event in _KINDS
        }


def _id(told: Mapping[str, Any]) -> str:
    """By what a call is known to the model, and in batches."""
    return text(told.get("tool_call_id"), 200) or text(told.get("tool_use_id"), 200)


def _place(scope: Scope) -> str:
    return f"{scope.home if scope.root is None else scope.root}/.qwen/settings.json"
