"""opencode: its plugin `wink.js` stands in `.opencode/plugin`, or beside the user's own settings, and runs the hooks that others run.

What its events really hold was looked at with 1.18.33. A call that throws, or that a person ends, has no after-event: the plugin
tells it from the message that shows it. Subagents have sessions of their own, and are told as of the one that the user sees.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from wink.cli import wrong
from wink_attach._agent import Command, Edit, Event, Kind, Meaning, Resumption, Scope, Verdict, mapping, text
from wink_attach._hooks_file import whole_file
from wink_attach._place import hook_command, write_own
from wink_attach.agents._claude_code import meant
from wink_attach.agents._opencode_server import forked
from wink_attach.agents._patch import patch

_KINDS: Final[Mapping[str, Kind]] = {
    "SessionStart": "start",
    "UserPromptSubmit": "turn",
    "PreToolUse": "before",
    "PostToolUse": "after",
    "Stop": "idle",
    "SessionEnd": "end",
}
_TOOLS: Final[Mapping[str, tuple[str, str]]] = {
    "bash": ("run_command", "process"),
    "read": ("read_file", "read"),
    "write": ("write_file", "workspace"),
    "edit": ("edit_file", "workspace"),
    "apply_patch": ("edit_file", "workspace"),
    "glob": ("glob", "read"),
    "grep": ("grep", "read"),
    "list": ("ls", "read"),
    "todowrite": ("todowrite", "read"),
    "todoread": ("todoread", "read"),
    "question": ("question", "read"),
    "task": ("agent", "read"),
}
_NAMES: Final[Mapping[str, str]] = {"filePath": "file_path", "oldString": "old_string", "newString": "new_string"}
"""Arguments that rules and policies know by another name."""
_CONTENT: Final = "OPENCODE_CONFIG_CONTENT"
_COMMANDS: Final = "const COMMANDS = {}"


class OpenCode:
    """Implements `Agent`."""

    name: Final = "opencode"
    asks: Final = False

    def event(self, payload: Mapping[str, Any]) -> Event:
        """Read what a hook was given."""
        status = payload.get("exit")
        failed = f"exit status {status}" if type(status) is int and status else ""
        return Event(
            _KINDS.get(text(payload.get("hook_event_name")), "other"),
            session=text(payload.get("session_id"), 200),
            call_id=text(payload.get("tool_use_id"), 200),
            tool=text(payload.get("tool_name"), 200),
            arguments={_NAMES.get(key, key): value for key, value in mapping(payload.get("tool_input")).items()},
            reply=text(payload.get("output")),
            failure=text(payload.get("error")) or failed,
            prompt=text(payload.get("prompt")),
            subagent=text(payload.get("agent_id"), 100),
            directory=text(payload.get("cwd"), 4096),
            mark=text(payload.get("turn_id"), 200),
        )

    def meaning(self, event: Event) -> Meaning:
        """What a call is to rules; a patch is about the files that it names, and a search shows lines."""
        found, given = meant(_TOOLS, event), event.arguments
        if event.tool == "grep":
            return found._replace(shows=(text(given.get("path")), text(given.get("include"))))
        if event.tool == "apply_patch":
            told = patch(given.get("patchText"), event.directory)
            first, *more = (one._replace(arguments={**given, **one.arguments}) for one in told.meanings())
            return first._replace(also=tuple(more), doubt=told.doubt)
        return found

    def answer(self, event: Event, verdict: Verdict, note: str) -> bytes:
        """What the plugin is told."""
        if event.kind == "before" and verdict.action != "allow":
            return json.dumps({"deny": verdict.reason}).encode()
        return json.dumps({"note": note}).encode() if note and event.kind == "turn" else b""

    def attach(self, scope: Scope, command: Command) -> Edit:
        """The plugin."""
        return whole_file(_place(scope), _source(scope, command), root=scope.root)

    def detach(self, scope: Scope) -> Edit:
        """No plugin."""
        return whole_file(_place(scope), _source(scope, hook_command), root=scope.root, wanted=False)

    def once(
        self, scope: Scope, command: Command, place: str, words: Sequence[str]
    ) -> tuple[Sequence[str], Mapping[str, str]]:
        """With a variable that opencode reads as settings beside the others."""
        given = scope.environ.get(_CONTENT, "")
        try:
            settings: Any = json.loads(given) if given else {}
            plugins = [*settings.get("plugin", []), f"file://{place}.js"]
        except (ValueError, TypeError, AttributeError):
            raise wrong(f"{_CONTENT} is no JSON object with a list of plugins; unset it, or put one there") from None
        write_own(f"{place}.js", _source(scope, command))
        return words, {_CONTENT: json.dumps({**settings, "plugin": plugins})}

    def resumed(
        self, scope: Scope, conversation: str, kept: str, gone: str, words: Sequence[str], *, in_place: bool
    ) -> Resumption:
        """In a copy that its server makes, of what is before the message that goes.

        Its own way back in place is not taken: it puts back files as well, also those that somebody else has changed since.
        """
        del kept
        if in_place:
            raise wrong("opencode goes back in a copy of the conversation only; leave out --in-place")
        new = forked(scope, conversation, gone)
        first, rest = (["run"], words[1:]) if words[:1] == ("run",) else ([], words)
        return Resumption(("opencode", *first, "--session", new, *rest))


def _source(scope: Scope, command: Command) -> str:
    with open(os.path.join(os.path.dirname(__file__), "_opencode.js"), encoding="utf-8") as stream:
        template = stream.read()
    commands = {event: command(OpenCode.name, event, scope.root) for event in _KINDS}
    return template.replace(_COMMANDS, f"const COMMANDS = {json.dumps(commands, indent=2)}", 1)


def _place(scope: Scope) -> str:
    if scope.root is None:
        settings = scope.environ.get("XDG_CONFIG_HOME") or f"{scope.home}/.config"
        return os.path.join(settings, "opencode/plugin/wink.js")
    return f"{scope.root}/.opencode/plugin/wink.js"
