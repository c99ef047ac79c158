"""Put a session into a page that is a file: by the templates of the pages that are served, without scripts, with secrets masked."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from wink.dataclass import replace
from wink.errors import UnknownSession
from wink.filesystem import COMPARED_BYTES, FileVersion, Versions
from wink.record import CallView, Masking, RunRow
from wink.workspace import Workspace
from wink_ui._calls import details_of
from wink_ui._glance import plan_of
from wink_ui._images import Embedded
from wink_ui._pages import STATIC, environment
from wink_ui._sums import tokens_of
from wink_ui._text import shown

_LINES: Final = 400
"""So many lines of one text are shown, and rows of the diffs of a call."""
_LONGEST: Final = 40_000
IMAGES: Final = 4 << 20
"""So many bytes have the images of a page together, before they are written as text."""
_ALL: Final = 1 << 32
_SAID: Final = ("model", "text", "thinking", "note")


def static_page(workspace: Workspace, session: str) -> tuple[str, int, int]:
    """The page of one session, and how many calls and runs are on it; raises `UnknownSession`."""
    record, mask = workspace.record, workspace.masking
    if session not in record.sessions():
        raise UnknownSession(session, record.sessions())
    calls = {row.position: _call(row, mask) for row in reversed(record.calls(session))}
    # Calls inside of another one have its changes: they are told with the outermost, which comes last.
    outermost = {row.transaction: row.position for row in calls.values()}
    versions = Versions(workspace.filesystem.places, record.changes)

    def rendered(template: str, **values: object) -> Markup:
        return Markup(made.get_template(template).render(values, chrome=None))  # noqa: S704  it is a template's

    def body(call: CallView) -> Markup:
        is_told = outermost[call.transaction] == call.position
        found = (versions.with_content(call.transaction, one) for one in call.changes if is_told)
        changes = [replace(one, before=_side(one.before, mask), after=_side(one.after, mask)) for one in found]
        return rendered("call.html", **details_of(workspace, call, changes, _LINES), said=None, has_prompt=False)

    def conversation(run: RunRow) -> Markup:
        turns = [
            (
                said and replace(said, **{name: mask.value(getattr(said, name)) for name in _SAID}),
                [calls[one.position] for one in asked if one.position in calls],
            )
            for said, asked in record.queries.story(run.number, limit=_ALL)
        ]
        told.update(call.position for _, asked in turns for call in asked)
        last = turns[-1][0] if turns else None
        return rendered(
            "conversation.html",
            run=replace(run, plan=mask.json(run.plan), problem=mask.text(run.problem)),
            standing=record.runs.standing(run),
            tokens=[(mask.text(name), *used) for name, *used in record.runs.tokens(run.number)],
            prompts=[replace(one, text=mask.text(one.text)) for one in record.runs.prompts(run.number)],
            turns=turns,
            answer=last.number if last is not None and run.state == "ended" else 0,
            **dict.fromkeys(("after", "call", "next")),
        )

    told, embedded = set[int](), Embedded(IMAGES)
    made = environment(loader=_Dense)
    made.filters.update(shown=_shown, clock=_clock)
    names: dict[str, Any] = made.globals
    names |= {"static": body, "images": embedded.images_in, "images_left": lambda: embedded.left_out}
    with open(os.path.join(STATIC, "page.css"), "rb") as file:
        style = file.read()
    plans = [plan_of(name, mask.json(text)) for name, _, text in record.queries.latest("Plan") if name == session]
    runs = [row for row in record.runs.rows() if row.session == session]
    text = made.get_template("static.html").render(
        chrome={"name": session, "root": session},
        most_images=IMAGES >> 10,
        style=Markup(style.decode()),  # noqa: S704  it is ours
        style_digest=f"sha256-{base64.b64encode(hashlib.sha256(style).digest()).decode()}",
        session=session,
        plans=[plan for plan in plans if plan is not None],
        calls=len(calls),
        failed=sum(call.word not in ("ok", "undone") for call in calls.values()),
        took=sum((call.duration for call in calls.values()), timedelta()),
        tokens=tokens_of(runs),
        runs=[(run.number, conversation(run)) for run in runs],
        others=[call for call in calls.values() if call.position not in told],
    )
    return text, len(calls), len(runs)


def _call(row: CallView, mask: Masking) -> CallView:
    # Of policies most have only allowed it.
    decisions = tuple(
        (name, ok, why and mask.text(why), asks) for name, ok, why, asks in row.decisions if not ok or why
    )
    texts = {"arguments": mask.json(row.arguments), "rendered": mask.text(row.rendered)}
    return row._replace(error=row.error and mask.text(row.error), decisions=decisions, **texts)


def _side(version: FileVersion | None, mask: Masking) -> FileVersion | None:
    if version is None:
        return None

    def load() -> bytes | None:
        content = version.content(COMPARED_BYTES)
        return None if content is None else mask.content(content)

    target = version.target and mask.text(version.target)
    return replace(version, load=load if version.kind == "file" else None, target=target)


class _Dense(FileSystemLoader):
    """Templates without the breaks between their lines, of which a browser would make hundreds of thousands of nodes."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        source, path, is_current = super().get_source(environment, template)
        return re.sub(r"(?<=[>}])\n\s*(?=<|\{%)", "", source), path, is_current


def _shown(text: str) -> Markup:
    kept = "\n".join(text[:_LONGEST].split("\n", _LINES)[:_LINES])
    left = len(text) - len(kept)
    return shown(kept) + Markup("\n… {:,} more characters").format(left) if left else shown(kept)


def _clock(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"  # whoever reads it may be elsewhere
