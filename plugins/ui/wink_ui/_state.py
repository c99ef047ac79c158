"""Show what sessions hold, what they cost, and what undo and restore can do."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from starlette.responses import Response

from wink_ui._asked import Asked
from wink_ui._glance import plans
from wink_ui._pages import answer, redirect
from wink_ui._sums import tokens_of

ITEMS: Final = 50
"""So many items of a slice are shown, the newest."""


def state(asked: Asked) -> Response:
    """One session: its plan, its slices and what it cost; the first one where none is named."""
    names = asked.workspace.record.sessions()
    chosen = asked.query.get("session") or next(iter(names), "")
    rows = [one for one in asked.sums.rows() if one.session == chosen]
    runs = [row for row in asked.workspace.record.runs.rows() if row.session == chosen]
    tools: dict[str, tuple[int, int, timedelta]] = {}
    for one in rows:
        calls, failed, took = tools.get(one.tool, (0, 0, timedelta()))
        tools[one.tool] = calls + one.calls, failed + (one.calls if one.word != "ok" else 0), took + one.duration
    return answer(
        asked,
        "state.html",
        sessions=names,
        chosen=chosen,
        plans=[plan for plan in plans(asked) if plan.session == chosen],
        tools=sorted(tools.items(), key=lambda found: -found[1][2]),
        calls=sum(one.calls for one in rows),
        took=sum((one.duration for one in rows), timedelta()),
        runs=[(row, asked.workspace.record.runs.standing(row)) for row in reversed(runs)],
        tokens=tokens_of(runs),
        slices=asked.queries.slices(chosen),
    )


def items(asked: Asked) -> Response:
    """The newest items of one slice."""
    number = int(asked.place["slice"])
    found = asked.queries.items(number, ITEMS + 1)
    return answer(asked, "items.html", items=found[:ITEMS], more=len(found) > ITEMS)


def ways_back(asked: Asked) -> Response:
    """Undo, redo and the checkpoints."""
    workspace = asked.workspace
    full = {one.name for one in workspace.record.listed()}
    return answer(
        asked,
        "back.html",
        checkpoints=[(one, one.name in full) for one in reversed(workspace.checkpoints())],
        last=asked.queries.marks()[0],
        query=asked.query,
    )


def make_checkpoint(asked: Asked) -> Response:
    """Give the present state a name."""
    name = asked.value("name").strip()
    asked.workspace.checkpoint(name)
    return redirect(asked, "/back?done=checkpoint")
