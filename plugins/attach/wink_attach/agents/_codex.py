"""Codex: its hooks stand in `.codex/hooks.json`, or in `$CODEX_HOME`, and are skipped until the user trusts each by its hash.

What its events really hold was looked at with 0.169.0. The shell is always `Bash`, an edit is `apply_patch`; a patch typed into the
shell, and a command that outlives its poll, have no after-event. What it is asked to ask about it lets run, so asking is denying.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, cast

from wink.cli import wrong
from wink_attach._agent import Command, Edit, Event, Kind, Meaning, Resumption, Scope, Verdict, mapping, text
from wink_attach._hooks_file import edited
from wink_attach._place import hook_command
from wink_attach.agents._claude_code import meant
from wink_attach.agents._patch import patch, typed_patch

_KINDS: Final[Mapping[str, Kind]] = {
    "SessionStart": "start",
    "UserPromptSubmit": "turn",
    "PreToolUse": "before",
    "PostToolUse": "after",
    "Stop": "idle",
    "Interrupt": "idle",
    "SessionEnd": "end",
}
_TOOLS: Final[Mapping[str, tuple[str, str]]] = {
    "Bash": ("run_command", "process"),
    "apply_patch": ("edit_file", "workspace"),
    "update_plan": ("update_plan", "read"),
    "spawn_agent": ("agent", "read"),
}
_SECONDS: Final = 30
_FLAGS: Final = "/<session-flags>/config.toml"
"""Where Codex says that hooks of its command line stand."""
_OF_HOOKS: Final = re.compile(r"((--config|-c)[ =]?\s*[\"']?(features\.)?|--disable[ =])hooks\b")
"""An option that gives Codex a setting of hooks, as one word or as two."""
_SHORT: Final = 3
"""Seconds that Codex gives the hooks at the end of a session."""


class Codex:
    """Implements `Agent`."""

    name: Final = "codex"
    asks: Final = False

    def event(self, payload: Mapping[str, Any]) -> Event:
        """Read what a hook was given."""
        reply = text(payload.get("tool_response"))
        return Event(
            _KINDS.get(text(payload.get("hook_event_name")), "other"),
            session=text(payload.get("session_id"), 200),
            call_id=text(payload.get("tool_use_id"), 200),
            tool=text(payload.get("tool_name"), 200),
            arguments=mapping(payload.get("tool_input")),
            reply=reply,
            prompt=text(payload.get("prompt")),
            subagent=" ".join(filter(None, (text(payload.get("agent_type"), 100), text(payload.get("agent_id"), 100)))),
            directory=text(payload.get("cwd"), 4096),
            mark=text(payload.get("turn_id"), 200),
        )

    def meaning(self, event: Event) -> Meaning:
        """What a call is to rules; a patch, typed into the shell too, is about the files that it names."""
        found = meant(_TOOLS, event)
        if event.tool == "apply_patch":
            told = patch(event.arguments.get("command"), event.directory)
        elif event.tool == "Bash":
            told = typed_patch(event.arguments.get("command"))
        else:
            told = None
        if told is None:
            return found
        meanings = tuple(told.meanings())
        if event.tool == "apply_patch":
            found, *more = (one._replace(arguments={**event.arguments, **one.arguments}) for one in meanings)
            meanings = tuple(more)
        return found._replace(also=meanings, doubt=told.doubt)

    def answer(self, event: Event, verdict: Verdict, note: str) -> bytes:
        """What the hook prints."""
        told: dict[str, str] = {}
        if event.kind == "before" and verdict.action != "allow":
            reason = {"permissionDecision": "deny", "permissionDecisionReason": verdict.reason}
            told = {"hookEventName": "PreToolUse", **reason}
        elif note and event.kind == "turn":
            told = {"hookEventName": "UserPromptSubmit", "additionalContext": note}
        return json.dumps({"hookSpecificOutput": told}).encode() if told else b""

    def attach(self, scope: Scope, command: Command) -> Edit:
        """The hooks with wink's in them."""
        return edited(_place(scope), self._hooks(scope, command), agent=self.name, root=scope.root)

    def _hooks(self, scope: Scope, command: Command) -> dict[str, Any]:
        hooks: dict[str, Any] = {}
        for event in _KINDS:
            seconds = _SHORT if event in ("SessionEnd", "Interrupt") else 30
            one = {"type": "command", "command": command(self.name, event, scope.root), "timeout": seconds}
            hooks[event] = {"hooks": [one]}
        return hooks

    def detach(self, scope: Scope) -> Edit:
        """The hooks without wink's."""
        return edited(_place(scope), {}, agent=self.name, root=scope.root)

    def once(
        self, scope: Scope, command: Command, place: str, words: Sequence[str]
    ) -> tuple[Sequence[str], Mapping[str, str]]:
        """With hooks among this run's own settings, and these alone trusted there: its home stays the user's."""
        del place
        if not os.path.basename(words[0]).startswith("codex"):
            raise wrong(
                f"{words[0]!r} is not Codex; write `wink attach codex -- codex …`, with the program's own path if need be"
            )
        if any(_OF_HOOKS.match(f"{before} {one}") or _OF_HOOKS.match(one) for before, one in pairwise(words)):
            raise wrong(
                "this command line sets hooks already, and Codex takes one word on them; put wink's in by `wink attach codex`"
            )
        hooks = self._hooks(scope, command)
        given = [f"hooks.{event}=[{_toml(group)}]" for event, group in hooks.items()]
        program = os.path.abspath(words[0]) if os.sep in words[0] else words[0]
        # A project's file of settings may switch all hooks off, and the user's may have done so with these of another run.
        given.append("features.hooks=true")
        began = [program, *(word for one in given for word in ("-c", one))]
        state = {key: {"enabled": True, "trusted_hash": digest} for key, digest in self._skipped(scope, _FLAGS, began)}
        began += ["-c", f"hooks.state={_toml(state)}"]
        if len(state) != len(hooks) or self._skipped(scope, _FLAGS, began):
            raise wrong("Codex does not take hooks for one run here; `wink attach codex` attaches it")
        return (*began, *words[1:]), {}

    def resumed(
        self, scope: Scope, conversation: str, kept: str, gone: str, words: Sequence[str], *, in_place: bool
    ) -> Resumption:
        """In a copy that its app server makes, and that ends with the turn that is kept."""
        del gone
        if in_place:
            raise wrong("Codex goes back in a copy of the conversation only; leave out --in-place")
        with _AppServer(scope, ["codex"]) as server:
            made = server.ask("thread/fork", {"threadId": conversation, "lastTurnId": kept})
        new = text(mapping(made.get("thread")).get("id"), 200)
        first, rest = (["exec"], words[1:]) if words[:1] == ("exec",) else ([], words)
        return Resumption(("codex", *first, "resume", new, *rest))

    def untrusted(self, scope: Scope) -> list[tuple[str, str]]:
        """The hooks of wink's that Codex skips until they are trusted: key and hash of each; raises `WrongInput`."""
        return self._skipped(scope, os.path.realpath(_place(scope)), ["codex"])

    def _skipped(self, scope: Scope, place: str, words: Sequence[str]) -> list[tuple[str, str]]:
        """Those that wink wrote at a place of hooks, and that Codex, begun with these words, would skip."""
        commands = {event[0].lower() + event[1:]: hook_command(self.name, event, scope.root) for event in _KINDS}
        with _AppServer(scope, words) as server:
            # A workspace can bring hooks of its own, in other files too: only what wink itself has written is trusted.
            ours = [
                one
                for one in server.hooks(scope.root or scope.home)
                if os.path.realpath(text(one.get("sourcePath"))) == place
                and one.get("handlerType") == "command"
                and one.get("command", "") == commands.get(text(one.get("eventName")))
            ]
        if not ours:
            raise wrong(f"Codex does not see wink's hooks in {place}; trust the folder in Codex, then attach again")
        return [
            (text(one.get("key")), text(one.get("currentHash"))) for one in ours if one.get("trustStatus") != "trusted"
        ]

    def trust(self, scope: Scope, hooks: Sequence[tuple[str, str]]) -> None:
        """Let Codex run these hooks from now on, as its own dialog does; raises `WrongInput`."""
        with _AppServer(scope, ["codex"]) as server:
            state = {key: {"trusted_hash": digest} for key, digest in hooks}
            edit = {"keyPath": "hooks.state", "value": state, "mergeStrategy": "upsert"}
            server.ask("config/batchWrite", {"edits": [edit]})


class _AppServer:
    """`codex app-server`, which says what Codex makes of hooks, and writes what it trusts."""

    def __init__(self, scope: Scope, words: Sequence[str]) -> None:
        self._number = 0
        try:
            self._process = subprocess.Popen(
                [*words, "app-server"],
                cwd=scope.home,
                env=dict(scope.environ),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        except OSError:
            raise wrong(
                f"{words[0]!r} cannot be started, so its hooks cannot be trusted; start Codex, and trust them there"
            ) from None

    def __enter__(self) -> _AppServer:  # noqa: PYI034  # nobody derives from it
        self.ask("initialize", {"clientInfo": {"name": "wink", "version": "0"}})
        self._send({"method": "initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def hooks(self, directory: str) -> list[Mapping[str, Any]]:
        """What it knows of hooks in a directory."""
        data: Any = self.ask("hooks/list", {"cwds": [directory]}).get("data")
        found: list[Any] = data if isinstance(data, list) else []  # pyright: ignore[reportUnknownVariableType]
        return [mapping(one) for each in found for one in cast("list[Any]", mapping(each).get("hooks") or [])]

    def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """One question and its answer; raises `WrongInput`."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        stream = self._process.stdout
        assert stream is not None
        from threading import Timer

        timer = Timer(_SECONDS, self._process.kill)
        timer.start()
        try:
            for line in stream:
                said = mapping(json.loads(line))
                if said.get("id") == self._number and "error" not in said:
                    return mapping(said.get("result"))
                if said.get("id") == self._number:
                    break
        except ValueError:
            pass
        finally:
            timer.cancel()
        raise wrong(f"Codex did not answer {method}; start it, and trust wink's hooks there")

    def _send(self, message: Mapping[str, Any]) -> None:
        stream = self._process.stdin
        assert stream is not None
        try:
            stream.write(json.dumps(message) + "\n")
            stream.flush()
        except OSError:
            pass  # it has ended, and will not answer either


def _place(scope: Scope) -> str:
    if scope.root is None:
        return os.path.join(scope.environ.get("CODEX_HOME") or f"{scope.home}/.codex", "hooks.json")
    return f"{scope.root}/.codex/hooks.json"


def _toml(value: object) -> str:
    """A value as TOML on one line, whose strings are those of JSON but for DEL."""
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{_toml(key)} = {_toml(one)}" for key, one in cast("dict[str, Any]", value).items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(_toml(one) for one in cast("list[Any]", value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
