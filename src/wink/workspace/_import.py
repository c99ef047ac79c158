"""Make a directory of a bundle, in which what the session did can be looked at and nothing can be changed."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

from wink.errors import ImportRefused
from wink.record import create_imported
from wink.workspace._bundle import HISTORY, Bundle
from wink.workspace._export_rows import Call, Exported, Side
from wink.workspace._root import STATE_DIRECTORY

if TYPE_CHECKING:
    import sqlite3

_NO_SIDE: tuple[Any, ...] = (None, None, None, None)


def write_import(bundle: Bundle, directory: str) -> None:
    """Make `directory`, with the session in it; raises `ImportRefused` where there is something already."""
    target = os.path.abspath(directory)
    if os.path.lexists(target) and (os.path.islink(target) or not os.path.isdir(target) or os.listdir(target)):
        raise ImportRefused(directory)
    draft = f"{target}.importing-{os.getpid()}"
    state = os.path.join(draft, STATE_DIRECTORY)
    os.makedirs(state, mode=0o700)
    try:
        origin = json.dumps({"session": bundle.manifest.session, "exported_at": bundle.manifest.exported_at})
        with open(os.path.join(state, ".gitignore"), "w", encoding="utf-8") as file:
            file.write("*\n")
        create_imported(os.path.join(state, "record.db"), origin, lambda connection: _fill(connection, bundle.session))
        if bundle.history is not None:
            with open(os.path.join(state, HISTORY), "wb") as file:
                file.write(bundle.history)
        if os.path.isdir(target):
            os.rmdir(target)
        os.rename(draft, target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _fill(connection: sqlite3.Connection, session: Exported) -> None:
    put = connection.execute
    put("INSERT INTO sessions VALUES (1, ?, ?, ?)", (session.session, session.session_id, session.created_at))
    seen: set[int] = set()
    outermost = {call.transaction: call for call in session.calls}
    for call in session.calls:
        if call.transaction not in seen:
            seen.add(call.transaction)
            _put_transaction(connection, outermost[call.transaction])
        _put_call(connection, call)
    for event in session.events:
        row = (event.number, event.position, event.at, event.kind, session.session, event.run, json.dumps(event.data))
        put("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    for run in session.runs:
        tokens = run.turns, run.input_tokens, run.output_tokens, run.cached_tokens
        state = "stopped" if run.state == "running" else run.state
        facts = (run.number, session.session, run.plan, "imported", state, run.problem)
        row = (*facts, run.started_at, run.changed_at, run.attempt, *tokens)
        put("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        for one in run.prompts:
            digest = f"{run.number}.{one.number}"
            put("INSERT INTO prompts VALUES (?, ?)", (digest, one.text))
            row = (run.number, one.number, one.position, one.at, one.prompt, digest, json.dumps(one.tools))
            put("INSERT INTO run_prompts VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    for number, one in enumerate(session.slices, 1):
        put("INSERT INTO slices VALUES (?, 1, ?, ?)", (number, one.type, one.policy))
        for n, (key, value) in enumerate(one.items):
            put("INSERT INTO slice_items VALUES (?, 0, ?, ?, ?)", (number, n, key, value))


def _put_transaction(connection: sqlite3.Connection, call: Call) -> None:
    reverts = json.dumps(call.takes_back) if call.takes_back else None
    row = (call.transaction, f"imported-{call.transaction}", call.committed, len(call.changes), reverts)
    connection.execute("INSERT INTO transactions VALUES (?, ?, 1, ?, 0, ?, NULL, ?)", row)
    for n, change in enumerate(call.changes):
        before, after = _side(change.before), _side(change.after)
        contents = [
            None if side is None or side.content is None else side.content.encode()
            for side in (change.after, change.before)
        ]
        connection.execute(
            """INSERT INTO changes (tx, n, path, moved_from, before_kind, before_size, before_mode, before_target,
                after_kind, after_size, after_mode, after_target, content, before_content)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            (call.transaction, n, change.path, change.moved_from, *before, *after, *contents),
        )


def _put_call(connection: sqlite3.Connection, call: Call) -> None:
    facts = (call.number, call.transaction, call.call_id, call.tool, call.prompt, call.outcome, call.started_at)
    texts = (json.dumps(call.decisions), call.arguments, call.reply, call.effects)
    row = (*facts, call.duration, *texts, None, call.run or None, call.approval or None, call.error)
    connection.execute("INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)


def _side(side: Side | None) -> tuple[Any, ...]:
    return _NO_SIDE if side is None else (side.kind, side.size, side.mode, side.target)
