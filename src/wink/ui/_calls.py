"""Show calls: as a list that goes on, and each with all that is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from starlette.responses import Response

from wink.errors import UnknownCall
from wink.filesystem import FileChange
from wink.record import CallRow, PromptRow
from wink.ui._asked import Asked
from wink.ui._diffs import LONGEST, FileDiff, file_diff
from wink.ui._glance import glance
from wink.ui._pages import address, answer
from wink.ui._words import ENDINGS, arguments_of
from wink.workspace._undo import UNSEEN

PAGE: Final = 50
"""So many calls are shown at once."""
_MOST: Final = 500
ROWS: Final = 600
"""So many rows of diffs are shown with a call; those of the other files when they are asked for."""
LISTED: Final = 500


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
    back = f"/calls/{row.position}"
    return answer(asked, "file.html", diff=file_diff(change, LONGEST), back=back, name=f"c{row.position}")


def prompt_of_call(asked: Asked) -> Response:
    """The prompt that the model had read when it made a call."""
    row = _row(asked)
    found = _prompt(asked, row)
    if found is None:
        raise UnknownCall(row.position)
    return answer(asked, "prompt.html", prompt=found, row=row)


def _prompt(asked: Asked, row: CallRow) -> PromptRow | None:
    number = row.run.removeprefix("r")
    if not (number.isascii() and number.isdigit()):
        return None
    prompts = asked.workspace.record.runs.prompts(int(number))
    return next((one for one in reversed(prompts) if one.position < row.position), None)


def _row(asked: Asked) -> CallRow:
    return asked.workspace.call(int(asked.place["call"]))


def _list(asked: Asked) -> dict[str, object]:
    wanted, before = asked.wanted, asked.number("before")
    limit = min(asked.number("limit") or PAGE, _MOST)
    found = asked.browsing.page(wanted, before=before, limit=limit + 1, undone=asked.workspace.undone())
    shown, query = found[:limit], filters(asked)
    older = address("/", query, before=shown[-1].position) if len(found) > limit else None
    several = len({line.session for line in shown}) > 1
    return {
        "lines": shown,
        "query": query,
        "older": older,
        "several": several,
        "wanted": wanted,
        "before": before,
        "chosen": int(asked.place["call"]) if "call" in asked.place else asked.number("chosen"),
    }


def filters(asked: Asked) -> dict[str, str]:
    """The filters that are set, for the addresses of other pages of the list."""
    wanted = asked.wanted
    found = {name: getattr(wanted, name) for name in ("session", "tool", "outcome", "path", "text")}
    return {name: value for name, value in found.items() if value}


def _choices(asked: Asked) -> dict[str, object]:
    sums = asked.sums.rows()
    return {
        "sessions": sorted({one.session for one in sums}),
        "tools": sorted({one.tool for one in sums}),
        "outcomes": tuple(ENDINGS),
    }


def _details(asked: Asked, row: CallRow) -> dict[str, object]:
    undone = row.transaction in asked.workspace.undone()
    ending = (
        row.outcome if row.outcome != "committed" else "undone" if undone else "ok" if row.committed else "rolled back"
    )
    changes = asked.workspace.diff(row.position)
    return {
        "call": row,
        "ending": ending,
        "arguments": arguments_of(row.arguments),
        "files": files_of(changes),
        "files_left": max(len(changes) - LISTED, 0),
        "query": filters(asked),
        "has_prompt": bool(row.run) and _prompt(asked, row) is not None,
        "can_undo": ending == "ok" and _has_effect(asked, row),
    }


def _has_effect(asked: Asked, row: CallRow) -> bool:
    """Whether there is anything to undo that a person would see."""
    if row.changes or row.effects == "read":
        return bool(row.changes)
    record = asked.workspace.record
    return any(not record.types_written(past) <= UNSEEN for past in record.past(row.transaction, row.transaction))


def files_of(changes: Sequence[FileChange], most_rows: int = ROWS) -> list[FileDiff | FileChange]:
    """The diffs of the first files, up to so many rows, and the names of the others."""
    found: list[FileDiff | FileChange] = []
    rows = 0
    for change in changes[:LISTED]:
        if rows >= most_rows:
            found.append(change)
            continue
        diff = file_diff(change)
        rows += len(diff.rows) + 1
        found.append(diff)
    return found
