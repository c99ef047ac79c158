"""What is said of an evaluation, as bounded JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from wink_asteval._worker._output import bounded, printable

REPR: Final = "!repr:"
DEEPEST: Final = 50
LARGEST: Final = 2**63


class Answer:
    """Filled while a script is evaluated."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.value: str | None = None
        self.stdout = ""
        self.globals: dict[str, Any] = {}
        self.writes: list[tuple[str, str, str]] = []
        self.error: str | None = None
        self.kind: str | None = None

    def fail(self, error: BaseException, story: str) -> None:
        """Let the script have failed: nothing that it made counts."""
        self.value, self.globals, self.writes = None, {}, []
        self.kind = type(error).__name__
        self.error = printable(bounded(story, self._limit))

    def unconfined(self, reason: str) -> None:
        """Let the script not have been run, because the process could not be confined."""
        self.kind, self.error = "", reason

    def text(self) -> bytes:
        """The answer in ASCII: a lone surrogate in what a script writes gets as far as the filesystem, which refuses it."""
        fields = ("value", "stdout", "globals", "writes", "error", "kind")
        return json.dumps({name: getattr(self, name) for name in fields}).encode("ascii")


def global_values(names: Mapping[str, Any], limit: int) -> dict[str, Any]:
    """The names that a script defined, each as JSON where its value is JSON, otherwise `!repr:` and its repr.

    Functions, classes and modules are left out, and so is what the limit has no room for.
    """
    from wink_asteval._worker._toolbox import Module

    room, found = limit, dict[str, Any]()
    for name, value in names.items():
        if not name.isidentifier() or name == "reads" or callable(value) or isinstance(value, Module):
            continue
        shown, size = _shown(value, room)
        room -= size + len(name)
        if room < 0:
            break
        found[name] = shown
    return found


def _shown(value: Any, room: int) -> tuple[Any, int]:
    if is_json(value, [room]):
        size = len(json.dumps(value))
        if size <= room:
            return value, size
    text = f"{REPR}{printable(bounded(_brief(value), 200))}"
    return text, len(text)


def _brief(value: Any) -> str:
    """A repr that takes no time for what is large."""
    if isinstance(value, (str, bytes, bytearray)):
        return repr(value[:200])
    size = len(value) if hasattr(value, "__len__") else 0
    return repr(value) if size <= 200 else f"<{type(value).__name__} of {size} items>"


def is_json(value: Any, room: list[int], depth: int = 0) -> bool:
    """Whether JSON holds the value as it is, for every reader: no NaN, no integer beyond 64 bits, only texts as keys.

    Lists and dicts of more than `room[0]` values in all are not looked at to the end.
    """
    room[0] -= 1
    if room[0] < 0 or depth > DEEPEST:
        return False
    if value is None or isinstance(value, bool):
        return True
    if type(value) is int:
        return -LARGEST <= value < LARGEST
    if type(value) is float:
        return value - value == 0
    if type(value) is str:
        return len(value) <= room[0] and not any("\ud800" <= character <= "\udfff" for character in value)
    kind = value.__class__
    if kind is dict:
        return all(type(key) is str and is_json(key, room) for key in value) and is_json(
            list(value.values()), room, depth
        )
    return kind is list and all(is_json(one, room, depth + 1) for one in value)
