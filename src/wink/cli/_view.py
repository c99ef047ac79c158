"""Put what happens in a run into lines for a person, or into JSON for a machine."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from wink.adapters import ModelReplied
from wink.filesystem import FileChange
from wink.runtime import PromptRendered, RenderedTools, ToolInvoked

Tone = Literal["plain", "quiet", "title", "good", "bad", "warning", "added", "removed", "place"]

REPLY_LINES: Final = 6
"""How many lines of a reply are shown."""
DIFF_LINES: Final = 60
"""How many lines of one call's diff are shown."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of output, and how it wants to look where there are colours."""

    text: str
    tone: Tone = "plain"


def lines_of(event: object) -> tuple[Line, ...]:
    """What a person is shown of an event; nothing for events that say nothing to a person."""
    if isinstance(event, ModelReplied):
        return tuple(Line(f"model  {text}", "title") for text in event.turn.text.splitlines()[:REPLY_LINES])
    if isinstance(event, ToolInvoked):
        return tuple(_call_lines(event))
    return ()


def diff_lines(changes: Iterable[FileChange], *, indent: str = "", limit: int | None = None) -> tuple[Line, ...]:
    """A unified diff, cut after `limit` lines with a word about the rest."""
    lines = [Line(indent + text, _tone_of_diff(text)) for change in changes for text in change.diff().splitlines()]
    if limit is not None and len(lines) > limit:
        rest = len(lines) - limit
        lines = [*lines[:limit], Line(f"{indent}… {rest} more lines", "quiet")]
    return tuple(lines)


def json_of(event: object) -> str | None:
    """One line of JSON for an event; None for events that machines are not told of."""
    row = _row(event)
    return None if row is None else json.dumps(row, ensure_ascii=False, default=str)


def ending(event: ToolInvoked) -> tuple[str, Tone]:
    """In a word, how a call ended."""
    if event.success:
        return "ok", "good"
    if any(not verdict.allowed for verdict in event.decisions):
        return "denied", "warning"
    if event.change:
        return "rolled back", "bad"
    return "failed", "bad"


def _call_lines(event: ToolInvoked) -> Iterable[Line]:
    word, tone = ending(event)
    yield Line(f"{word:<11}  {event.name}{_arguments(event.params)}  {_milliseconds(event):.1f} ms", tone)
    shown = event.rendered_output.splitlines()
    for text in shown[:REPLY_LINES]:
        yield Line(f"  | {text}", "quiet" if event.success else tone)
    if len(shown) > REPLY_LINES:
        yield Line(f"  | … {len(shown) - REPLY_LINES} more lines", "quiet")
    if not event.change:
        return
    if event.change.rolled_back:
        yield Line(f"  undone in {_files(event.change.files)}; this is what did not stay:", "warning")
    yield from diff_lines(event.change.files, indent="    ", limit=DIFF_LINES)


def _arguments(params: Any) -> str:
    """The arguments in brief: names and short values."""
    if params is None:
        return ""
    from dataclasses import fields

    shown: list[str] = []
    for part in fields(params):
        value = getattr(params, part.name)
        if value == part.default:
            continue
        text = json.dumps(value, ensure_ascii=False, default=str)
        shown.append(f"{part.name}={text if len(text) <= 48 else text[:45] + '…'}")
    return "  " + " ".join(shown) if shown else ""


def _row(event: object) -> dict[str, Any] | None:
    if isinstance(event, PromptRendered):
        return {"event": "prompt", "prompt": event.prompt_name, "text": event.text, "at": event.at.isoformat()}
    if isinstance(event, RenderedTools):
        return {"event": "tools", "prompt": event.prompt_name, "names": list(event.names)}
    if isinstance(event, ModelReplied):
        calls = [{"id": call.call_id, "tool": call.name, "arguments": call.arguments} for call in event.turn.calls]
        return {"event": "model", "text": event.turn.text, "calls": calls, "at": event.at.isoformat()}
    if isinstance(event, ToolInvoked):
        return {
            "event": "call",
            "id": event.call_id,
            "tool": event.name,
            "success": event.success,
            "outcome": ending(event)[0],
            "reply": event.rendered_output,
            "error": event.error,
            "decisions": [verdict._asdict() for verdict in event.decisions],
            "changes": [
                {"path": change.path, "kind": change.kind, "diff": change.diff()} for change in event.change.files
            ],
            "rolled_back": bool(event.change) and event.change.rolled_back,
            "started_at": event.started_at.isoformat(),
            "milliseconds": round(_milliseconds(event), 3),
        }
    return None


def _milliseconds(event: ToolInvoked) -> float:
    return event.duration.total_seconds() * 1000


def _files(changes: Sequence[FileChange]) -> str:
    names = ", ".join(change.path for change in changes[:5])
    return names if len(changes) <= 5 else f"{names} and {len(changes) - 5} more"


def _tone_of_diff(text: str) -> Tone:
    if text.startswith(("+++", "---")):
        return "quiet"
    if text.startswith("@@"):
        return "place"
    if text.startswith("+"):
        return "added"
    return "removed" if text.startswith("-") else "plain"
