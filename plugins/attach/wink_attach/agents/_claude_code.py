"""Claude Code: its hooks stand in `.claude/settings.local.json`, or in the user's own `settings.json`.

What its events really hold was looked at with 2.1.330. After Esc, and for a call that was denied, there is no event at all: what
comes next settles such calls. A `<task-notification>` comes as a prompt, and is none of the user's.
"""

from __future__ import annotations

import glob
import json
import os
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

from wink.cli import wrong
from wink_attach._agent import Command, Edit, Event, Kind, Meaning, Resumption, Scope, Verdict, mapping, text
from wink_attach._hooks_file import edited
from wink_attach._place import write_own

_KINDS: Final[Mapping[str, Kind]] = {
    "SessionStart": "start",
    "UserPromptSubmit": "turn",
    "PreToolUse": "before",
    "PostToolUse": "after",
    "PostToolUseFailure": "after",
    "PostToolBatch": "batch",
    "Stop": "idle",
    "SessionEnd": "end",
}
_OF_TOOLS: Final = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
_TOOLS: Final[Mapping[str, tuple[str, str]]] = {
    "Bash": ("run_command", "process"),
    "Read": ("read_file", "read"),
    "Write": ("write_file", "workspace"),
    "Edit": ("edit_file", "workspace"),
    "NotebookEdit": ("edit_file", "workspace"),
    "Glob": ("glob", "read"),
    "Grep": ("grep", "read"),
    "LS": ("ls", "read"),
    "TodoWrite": ("todowrite", "read"),
    "Agent": ("agent", "read"),
    "Task": ("agent", "read"),
}


_PROGRAM: Final = ("claude",)
_LINE: Final = 1 << 26
"""Bytes of a transcript's line that are read at once."""
_ALONE: Final = "`wink undo --turn` takes the files back alone"


class ClaudeCode:
    """Implements `Agent`."""

    name: Final = "claude-code"
    asks: Final = True

    def event(self, payload: Mapping[str, Any]) -> Event:
        """Read what a hook was given."""
        kind: Kind = _KINDS.get(text(payload.get("hook_event_name")), "other")
        prompt = text(payload.get("prompt"))
        if kind == "turn" and prompt.lstrip().startswith("<task-notification>"):
            kind = "other"
        reply = payload.get("tool_response")
        calls = payload.get("tool_calls")
        return Event(
            kind,
            session=text(payload.get("session_id"), 200),
            call_id=text(payload.get("tool_use_id"), 200),
            tool=text(payload.get("tool_name"), 200),
            arguments=mapping(payload.get("tool_input")),
            reply=_said(reply),
            failure=text(payload.get("error")),
            prompt=prompt,
            subagent=" ".join(filter(None, (text(payload.get("agent_type"), 100), text(payload.get("agent_id"), 100)))),
            calls=tuple(text(mapping(one).get("tool_use_id"), 200) for one in calls[:1000])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            if isinstance(calls, list)
            else (),
            is_moved_on=bool(mapping(reply).get("backgroundTaskId")),
            directory=text(payload.get("cwd"), 4096),
            mark=text(payload.get("prompt_id"), 200),
        )

    def meaning(self, event: Event) -> Meaning:
        """What a call is to rules; a search shows lines only where it is asked for them."""
        found, given = meant(_TOOLS, event), event.arguments
        if event.tool == "Grep" and given.get("output_mode") == "content":
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

    def once(
        self, scope: Scope, command: Command, place: str, words: Sequence[str]
    ) -> tuple[Sequence[str], Mapping[str, str]]:
        """With a file of settings of its own, which Claude Code reads beside the others."""
        if "--settings" in words:
            raise wrong(
                "this command line has --settings already, and Claude Code takes one; put wink's hooks in by `wink attach claude-code`"
            )
        hooks = {event: [group] for event, group in self._hooks(scope, command).items()}
        write_own(f"{place}.json", json.dumps({"hooks": hooks}))
        return (words[0], "--settings", f"{place}.json", *words[1:]), {}

    def resumed(
        self, scope: Scope, conversation: str, kept: str, gone: str, words: Sequence[str], *, in_place: bool
    ) -> Resumption:
        """From the answer before the prompt that goes; it goes back to a message with `-p` only, and not in its screen."""
        del kept
        answer = last_answer(_transcript(scope, conversation), gone)
        command = [*_PROGRAM, "--resume", conversation, "--resume-session-at", answer]
        new = conversation if in_place else str(uuid.uuid4())
        command += [] if in_place else ["--fork-session", "--session-id", new]
        note = f"afterwards `claude --resume {new}` opens it on its screen"
        is_ready = not {"-p", "--print"}.isdisjoint(words)
        if not is_ready:
            words = (*words, "-p", "what to do instead")
            note = f"Claude Code goes back to a message only with -p; {note}"
        return Resumption((*command, *words), note, is_ready)

    def _hooks(self, scope: Scope, command: Command) -> dict[str, Any]:
        hooks: dict[str, Any] = {}
        for event in _KINDS:
            one = {"type": "command", "command": command(self.name, event, scope.root), "timeout": 30}
            hooks[event] = {"matcher": "", "hooks": [one]} if event in _OF_TOOLS else {"hooks": [one]}
        return hooks

    def detach(self, scope: Scope) -> Edit:
        """The settings without wink's hooks."""
        return edited(_place(scope), {}, agent=self.name, root=scope.root)


def meant(tools: Mapping[str, tuple[str, str]], event: Event) -> Meaning:
    """What a call is to rules, by a table of the agent's tools; one that is not in it acts on the outside world."""
    known = tools.get(event.tool)
    if known is None:
        name = "".join(one if one.isascii() and (one.isalnum() or one in "_-") else "_" for one in event.tool.lower())
        return Meaning(name[:64] or "unknown", "external", event.arguments)
    return Meaning(known[0], known[1], event.arguments)  # type: ignore[arg-type]


def _home(scope: Scope) -> str:
    return scope.environ.get("CLAUDE_CONFIG_DIR") or f"{scope.home}/.claude"


def _place(scope: Scope) -> str:
    if scope.root is None:
        return os.path.join(_home(scope), "settings.json")
    return f"{scope.root}/.claude/settings.local.json"


def _transcript(scope: Scope, conversation: str) -> str:
    """Where Claude Code keeps a conversation; raises `WrongInput` where it does not."""
    found = glob.glob(f"{glob.escape(_home(scope))}/projects/*/{glob.escape(conversation)}.jsonl")
    if not found or "/" in conversation:
        raise wrong(f"Claude Code does not keep the conversation {conversation} any more; {_ALONE}")
    return found[0]


def last_answer(transcript: str, gone: str) -> str:
    """The id of the last answer before the prompt with an id, in a transcript, where each line names the one before it.

    Raises `WrongInput` where there is none.
    """
    above = dict[str, tuple[str, bool]]()
    with open(transcript, "rb") as stream:
        while line := stream.readline(_LINE):
            try:
                told = mapping(json.loads(line))
            except ValueError:
                continue
            one, before = text(told.get("uuid"), 100), text(told.get("parentUuid"), 100)
            if told.get("promptId") != gone or told.get("type") != "user":
                above[one] = before, told.get("type") == "assistant" and not told.get("isSidechain")
                continue
            while before in above:
                at, (before, is_answer) = before, above.pop(before)
                if is_answer:
                    return at
            break
    raise wrong(f"there is no answer before that turn in {transcript}; {_ALONE}")


def _said(reply: object) -> str:
    """A tool's reply for people: the output of a command as such, the rest as JSON without what files held before."""
    if isinstance(reply, str):
        return reply[: 1 << 16]
    known = mapping(reply)
    if "stdout" in known:
        return "\n".join(filter(None, (text(known.get("stdout")), text(known.get("stderr")))))
    told = {key: value for key, value in known.items() if key not in ("originalFile", "structuredPatch")}
    return json.dumps(told, ensure_ascii=False)[: 1 << 16] if told else ""
