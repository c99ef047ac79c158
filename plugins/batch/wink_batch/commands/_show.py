"""`wink batch show`: how a batch stands, and what became of one task."""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from contextlib import suppress
from io import BytesIO
from typing import Any, Final

import click

from wink.cli import fit, one_line, visible
from wink.filesystem import path_in_json
from wink_batch import Batch, lines, page, summary
from wink_batch.commands._progress import ending

_SHOWN: Final = 40


@click.command()
@click.argument("directory", metavar="DIR")
@click.argument("task", required=False)
@click.option("--failed", is_flag=True, help="List the tasks that failed, or did not pass, and no others.")
@click.option("--patch", is_flag=True, help="Print what the task changed, as git applies it, and nothing else.")
@click.option("--html", metavar="FILE", help="Write a page about the whole batch to FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line, for machines.")
def show(directory: str, task: str | None, failed: bool, patch: bool, html: str | None, as_json: bool) -> None:
    """Show how the batch in DIR stands, or what became of one TASK: its attempts, its calls, what it changed."""
    found = Batch(directory)
    if html is not None:
        with open(html, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(page(found))
        click.echo(f"wink: wrote {html}", err=True)
    elif task is not None:
        _show_task(found, task, as_json=as_json, patch=patch)
    else:
        _show_all(found, failed=failed, as_json=as_json)


def _show_all(found: Batch, *, failed: bool, as_json: bool) -> None:
    rows = [found.results[task] for task in found.tasks if task in found.results]
    if failed:
        rows = [row for row in rows if row["status"] != "done" or row.get("passed") is False]
    numbers = summary(tuple(found.tasks), found.results, judged=bool(found.plan.check))
    if as_json:
        about = {"name": found.plan.name, "running": found.is_running}
        click.echo(json.dumps({"event": "summary", **about, **numbers.to_json()}))
        for row in rows:
            click.echo(json.dumps({"event": "result", **row}, default=str))
        return
    state = "running" if found.is_running else "over" if not numbers.left else "not over; --resume goes on"
    click.echo(one_line(f"{found.plan.name}: {state}"))
    for line in lines(numbers):
        click.echo(visible(line))
    for row in rows[:_SHOWN]:
        click.echo(one_line(fit(f"  {ending(row)}", 160)))
    if len(rows) > _SHOWN:
        click.echo(f"  and {len(rows) - _SHOWN} more; --json lists them all")


def _show_task(found: Batch, task: str, *, as_json: bool, patch: bool) -> None:
    row = found.result(task)
    if patch:
        click.echo(b"" if row is None else found.file(row, "patch"), nl=False)
        return
    calls = calls_of(found, row)
    if as_json:
        about = {"task": found.tasks[task].to_row(), "result": row, "calls": calls}
        click.echo(json.dumps({**about, "patch": "" if row is None else _text(found.file(row, "patch"))}, default=str))
        return
    if row is None:
        click.echo(one_line(f"{task}: {'running or waiting' if found.is_running else 'not over'}"))
        tried = [one for one in found.attempts if one["task"] == task]
        for one in tried:
            click.echo(
                one_line(
                    f"  attempt {one['attempt']}, try {one['try']}: {one['status']} {one['cause']} {one['message']}"
                )
            )
        return
    click.echo(one_line(ending(row)))
    for name in ("workspace", "base", "commit", "checkpoint", "patch", "record", "node", "started_at"):
        if row.get(name):
            click.echo(one_line(f"  {name:<11} {row[name]}"))
    if row["verdict"]:
        click.echo(visible(f"  check       {row['verdict']}"))
    if len(row["attempts"]) > 1:
        for one in row["attempts"]:
            kept = " (kept)" if one["attempt"] == row["attempt"] and one["status"] == row["status"] else ""
            said = f"  attempt {one['attempt']}, try {one['try']}: {one['status']} {one['cause']} {one['message']}".rstrip()
            click.echo(one_line(fit(f"{said}, {one['seconds']:.1f} s on {one['node']}{kept}", 160)))
    for call in calls:
        mark = "" if call["committed"] else " (taken back)"
        click.echo(one_line(fit(f"  c{call['position']} {call['tool']} {call['arguments']}{mark}", 140)))
    for text in filter(None, (row["text"], "" if row["output"] is None else json.dumps(row["output"], indent=2))):
        click.echo(visible(text))
    changes = _text(found.file(row, "patch"))
    if changes:
        click.echo(visible(changes))


def calls_of(found: Batch, row: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The calls that a task's record holds, oldest first; none where none was kept, or it was cut off."""
    content = b"" if row is None else found.file(row, "record")
    if not content:
        return []
    from wink.errors import WinkError
    from wink.workspace import Workspace

    with tempfile.TemporaryDirectory(prefix="wink-record-") as place:
        state = os.path.join(place, "state")
        os.mkdir(state)
        with zipfile.ZipFile(BytesIO(content)) as archive:
            for name in ("record.db", "record.db-wal"):
                with suppress(KeyError), open(os.path.join(state, name), "wb") as file:
                    file.write(archive.read(name))
        if not os.path.getsize(os.path.join(state, "record.db-wal")):
            os.unlink(os.path.join(state, "record.db-wal"))
        try:
            with Workspace.open(place, state=state) as workspace:
                return [
                    {
                        "position": call.position,
                        "tool": call.tool,
                        "committed": call.committed,
                        "outcome": call.word,
                        "arguments": call.arguments,
                        "reply": call.rendered,
                        "started_at": call.started_at.isoformat(),
                        "milliseconds": round(call.milliseconds, 3),
                        "changed": [path_in_json(change.path) for change in call.changes],
                    }
                    for call in reversed(workspace.calls())
                ]
        except WinkError:
            return []


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")
