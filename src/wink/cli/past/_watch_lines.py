"""Put what happens on a workspace into lines for a person who watches."""

from __future__ import annotations

import json
import os
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from wink.cli._calls import when
from wink.cli._changed import touched
from wink.cli._masked import masked
from wink.cli._programs import program_lines, told_of
from wink.cli._shorten import arguments, fit, visible
from wink.cli.work import Line, Tone
from wink.limits import utc_now
from wink.record import CallView, Noted, Record, values_of

_WIDE: Final = 100
_SAID: Final = 6
"""So many lines are shown of what a model says at once."""


def lines_about(record: Record, one: CallView | Noted) -> list[Line]:
    """One thing that happened; what a model said takes several lines."""
    if isinstance(one, CallView):
        return [_call(one)]
    label, text, tone = _told(record, one)
    first = Line(fit(masked(text), _WIDE), tone, label, "title", when(one.at, utc_now()))
    return [first, *_said(record, one)] if one.kind == "run-turn" else [first]


def _said(record: Record, one: Noted) -> Iterator[Line]:
    """What the model said in a turn, as far as it fits."""
    turn = one.data.get("turn")
    said = record.runs.said(one.run, after=turn - 1, limit=1) if isinstance(turn, int) else ()
    for told in said:
        texts: tuple[tuple[str, Tone], ...] = (told.thinking, "quiet"), (told.text, "plain")
        for text, tone in texts:
            lines = [part for line in masked(text).splitlines() for part in textwrap.wrap(visible(line), _WIDE)]
            yield from (Line(line, tone, " ") for line in lines[:_SAID])
            if len(lines) > _SAID:
                yield Line(f"… {len(lines) - _SAID} more lines (`wink show r{one.run}`)", "quiet", " ")


def pending_lines(record: Record, session: str | None) -> dict[str, Line]:
    """What goes on, or waits for a person, at this moment: runs, approvals and tries, each by a key of its own."""
    state = os.path.dirname(record.path)
    found: dict[str, Line] = {}
    for row in record.runs.rows():
        if row.is_ours and session in (None, row.session) and record.runs.standing(row) == "running":
            text = fit(f"is running: {row.task}", _WIDE)
            found[f"r{row.number}.{row.attempt}"] = Line(text, "quiet", f"r{row.number}")
    for asked in record.approvals.rows(session=session, states=("pending",)):
        text = f"waits for `wink approve a{asked.number}`: {asked.tool} {arguments(values_of(masked(asked.arguments)), 60)}"
        found[f"a{asked.number}"] = Line(fit(text, _WIDE), "warning", f"a{asked.number}")
    if session is None:
        for name in _tries(state):
            text = f"what was tried as {name!r} waits for `wink accept --name {name}` or `wink drop --name {name}`"
            found[f"try {name}"] = Line(fit(text, _WIDE), "warning", "try")
    return found


def _tries(state: str) -> list[str]:
    try:
        with os.scandir(os.path.join(state, "tries")) as entries:
            return sorted(entry.name for entry in entries if os.path.isdir(os.path.join(entry.path, "upper")))
    except OSError:
        return []


def _call(call: CallView) -> Line:
    why = next((reason for _, allowed, reason, _ in call.decisions if not allowed and reason), "")
    if not why and call.word not in ("ok", "denied"):
        why = call.error or call.rendered
    text = f"{call.word:<11} {call.tool} {arguments(call.values, 60)}".rstrip()
    aside = " · ".join(
        part
        for part in (
            f"[{touched(call.changes)}]" if call.changes else "",
            fit(why, _WIDE),
            "" if call.session == "default" else call.session,
            call.run,
            f"{call.milliseconds:.0f} ms",
            when(call.started_at, utc_now()),
        )
        if part
    )
    return Line(fit(text, _WIDE), call.role, f"c{call.position}", "title", fit(aside, 2 * _WIDE))


_OVER: Final[dict[str, tuple[str, Tone]]] = {
    "run-ended": ("has come to its end", "good"),
    "run-suspended": ("waits for approval", "warning"),
    "run-stopped": ("stopped", "bad"),
}


def _told(record: Record, one: Noted) -> tuple[str, str, Tone]:
    """Label, text and tone of what happened beside calls."""
    run, data = f"r{one.run}", defaultdict(str, one.data)
    match one.kind:
        case "run-begun" | "run-resumed":
            row = record.runs.find(one.run)
            begins = "begins" if one.kind == "run-begun" else "goes on"
            return run, f"{begins}: {row.task}" if row is not None and row.task else begins, "plain"
        case "run-turn":
            used = f"{data['input_tokens'] or 0} tokens in, {data['output_tokens'] or 0} out"
            return run, f"turn {data['turn']} of the model, {used}", "quiet"
        case "run-prompt":
            return run, f"is sent the prompt {data['prompt']!r}", "quiet"
        case "run-ended" | "run-suspended" | "run-stopped":
            text, tone = _OVER[one.kind]
            return run, f"{text}: {data['problem']}" if data["problem"] else text, tone
        case "approval-asked":
            return str(data["approval"]), f"{data['tool']} needs approval", "warning"
        case "approval-answered":
            text = f"{data['tool']} is {data['answer']}"
            text += f": {data['note']}" if data["note"] else ""
            return str(data["approval"]), text, "good" if data["answer"] == "approved" else "bad"
        case "call-started":
            return "…", f"{data['tool']} has begun, and acts on the outside world", "quiet"
        case "turn-begun":
            return f"t{data['turn']}", f"{data['agent']} is asked: {data['prompt']}", "plain"
        case "program-ended":
            ran = next(program_lines(told_of(one.data)), "a program")
            return "…", f"{data['tool']} ran {ran}", "quiet"
        case "checkpoint":
            return "checkpoint", str(data["name"]), "plain"
        case _:
            return one.kind, json.dumps(dict(one.data)), "quiet"
