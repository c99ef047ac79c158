"""Show calls: as a list that goes on, and each with all that is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from starlette.responses import Response

from wink.cli import program_lines, programs_of
from wink.errors import UnknownCall
from wink.filesystem import FileChange
from wink.record import WORDS, CallView, PromptRow, Said
from wink.workspace import UNSEEN, Workspace
from wink_history import blame
from wink_ui._asked import Asked, path_of
from wink_ui._diffs import LONGEST, file_diff, lines_as_html
from wink_ui._glance import glance
from wink_ui._groups import LISTED, listed, sort_out
from wink_ui._pages import address, answer, picture
from wink_ui._words import arguments_of

PAGE: Final = 50
"""So many calls are shown at once."""
_MOST: Final = 500
ROWS: Final = 600
"""So many rows of diffs are shown with a call; those of the other files when they are asked for."""
_WIDTH: Final = 600
"""So many characters of a call's arguments are read for its row."""


def timeline(asked: Asked) -> Response:
    """The page of calls; nothing is chosen."""
    if asked.is_part:
        return rows(asked)
    # Not `calls`, which is how many there are.
    return answer(asked, "calls.html", **_list(asked), **glance(asked), call=None, **_choices(asked))


def rows(asked: Asked) -> Response:
    """Only the rows, for a page that is open."""
    return answer(asked, "rows.html", **_list(asked))


def show_glance(asked: Asked) -> Response:
    """Only what stands above the calls, for a page that is open."""
    return answer(asked, "glance.html", **glance(asked))


def call(asked: Asked) -> Response:
    """One call: with the list beside it, or alone for a page that is open."""
    details = _details(asked, _row(asked))
    if asked.is_part:
        return answer(asked, "call.html", **details)
    return answer(asked, "calls.html", **{**_list(asked), **glance(asked), **_choices(asked), **details})


def file_of_call(asked: Asked) -> Response:
    """The diff of one file of a call, whole."""
    row = _row(asked)
    number = int(asked.place["file"])
    if number >= len(row.changes):
        raise UnknownCall(row.position)
    change = asked.workspace.diff(row.position)[number]
    if asked.value("side"):
        return picture(asked, change)
    back = f"/calls/{row.position}"
    diff, whose = file_diff(change, LONGEST), f"{back}/files/{number}/blame"
    return answer(asked, "file.html", diff=diff, back=back, name=f"c{row.position}", whose=whose)


def blame_of_call(asked: Asked) -> Response:
    """Who wrote each line of one file of a call, as it was after the call."""
    row = _row(asked)
    number = int(asked.place["file"])
    if number >= len(row.changes):
        raise UnknownCall(row.position)
    return _blamed(asked, row.changes[number].path, row.position, back=f"/calls/{row.position}")


def blame_of_file(asked: Asked) -> Response:
    """Who wrote each line of a file as it is now."""
    return _blamed(asked, path_of(asked.value("file")), None, back="/")


def _blamed(asked: Asked, path: str, at: int | None, *, back: str) -> Response:
    lines = blame(asked.workspace, path, at=at)
    shown = lines[:LONGEST]
    text = b"".join(line.text for line in shown).decode("utf-8", "backslashreplace")
    rows = zip(shown, lines_as_html(path, text), strict=False)
    name = "Calls" if at is None else f"c{at}"
    return answer(
        asked, "blame.html", path=path, rows=list(rows), more=len(lines) - len(shown), at=at, back=back, name=name
    )


def prompt_of_call(asked: Asked) -> Response:
    """The prompt that the model had read when it made a call."""
    row = _row(asked)
    found = _prompt(asked, row)
    if found is None:
        raise UnknownCall(row.position)
    return answer(asked, "prompt.html", prompt=found, row=row)


def _prompt(asked: Asked, row: CallView) -> PromptRow | None:
    prompts = asked.workspace.record.runs.prompts(_run_of(row))
    return next((one for one in reversed(prompts) if one.position < row.position), None)


def _row(asked: Asked) -> CallView:
    return asked.workspace.call(int(asked.place["call"]))


def _list(asked: Asked) -> dict[str, object]:
    before, query = asked.number("before"), asked.filters
    if before is None and "call" in asked.place and not asked.is_part:
        # A link to an old call opens where that is, with those around it.
        around = int(asked.place["call"]) + PAGE // 2
        before = around if around <= asked.queries.marks()[0] - PAGE // 2 else None
    limit = min(asked.number("limit") or PAGE, _MOST)
    found = asked.queries.page(asked.wanted, before=before, limit=limit + 1, brief=True, width=_WIDTH)
    shown = found[:limit]
    older = address("/", query, before=shown[-1].position) if len(found) > limit else None
    return {
        "calls_shown": shown,
        "query": query,
        "older": older,
        "several": len({call.session for call in shown}) > 1,
        "asked_for": {one.run: one for one in asked.queries.turns()},
        "before": before,
        "chosen": int(asked.place["call"]) if "call" in asked.place else asked.number("chosen"),
    }


def _choices(asked: Asked) -> dict[str, object]:
    sums = asked.sums.rows()
    return {
        "sessions": sorted({one.session for one in sums}),
        "tools": sorted({one.tool for one in sums}),
        "outcomes": tuple(WORDS),
    }


def details_of(workspace: Workspace, row: CallView, changes: Sequence[FileChange], most_rows: int) -> dict[str, object]:
    """What there is to show of a call, with diffs as long as these have no more rows together."""
    found = sort_out(workspace, changes)
    return {
        "call": row,
        "arguments": arguments_of(row),
        "files": listed(found.files, changes, most_rows),
        "groups": found.groups,
        "files_left": max(len(found.files) - LISTED, 0),
        "programs": tuple(program_lines(programs_of(workspace.record.queries, row))),
    }


def _details(asked: Asked, row: CallView) -> dict[str, object]:
    return {
        **details_of(asked.workspace, row, asked.workspace.diff(row.position), ROWS),
        "said": _said(asked, row),
        "query": asked.filters,
        "has_prompt": bool(row.run) and _prompt(asked, row) is not None,
        "can_undo": row.word == "ok" and _has_effect(asked, row),
    }


def _said(asked: Asked, row: CallView) -> Said | None:
    """What the model said in the turn that made a call."""
    runs, number = asked.workspace.record.runs, _run_of(row)
    turn = runs.turn_of(number, row.position)
    return next(iter(runs.said(number, after=turn - 1, limit=1)), None) if turn else None


def _run_of(row: CallView) -> int:
    number = row.run.removeprefix("r")
    return int(number) if number.isascii() and number.isdigit() else 0


def _has_effect(asked: Asked, row: CallView) -> bool:
    """Whether there is anything to undo that a person would see."""
    if row.changes or row.effects == "read":
        return bool(row.changes)
    record = asked.workspace.record
    return any(not record.types_written(past) <= UNSEEN for past in record.past(row.transaction, row.transaction))
