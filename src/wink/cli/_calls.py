"""Say which call is meant, and what became of one: in few words, and in JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from wink.cli._shorten import one_line, visible
from wink.cli._wrong import wrong
from wink.filesystem import FileChange, path_in_json

if TYPE_CHECKING:
    from wink.record import CallView
    from wink.workspace import Workspace

NOT_KEPT: Final = "not kept"
"""How the note on a call begins that names what was changed and cannot be taken back."""
GUESSED: Final = "guessed"
"""How the note on a call of an attached agent begins whose changes may be another's that ran at the same time."""
_CALL: Final = re.compile(r"c?([0-9]{1,15})")

F = TypeVar("F", bound=Callable[..., Any])


def turn_option(function: F) -> F:
    """`--turn [N]`: one turn of an attached agent, 0 for the last one."""
    text = "Only what an attached agent did in its turn N, as `wink log` numbers them; without N the last one."
    return click.option("--turn", is_flag=False, flag_value=0, type=click.IntRange(min=0), metavar="[N]", help=text)(
        function
    )


def call_number(text: str) -> int:
    """Read a call as `wink log` names it.

    >>> call_number("c12"), call_number("12")
    (12, 12)
    """
    found = _CALL.fullmatch(text)
    if found is None:
        raise wrong(f"{text!r} names no call; `wink log` lists them as c1, c2, …")
    return int(found[1])


def json_of_call(call: CallView) -> dict[str, Any]:
    """A call for machines, without its reply."""
    return {
        "call": f"c{call.position}",
        "id": call.call_id,
        "session": call.session,
        "tool": call.tool,
        "plugin": plugin_of(call),
        "prompt": call.prompt,
        "outcome": call.word,
        "arguments": call.values,
        "decisions": [
            {"policy": name, "allowed": allowed, "reason": why, "asks": asks}
            for name, allowed, why, asks in call.decisions
        ],
        "changes": [json_of_change(change) for change in call.changes],
        "started_at": call.started_at.isoformat(),
        "milliseconds": round(call.milliseconds, 3),
    }


def json_of_change(change: FileChange, **more: object) -> dict[str, object]:
    """What became of one path, for machines."""
    return {"path": path_in_json(change.path), "kind": change.kind, **more}


def json_option(command: F) -> F:
    """The option `--json`, which the command gets as `as_json`.

    With it the command prints by `echo_json` and nothing else to standard output; what it says on standard error and its exit
    status stay as they are.
    """
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for machines.")(command)


def echo_json(**facts: object) -> None:
    """Print facts as one JSON object, in a line."""
    click.echo(json.dumps(facts))


def json_of_reasons(pairs: Iterable[tuple[str, str]]) -> list[dict[str, object]]:
    """Paths with the reasons for what became of them, for machines."""
    return [{"path": path_in_json(path), "reason": reason} for path, reason in pairs]


def plugin_of(call: CallView) -> dict[str, str] | None:
    """The plugin that offered a call's tool, None where no plugin did, or the record does not know it yet."""
    return offered_by(call.plugin) if call.plugin else None


def offered_by(told: str) -> dict[str, str]:
    """A plugin by its name, distribution and version, out of what a rendering or the record says of it."""
    return dict(zip(("name", "distribution", "version"), (*told.split(" ", 2), "", ""), strict=False))


def argument_lines(name: str, value: object, shorten: Callable[[list[str]], list[str]] = list) -> Iterator[str]:
    """One argument for a person, over as many lines as it has, or as `shorten` leaves."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    first, *rest = shorten(text.split("\n"))
    yield f"  {one_line(name)}: {visible(first)}"
    yield from (f"    {visible(line)}" for line in rest)


def decided(decisions: Iterable[tuple[str, bool, str | None, bool]]) -> Iterator[str]:
    """What each policy said of a call."""
    for policy, allowed, reason, asks in decisions:
        said = "allowed" if allowed else "asked a person" if asks else "denied"
        yield f"{policy}: {said}{f', {reason}' if reason else ''}"


def when(moment: datetime, now: datetime) -> str:
    """The local time of day, with the date if it was not today."""
    here, today = moment.astimezone(), now.astimezone().date()
    return f"{here:%H:%M:%S}" if here.date() == today else f"{here:%Y-%m-%d %H:%M}"


def opened_for_reading(path: str) -> Workspace:
    """Open a workspace to look at what was done in it, or to go back, whatever an agent has made of its settings."""
    from wink.cli._opening import open_workspace

    return open_workspace(path, looking=True)
