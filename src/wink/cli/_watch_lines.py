"""Put what happens on a workspace into lines for a person who watches."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any, Final, cast

from wink.cli._calls import arguments_of, when
from wink.cli._masked import masked
from wink.cli._shorten import arguments, fit
from wink.cli._view import Line, Tone
from wink.limits import utc_now
from wink.record import CallRow, Noted, Record, is_locked

_WIDE: Final = 100
_SIGNS: Final = {"created": "+", "modified": "~", "deleted": "-"}
_TONES: Final[dict[str, Tone]] = {"ok": "good", "rolled back": "warning", "denied": "bad", "unknown": "bad"}


def line_of(record: Record, one: CallRow | Noted) -> Line:
    """One thing that happened."""
    if isinstance(one, CallRow):
        return _call(one)
    tell = _TELL.get(one.kind, _other)
    label, text, tone = tell(record, one)
    return Line(fit(masked(text), _WIDE), tone, label, "title", when(one.at, utc_now()))


def pending_lines(record: Record, session: str | None) -> dict[str, Line]:
    """What goes on, or waits for a person, at this moment: runs, approvals and tries, each by a key of its own."""
    state = os.path.dirname(record.path)
    found: dict[str, Line] = {}
    for row in record.runs.rows():
        if row.state == "running" and row.is_ours and session in (None, row.session) and is_locked(state, row.number):
            task = str(json.loads(row.plan).get("task", ""))
            found[f"r{row.number}.{row.attempt}"] = Line(fit(f"is running: {task}", _WIDE), "quiet", f"r{row.number}")
    for asked in record.approvals.rows(session=session, states=("pending",)):
        text = f"waits for `wink approve a{asked.number}`: {asked.tool} {_given(masked(asked.arguments))}"
        found[f"a{asked.number}"] = Line(fit(text, _WIDE), "warning", f"a{asked.number}")
    if session is None:
        for name in _tries(state):
            text = f"what was tried as {name!r} waits for `wink accept {name}` or `wink drop {name}`"
            found[f"try {name}"] = Line(fit(text, _WIDE), "warning", "try")
    return found


def _tries(state: str) -> list[str]:
    try:
        with os.scandir(os.path.join(state, "tries")) as entries:
            return sorted(entry.name for entry in entries if os.path.isdir(os.path.join(entry.path, "upper")))
    except OSError:
        return []


def _call(call: CallRow) -> Line:
    outcome = call.outcome
    if outcome == "committed":
        outcome = "ok" if call.committed else "rolled back"
    why = next((reason for _, allowed, reason, _ in call.decisions if not allowed and reason), "")
    if not why and outcome not in ("ok", "denied"):
        why = call.error or call.rendered
    text = f"{outcome:<11} {call.tool} {_given(call)}".rstrip()
    changed = " ".join(f"{_SIGNS[change.kind]}{change.path}" for change in call.changes[:3])
    more = len(call.changes) - 3
    aside = " · ".join(
        part
        for part in (
            f"[{changed}{f' and {more} more' if more > 0 else ''}]" if changed else "",
            fit(why, _WIDE),
            "" if call.session == "default" else call.session,
            call.run,
            f"{call.duration.total_seconds() * 1000:.0f} ms",
            when(call.started_at, utc_now()),
        )
        if part
    )
    return Line(fit(text, _WIDE), _TONES.get(outcome, "warning"), f"c{call.position}", "title", fit(aside, 2 * _WIDE))


def _given(of: CallRow | str) -> str:
    if isinstance(of, CallRow):
        given: Any = arguments_of(of)
    else:
        try:
            given = json.loads(of)
        except ValueError:
            given = of
    return arguments(cast("object", given), 60) if isinstance(given, dict) else fit(str(given), 60)


Told = tuple[str, str, Tone]


def _begun(record: Record, one: Noted) -> Told:
    row = record.runs.find(one.run)
    task = "" if row is None else str(json.loads(row.plan).get("task", ""))
    return f"r{one.run}", f"{'begins' if one.kind == 'run-begun' else 'goes on'}: {task}".rstrip(": "), "plain"


def _turn(record: Record, one: Noted) -> Told:
    del record
    used = f"{one.data.get('input_tokens', 0)} tokens in, {one.data.get('output_tokens', 0)} out"
    return f"r{one.run}", f"turn {one.data.get('turn', '')} of the model, {used}", "quiet"


def _prompt(record: Record, one: Noted) -> Told:
    del record
    return f"r{one.run}", f"is sent the prompt {one.data.get('prompt', '')!r}", "quiet"


def _over(record: Record, one: Noted) -> Told:
    del record
    word = one.kind.removeprefix("run-")
    text = {"ended": "has come to its end", "suspended": "waits for approval"}.get(word, word)
    problem = str(one.data.get("problem", ""))
    tone: Tone = "good" if word == "ended" else "bad" if word == "stopped" else "warning"
    return f"r{one.run}", f"{text}{f': {problem}' if problem else ''}", tone


def _asked(record: Record, one: Noted) -> Told:
    del record
    return str(one.data.get("approval", "")), f"{one.data.get('tool', '')} needs approval", "warning"


def _answered(record: Record, one: Noted) -> Told:
    del record
    note = one.data.get("note", "")
    text = f"{one.data.get('tool', '')} is {one.data.get('answer', '')}{f': {note}' if note else ''}"
    return str(one.data.get("approval", "")), text, "good" if one.data.get("answer") == "approved" else "bad"


def _started(record: Record, one: Noted) -> Told:
    del record
    return "…", f"{one.data.get('tool', '')} has begun, and acts on the outside world", "quiet"


def _checkpoint(record: Record, one: Noted) -> Told:
    del record
    return "checkpoint", str(one.data.get("name", "")), "plain"


def _other(record: Record, one: Noted) -> Told:
    del record
    return one.kind, json.dumps(dict(one.data)), "quiet"


_TELL: Final[dict[str, Callable[[Record, Noted], Told]]] = {
    "run-begun": _begun,
    "run-resumed": _begun,
    "run-turn": _turn,
    "run-prompt": _prompt,
    "run-suspended": _over,
    "run-stopped": _over,
    "run-ended": _over,
    "approval-asked": _asked,
    "approval-answered": _answered,
    "call-started": _started,
    "checkpoint": _checkpoint,
}
