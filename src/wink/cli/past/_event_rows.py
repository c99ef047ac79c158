"""Put what happened on a workspace into rows for machines, by the schema that `wink events --schema` prints."""

from __future__ import annotations

import os
from typing import Any, Final

from wink.cli._calls import json_of_call, json_of_change
from wink.filesystem import path_in_json
from wink.record import CallView, Noted, Place

VERSION: Final = 1
"""The version of the schema. Keys and kinds of events may be added to it; none changes its meaning, and none goes."""

SCHEMA: Final = os.path.join(os.path.dirname(__file__), "event-stream.schema.json")
"""The schema, as a JSON Schema."""


def row_of(place: Place, one: CallView | Noted) -> dict[str, Any]:
    """One line of the stream."""
    return _call(place, one) if isinstance(one, CallView) else _noted(place, one)


def _call(place: Place, call: CallView) -> dict[str, Any]:
    return {
        "v": VERSION,
        "place": str(place),
        "event": "call",
        "at": (call.started_at + call.duration).isoformat(),
        "run": call.run or None,
        **json_of_call(call),
        "effects": call.effects,
        "changes": [
            json_of_change(change, moved_from=change.moved_from and path_in_json(change.moved_from))
            for change in call.changes
        ],
        "reply": call.rendered,
        "error": call.error,
        "approval": f"a{call.approval}" if call.approval else None,
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
