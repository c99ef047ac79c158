"""Read a script of model turns: a TOML file that a person can write by hand.

    [[turn]]
    text = "I look at the file first."

    [[turn.call]]
    tool = "read_file"
    arguments = { file_path = "src/app.py" }
    expect = { success = true, contains = "def main" }

A `task` may stand above the first turn. `arguments` is a table, or a string that is sent as it stands (a model can send bad JSON too). `expect` is optional:
`success` (true or false), `contains` and `lacks` (a text or a list of texts that the reply has, or has not), `equals`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from wink.adapters._conversation import ModelTurn
from wink.dataclass import dataclass
from wink.errors import ScriptError
from wink.runtime import ToolCall, ToolReply


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a script expects of the reply to one call."""

    success: bool | None = None
    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    equals: str | None = None

    def problem(self, reply: ToolReply) -> str | None:
        """How `reply` differs from what is expected."""
        if self.success is not None and reply.success is not self.success:
            return f"expected {_ending(self.success)}, but the call {_ended(reply.success)}: {reply.text}"
        for text in self.contains:
            if text not in reply.text:
                return f"expected a reply with {text!r} in it, but got: {reply.text}"
        for text in self.lacks:
            if text in reply.text:
                return f"expected a reply without {text!r}, but got: {reply.text}"
        if self.equals is not None and reply.text != self.equals:
            return f"expected the reply {self.equals!r}, but got: {reply.text}"
        return None


@dataclass(frozen=True, slots=True)
class ScriptedTurn:
    """A turn and what is expected of the reply to each of its calls."""

    turn: ModelTurn
    expectations: tuple[Expectation, ...]


@dataclass(frozen=True, slots=True)
class Script:
    """The turns of a scripted model; `name` says where they come from, `task` what they are the answer to."""

    name: str
    turns: tuple[ScriptedTurn, ...]
    task: str = ""


def parse_script(text: str, *, name: str = "script") -> Script:
    """Read a script's text; raises `ScriptError` that says which turn and call is wrong, and how.

    >>> script = parse_script('''
    ... [[turn]]
    ... text = "Looking."
    ... call = [{ tool = "ls", arguments = { path = "." } }]
    ... ''')
    >>> script.turns[0].turn.calls[0].name
    'ls'
    """
    import tomllib

    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScriptError(name, f"not valid TOML: {error}") from error
    _only(table, {"task", "turn"}, name)
    task = _text(table, "task", name)
    turns = _tables(table, "turn", name)
    if not turns:
        raise ScriptError(name, "has no turns; begin one with [[turn]]")
    script = Script(name, tuple(_turn(turn, f"{name}, turn {number}") for number, turn in enumerate(turns, 1)), task)
    for number, turn in enumerate(script.turns[:-1], 1):
        if not turn.turn.calls:
            raise ScriptError(
                f"{name}, turn {number}",
                "calls no tool, so the run would end here; give it a [[turn.call]], or move it to the end",
            )
    return script


def _turn(table: Mapping[str, Any], where: str) -> ScriptedTurn:
    _only(table, {"text", "call"}, where)
    text = _text(table, "text", where)
    calls: list[ToolCall] = []
    expectations: list[Expectation] = []
    for number, call in enumerate(_tables(table, "call", where), 1):
        here = f"{where}, call {number}"
        _only(call, {"tool", "arguments", "expect"}, here)
        tool = _text(call, "tool", here)
        if not tool:
            raise ScriptError(here, 'needs the name of a tool: tool = "…"')
        calls.append(ToolCall(tool, _arguments(call.get("arguments", {}), here)))
        expectations.append(_expectation(call.get("expect", {}), here))
    if not calls and not text:
        raise ScriptError(where, "says nothing; give it a text or a [[turn.call]]")
    return ScriptedTurn(ModelTurn(text, tuple(calls)), tuple(expectations))


def _arguments(value: object, where: str) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        raise ScriptError(where, "arguments must be a table, or a string with JSON")
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ScriptError(where, f"arguments that JSON cannot express: {error}") from error


def _expectation(value: object, where: str) -> Expectation:
    if not isinstance(value, dict):
        raise ScriptError(where, "expect must be a table")
    table = cast("dict[str, Any]", value)
    _only(table, {"success", "contains", "lacks", "equals"}, f"{where}, expect")
    success = table.get("success")
    if success is not None and not isinstance(success, bool):
        raise ScriptError(where, "expect.success must be true or false")
    equals = table.get("equals")
    if equals is not None and not isinstance(equals, str):
        raise ScriptError(where, "expect.equals must be a string")
    return Expectation(success, _texts(table, "contains", where), _texts(table, "lacks", where), equals)


def _texts(table: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    value = table.get(key, [])
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in cast("list[object]", texts)):
        raise ScriptError(where, f"expect.{key} must be a string or a list of strings")
    return tuple(cast("list[str]", texts))


def _text(table: Mapping[str, Any], key: str, where: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise ScriptError(where, f"{key} must be a string")
    return value.strip()


def _tables(table: Mapping[str, Any], key: str, where: str) -> list[dict[str, Any]]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in cast("list[object]", value)):
        raise ScriptError(where, f"{key} must be a list of tables; write [[{'turn.' if key == 'call' else ''}{key}]]")
    return cast("list[dict[str, Any]]", value)


def _only(table: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(table.keys() - known)
    if unknown:
        raise ScriptError(where, f"does not know {', '.join(map(repr, unknown))}; it takes {', '.join(sorted(known))}")


def _ending(success: bool) -> str:
    return "success" if success else "a failure"


def _ended(success: bool) -> str:
    return "succeeded" if success else "failed"
