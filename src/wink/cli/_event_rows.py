"""Put what happened on a workspace into rows for machines, by the schema that `wink events --schema` prints."""

from __future__ import annotations

import os
from typing import Any, Final

from wink.cli._calls import arguments_of, plugin_of
from wink.record import CallRow, Noted, Place

VERSION: Final = 1
"""The version of the schema. Keys and kinds of events may be added to it; none changes its meaning, and none goes."""

SCHEMA: Final = os.path.join(os.path.dirname(__file__), "event-stream.schema.json")
"""The schema, as a JSON Schema."""


def row_of(place: Place, one: CallRow | Noted) -> dict[str, Any]:
    """One line of the stream."""
    return _call(place, one) if isinstance(one, CallRow) else _noted(place, one)


def _call(place: Place, call: CallRow) -> dict[str, Any]:
    outcome = call.outcome
    if outcome == "committed":
        outcome = "ok" if call.committed else "rolled back"
    return {
        "v": VERSION,
        "place": str(place),
        "event": "call",
        "at": (call.started_at + call.duration).isoformat(),
        "session": call.session,
        "run": call.run or None,
        "call": f"c{call.position}",
        "id": call.call_id,
        "tool": call.tool,
        "plugin": plugin_of(call),
        "prompt": call.prompt,
        "effects": call.effects,
        "outcome": outcome,
        "arguments": arguments_of(call),
        "decisions": [
            {"policy": name, "allowed": allowed, "reason": why, "asks": asks}
            for name, allowed, why, asks in call.decisions
        ],
        "changes": [
            {"path": change.path, "kind": change.kind, "moved_from": change.moved_from} for change in call.changes
        ],
        "reply": call.rendered,
        "error": call.error,
        "approval": f"a{call.approval}" if call.approval else None,
        "started_at": call.started_at.isoformat(),
        "milliseconds": round(call.duration.total_seconds() * 1000, 3),
    }


def _noted(place: Place, noted: Noted) -> dict[str, Any]:
    return {
        "v": VERSION,
        "place": str(place),
        "event": noted.kind,
        "at": noted.at.isoformat(),
        "session": noted.session or None,
        "run": f"r{noted.run}" if noted.run else noted.data.get("run"),
        **{key: value for key, value in noted.data.items() if key != "run"},
    }
