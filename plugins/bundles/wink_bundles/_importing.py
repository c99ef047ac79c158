"""Make a directory of a bundle, in which what the session did can be looked at and nothing can be changed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wink.record import create_imported, execute
from wink.state import locate, make, replace_file
from wink_bundles._bundle import HISTORY, Bundle
from wink_bundles._errors import ImportRefused
from wink_bundles._rows import Call, Change, Exported, Side

if TYPE_CHECKING:
    import sqlite3

_NO_SIDE: tuple[Any, ...] = (None, None, None, None)


def write_import(bundle: Bundle, directory: str) -> str:
    """Make `directory`, with the session in it, and give where its git history is in there; raises `ImportRefused` where there is something already."""
    target = os.path.abspath(directory)
    if os.path.lexists(target) and (os.path.islink(target) or not os.path.isdir(target) or os.listdir(target)):
        raise ImportRefused(directory)
    draft = f"{target}.importing-{os.getpid()}"
    os.mkdir(draft, 0o700)
    try:
        state = locate(os.path.realpath(draft))
        inside = make(state)
        origin = json.dumps({"session": bundle.manifest.session, "exported_at": bundle.manifest.exported_at})
        create_imported(os.path.join(state, "record.db"), origin, lambda connection: _fill(connection, bundle.session))
        if bundle.history is not None:
            replace_file(inside, HISTORY, bundle.history)
        os.close(inside)
        if os.path.isdir(target):
            os.rmdir(target)
        os.rename(draft, target)
        return os.path.join(os.path.basename(os.path.dirname(state)), os.path.basename(state), HISTORY)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _fill(connection: sqlite3.Connection, session: Exported) -> None:
    def put(table: str, *row: object) -> None:
        _put(connection, table, row)

    put("sessions", 1, session.session, session.session_id, session.created_at)
    seen: set[int] = set()
    outermost = {call.transaction: call for call in session.calls}
    for call in session.calls:
        if call.transaction not in seen:
            seen.add(call.transaction)
            _put_transaction(connection, outermost[call.transaction])
        _put_call(connection, call)
    for event in session.events:
        data = json.dumps(event.data)
        put("events", event.number, event.position, event.at, event.kind, session.session, event.run, data)
    for run in session.runs:
        tokens = run.turns, run.input_tokens, run.output_tokens, run.cached_tokens
        state = "stopped" if run.state == "running" else run.state
        facts = (run.number, session.session, run.plan, "imported", state, run.problem)
        put("runs", *facts, run.started_at, run.changed_at, run.attempt, *tokens)
        for one in run.prompts:
            digest = f"{run.number}.{one.number}"
            put("prompts", digest, one.text)
            put("run_prompts", run.number, one.number, one.position, one.at, one.prompt, digest, json.dumps(one.tools))
        for one in run.said:
            tokens = one.input_tokens, one.output_tokens, one.cached_tokens
            facts = run.number, one.number, one.position, one.at, one.model, *tokens, 0
            put("said", *facts, one.text, one.thinking, one.note)
    for number, one in enumerate(session.slices, 1):
        put("slices", number, 1, one.type, one.policy)
        for n, (key, value) in enumerate(one.items):
            put("slice_items", number, 0, n, key, value)


def _put(connection: sqlite3.Connection, into: str, row: Sequence[object]) -> None:
    """Insert a row; its texts may be any, as names of files are."""
    marks = ", ".join("CAST(? AS TEXT)" if isinstance(value, str) else "?" for value in row)
    execute(connection, f"INSERT INTO {into} VALUES ({marks})", row)


def _put_transaction(connection: sqlite3.Connection, call: Call) -> None:
    reverts = json.dumps(call.takes_back) if call.takes_back else None
    rows = [_change_row(change) for change in call.changes]
    names = [change.path for change in call.changes] + [one.moved_from for one in call.changes if one.moved_from]
    changed = json.dumps([names, *rows]) if rows else None
    facts = (
        call.transaction,
        f"imported-{call.transaction}",
        1,
        call.committed,
        0,
        len(rows),
        None,
        reverts,
        changed,
        None,
    )
    _put(connection, "transactions", facts)


def _change_row(change: Change) -> tuple[Any, ...]:
    """A change as the record keeps it."""
    content, before_content = map(_content, (change.after, change.before))
    before, after, unknown = _side(change.before), _side(change.after), (None,) * 3
    return (change.moved_from, *before, *unknown, *after, *unknown, content, before_content)


def _content(side: Side | None) -> str | None:
    if side is None:
        return None
    if side.content is None:
        return None if side.digest is None else f"sha256:{side.digest}"
    return side.content.encode("utf-8", "backslashreplace").hex()


def _put_call(connection: sqlite3.Connection, call: Call) -> None:
    facts = (call.number, call.transaction, call.call_id, call.tool, call.prompt, call.outcome, call.started_at)
    texts = (json.dumps(call.decisions), call.arguments, call.reply, call.effects)
    row = (
        *facts,
        call.duration,
        *texts,
        None,
        call.run or None,
        call.approval or None,
        call.error,
        call.plugin or None,
        *(None, None, None, None, None),
    )
    _put(connection, "calls", row)


def _side(side: Side | None) -> tuple[Any, ...]:
    return _NO_SIDE if side is None else (side.kind, side.size, side.mode, side.target)
