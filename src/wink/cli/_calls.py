"""Say in few words which call is meant, and what became of one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar

import click

from wink.cli._shorten import one_line, visible
from wink.cli._wrong import wrong
from wink.filesystem import FileChange
from wink.record import CallRow
from wink.workspace import Workspace

SHOWN: Final = 20
"""So many paths are listed."""
_SIGNS: Final = {"created": "+", "modified": "~", "deleted": "-"}
_CALL: Final = re.compile(r"c?([0-9]{1,15})")

F = TypeVar("F", bound=Callable[..., Any])


def workspace_option(command: F) -> F:
    """The option of every command that looks at a workspace."""
    return click.option(
        "--workspace", default=".", metavar="PATH", help="The directory to look at; the current one by default."
    )(command)


def call_number(text: str) -> int:
    """Read a call as `wink log` names it.

    >>> call_number("c12"), call_number("12")
    (12, 12)
    """
    found = _CALL.fullmatch(text)
    if found is None:
        raise wrong(f"{text!r} names no call; `wink log` lists them as c1, c2, …")
    return int(found[1])


def ending(call: CallRow, undone: frozenset[int]) -> str:
    """In a word, what became of a call."""
    if call.outcome == "committed":
        if not call.committed:
            return "rolled back"
        return "undone" if call.transaction in undone else "ok"
    return call.outcome


def json_of_call(call: CallRow, undone: frozenset[int]) -> dict[str, Any]:
    """A call for machines, without its reply."""
    return {
        "call": f"c{call.position}",
        "id": call.call_id,
        "session": call.session,
        "tool": call.tool,
        "plugin": plugin_of(call),
        "prompt": call.prompt,
        "outcome": ending(call, undone),
        "arguments": arguments_of(call),
        "decisions": [
            {"policy": name, "allowed": allowed, "reason": why, "asks": asks}
            for name, allowed, why, asks in call.decisions
        ],
        "changes": [{"path": change.path, "kind": change.kind} for change in call.changes],
        "started_at": call.started_at.isoformat(),
        "milliseconds": round(call.duration.total_seconds() * 1000, 3),
    }


def plugin_of(call: CallRow) -> dict[str, str] | None:
    """The plugin that offered a call's tool, None where no plugin did, or the record does not know it yet."""
    return offered_by(call.plugin) if call.plugin else None


def offered_by(told: str) -> dict[str, str]:
    """A plugin by its name, distribution and version, out of what a rendering or the record says of it."""
    return dict(zip(("name", "distribution", "version"), (*told.split(" ", 2), "", ""), strict=False))


def arguments_of(call: CallRow) -> Any:
    """The arguments as values; text that is no JSON stays text."""
    try:
        return json.loads(call.arguments)
    except (ValueError, RecursionError):
        return call.arguments


def when(moment: datetime, now: datetime) -> str:
    """The local time of day, with the date if it was not today."""
    here, today = moment.astimezone(), now.astimezone().date()
    return f"{here:%H:%M:%S}" if here.date() == today else f"{here:%Y-%m-%d %H:%M}"


def echo_diff(changes: Iterable[FileChange], *, exact: bool = True) -> None:
    """Print unified diffs, for people with control characters written out.

    What is `exact` reaches a pipe as it is, since `git apply` may be behind it; whoever looks at it there is warned.
    """
    import sys

    is_exact, is_warned = exact and not sys.stdout.isatty(), False
    for change in changes:
        text = change.diff()
        if is_exact:
            if not is_warned and visible(text) != text:
                is_warned = True
                click.echo("wink: the diff has control characters or marks that turn the direction of text", err=True)
            click.echo(text, nl=False)
            continue
        for line in text.splitlines():
            click.echo(click.style(visible(line), fg=_colour(line)))


def echo_paths(changes: Sequence[FileChange], *, err: bool = False) -> None:
    """Print which paths changed and how, not more of them than can be read."""
    for change in changes[:SHOWN]:
        click.echo(one_line(f"  {_SIGNS[change.kind]} {change.path}"), err=err)
    if len(changes) > SHOWN:
        click.echo(f"  … {len(changes) - SHOWN} more", err=err)


def _colour(line: str) -> str | None:
    if line.startswith("@@"):
        return "cyan"
    if line.startswith("+") and not line.startswith("+++"):
        return "green"
    return "red" if line.startswith("-") and not line.startswith("---") else None


def opened_for_reading(path: str) -> Workspace:
    """Open a workspace to look at what was done in it."""
    from wink.cli._compose import open_workspace

    return open_workspace(path)
