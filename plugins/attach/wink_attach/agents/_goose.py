"""goose: its hooks are a plugin of its, `.agents/plugins/wink`, in the project or with the user.

What its events really hold was looked at with 1.52.0. They say whether a call has failed, and nothing of what it came to. What a
subagent does, no event tells: where rules deny or ask, it is given no work. It cannot be told anything at a prompt, nor made to ask.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from wink.cli import wrong
from wink_attach._agent import Command, Edit, Event, Kind, Meaning, Scope, Verdict, mapping, text
from wink_attach._hooks_file import whole_file
from wink_attach._place import hook_command
from wink_attach.agents._claude_code import meant

_KINDS: Final[Mapping[str, Kind]] = {
    "SessionStart": "start",
    "UserPromptSubmit": "turn",
    "PreToolUse": "before",
    "PostToolUse": "after",
    "PostToolUseFailure": "after",
    "Stop": "idle",
    "SessionEnd": "end",
}
_TOOLS: Final[Mapping[str, tuple[str, str]]] = {
    "shell": ("run_command", "process"),
    "write": ("write_file", "workspace"),
    "edit": ("edit_file", "workspace"),
    "tree": ("ls", "read"),
    "analyze": ("analyze", "read"),
    "read_image": ("read_file", "read"),
    "load": ("load", "read"),
    "load_skill": ("load_skill", "read"),
    "todo__todo_write": ("todowrite", "read"),
    "delegate": ("agent", "external"),
}
_UNSEEN: Final = (
    "goose tells wink nothing of what its subagents do, so no rule can be asked about it; do the work yourself"
)


class Goose:
    """Implements `Agent`, and `Limited`."""

    name: Final = "goose"
    asks: Final = False
    limits: Final = (
        "it tells nothing of what a call came to: whether it has failed is recorded, and no reply",
        "of what a subagent does nothing is told: it is recorded as one call, and denied where your rules deny or ask",
        "what a rule asks about is denied: it has no dialog for it",
        "it cannot be told what you have taken back: say it in your next prompt",
        "a file may be written that was not read: it reads with the shell",
    )

    def event(self, payload: Mapping[str, Any]) -> Event:
        """Read what a hook was given."""
        name, arguments = text(payload.get("event")), mapping(payload.get("tool_input"))
        return Event(
            _KINDS.get(name, "other"),
            session=text(payload.get("session_id"), 200),
            call_id=text(payload.get("tool_call_id"), 200),
            tool=text(payload.get("tool_name"), 200).removeprefix("developer__"),
            arguments=arguments,
            failure="goose does not say why" if name == "PostToolUseFailure" else "",
            prompt=text(payload.get("message")),
            is_moved_on=arguments.get("async") is True,
            directory=text(payload.get("working_dir"), 4096),
        )

    def meaning(self, event: Event) -> Meaning:
        """What a call is to rules; what a subagent is given to do nobody sees."""
        found = meant(_TOOLS, event)
        return found._replace(unseen=_UNSEEN) if event.tool == "delegate" else found

    def answer(self, event: Event, verdict: Verdict, note: str) -> bytes:
        """What the hook prints; there is no place for a note."""
        del note
        if event.kind == "before" and verdict.action != "allow":
            return json.dumps({"decision": "block", "reason": verdict.reason}).encode()
        return b""

    def attach(self, scope: Scope, command: Command) -> Edit:
        """The plugin."""
        return whole_file(_place(scope), _source(scope, command), root=scope.root)

    def detach(self, scope: Scope) -> Edit:
        """No plugin."""
        return whole_file(_place(scope), _source(scope, hook_command), root=scope.root, wanted=False)

    def once(
        self, scope: Scope, command: Command, place: str, words: Sequence[str]
    ) -> tuple[Sequence[str], Mapping[str, str]]:
        """Not possible: it looks for plugins in the project and in the user's home alone."""
        del scope, command, place, words
        raise wrong(
            "goose takes no hooks for one run; `wink attach goose` attaches it, and `wink detach goose` takes it back"
        )


def _source(scope: Scope, command: Command) -> str:
    hooks = {
        event: [{"hooks": [{"type": "command", "command": command(Goose.name, event, scope.root), "timeout": 30}]}]
        for event in _KINDS
    }
    return json.dumps({"hooks": hooks}, indent=2) + "\n"


def _place(scope: Scope) -> str:
    return f"{scope.home if scope.root is None else scope.root}/.agents/plugins/wink/hooks/hooks.json"
