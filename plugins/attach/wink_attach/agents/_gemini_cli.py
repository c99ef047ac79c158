"""gemini-cli: its hooks stand in `.gemini/settings.json`, of the project or of the user.

What its events really hold was looked at with 0.61.0. Calls have no ids: what comes before and after one is matched by tool and
arguments. A subagent's calls look like the agent's own. What it is asked to ask about it lets wait for ever where nobody looks, so
asking is denying. With `--skip-trust` a project's hooks are skipped, without a word.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from wink.cli import wrong
from wink_attach._agent import Command, Edit, Event, Kind, Meaning, Scope, Verdict, mapping, text
from wink_attach._hooks_file import edited
from wink_attach.agents._claude_code import meant

_KINDS: Final[Mapping[str, Kind]] = {
    "SessionStart": "start",
    "BeforeAgent": "turn",
    "BeforeTool": "before",
    "AfterTool": "after",
    "AfterAgent": "idle",
    "SessionEnd": "end",
}
_TOOLS: Final[Mapping[str, tuple[str, str]]] = {
    "run_shell_command": ("run_command", "process"),
    "read_file": ("read_file", "read"),
    "read_many_files": ("read_files", "read"),
    "write_file": ("write_file", "workspace"),
    "replace": ("edit_file", "workspace"),
    "glob": ("glob", "read"),
    "grep_search": ("grep", "read"),
    "list_directory": ("ls", "read"),
    "list_background_processes": ("list_background_processes", "read"),
    "read_background_output": ("read_background_output", "read"),
    "write_todos": ("todowrite", "read"),
    "update_topic": ("update_topic", "read"),
    "activate_skill": ("activate_skill", "read"),
    "invoke_agent": ("agent", "read"),
}
_SHELL: Final = "run_shell_command"
_MILLISECONDS: Final = 30_000
_STATUS: Final = re.compile(r"^Exit Code: (-?[1-9]\d*)$", re.MULTILINE)
_WRAPPED: Final = re.compile(r"<untrusted_context>\n(.*)\n</untrusted_context>", re.DOTALL)


class GeminiCli:
    """Implements `Agent`, and `Limited`."""

    name: Final = "gemini-cli"
    asks: Final = False
    limits: Final = (
        "in an editor (--acp) its tools run no hooks: no call is judged, and what they change is recorded as between",
        "with --skip-trust, and in a folder that is not trusted, hooks of a project are skipped, without a word",
        "what a rule asks about is denied: it has no dialog for it that works",
        "a subagent's calls are recorded as its own",
        "its calls have no ids: attached for a project and for all projects at once, each is recorded twice there",
    )

    def event(self, payload: Mapping[str, Any]) -> Event:
        """Read what a hook was given."""
        tool, arguments = text(payload.get("tool_name"), 200), mapping(payload.get("tool_input"))
        response = mapping(payload.get("tool_response"))
        reply, directory = said(response.get("llmContent")), text(payload.get("cwd"), 4096)
        failure = text(mapping(response.get("error")).get("message"))
        if tool == _SHELL:
            reply = _WRAPPED.sub(r"\1", reply)
            failure = failure or exit_status(reply)
            directory = os.path.join(directory, text(arguments.get("dir_path"), 4096))
        return Event(
            _KINDS.get(text(payload.get("hook_event_name")), "other"),
            session=text(payload.get("session_id"), 200),
            tool=tool,
            arguments=_with_range(arguments) if tool == "read_file" else arguments,
            reply=reply,
            failure=failure,
            prompt=text(payload.get("prompt")),
            is_moved_on=tool == _SHELL and arguments.get("is_background") is True,
            directory=directory,
        )

    def meaning(self, event: Event) -> Meaning:
        """What a call is to rules; a search shows lines unless it is for names alone."""
        found, given = meant(_TOOLS, event), event.arguments
        if event.tool == "grep_search" and given.get("names_only") is not True:
            return found._replace(shows=(text(given.get("dir_path")), text(given.get("include_pattern"))))
        return found

    def answer(self, event: Event, verdict: Verdict, note: str) -> bytes:
        """What the hook prints."""
        if event.kind == "before" and verdict.action != "allow":
            return json.dumps({"decision": "deny", "reason": verdict.reason}).encode()
        if note and event.kind == "turn":
            told = {"hookEventName": "BeforeAgent", "additionalContext": note}
            return json.dumps({"hookSpecificOutput": told}).encode()
        return b""

    def attach(self, scope: Scope, command: Command) -> Edit:
        """The settings with wink's hooks in them."""
        hooks = {
            event: {
                "hooks": [
                    {
                        "type": "command",
                        "name": "wink",
                        "command": command(self.name, event, scope.root),
                        "timeout": _MILLISECONDS,
                    }
                ]
            }
            for event in _KINDS
        }
        return edited(_place(scope), hooks, agent=self.name, root=scope.root)

    def detach(self, scope: Scope) -> Edit:
        """The settings without wink's hooks."""
        return edited(_place(scope), {}, agent=self.name, root=scope.root)

    def once(
        self, scope: Scope, command: Command, place: str, words: Sequence[str]
    ) -> tuple[Sequence[str], Mapping[str, str]]:
        """Not possible: the settings that it can be pointed to it reads only where they are root's."""
        del scope, command, place, words
        raise wrong(
            "gemini-cli takes no hooks for one run; `wink attach gemini-cli` attaches it, and `wink detach gemini-cli` takes it back"
        )


def said(content: object) -> str:
    """What a tool has told the model, as text: parts one below the other."""
    if isinstance(content, list):
        parts = [text(mapping(one).get("text")) for one in content[:100]]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        return "\n".join(filter(None, parts))[: 1 << 16]
    return text(content)


def exit_status(reply: str) -> str:
    """What became of a command that has failed, by its reply; the last such line is the agent's own."""
    found = _STATUS.findall(reply)
    return f"exit status {found[-1]}" if found else ""


def _with_range(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The lines that are read, in the words of `read_file`: from which on, and how many."""
    first, last = arguments.get("start_line"), arguments.get("end_line")
    told = dict(arguments)
    if isinstance(first, int):
        told["offset"] = first
    if isinstance(last, int):
        told["limit"] = max(last - (first if isinstance(first, int) else 1) + 1, 0)
    return told


def _place(scope: Scope) -> str:
    return f"{scope.home if scope.root is None else scope.root}/.gemini/settings.json"
