"""Show runs, each as the conversation that it was: what was asked and said, with the calls in their places."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from wink.cli import forks_below
from wink.errors import UnknownRun
from wink.record import RunRow
from wink_ui._asked import Asked
from wink_ui._pages import answer

TURNS: Final = 40
"""So many turns are shown at once."""
DEEPEST: Final = 6
"""So far copies of copies are indented."""


def runs(asked: Asked) -> Response:
    """All runs, newest first, each copy of one below it, and what each model has cost."""
    table = asked.workspace.record.runs
    found = [(row, table.standing(row), min(depth, DEEPEST)) for row, depth in forks_below(table.rows()[::-1])]
    return answer(asked, "runs.html", runs=found, tokens=table.tokens())


def run(asked: Asked) -> Response:
    """One run from its beginning, or the turns after one; with `call`, those around a call."""
    row = run_of(asked)
    table = asked.workspace.record.runs
    call, after = asked.number("call"), asked.number("after") or 0
    if call is not None:
        after = max(table.turn_of(row.number, call) - TURNS // 4, 0)
    turns = asked.queries.story(row.number, after=after, limit=TURNS + 1)
    shown, more = turns[:TURNS], len(turns) > TURNS
    last = shown[-1].said if shown else None
    values: dict[str, object] = {
        "run": row,
        "turns": shown,
        "next": last.number if more and last is not None else None,
        "call": call,
        "after": after,
        "standing": table.standing(row),
        "answer": last.number if last is not None and not more and row.state == "ended" else 0,
    }
    if asked.is_part:
        return answer(asked, "turns.html", **values)
    return answer(asked, "run.html", **values, tokens=table.tokens(row.number), prompts=table.prompts(row.number))


def run_of(asked: Asked) -> RunRow:
    """The run that is asked for; raises `UnknownRun`."""
    number = int(asked.place["run"])
    row = asked.workspace.record.runs.find(number)
    if row is None:
        raise UnknownRun(f"r{number}", "is not known", ())
    return row
