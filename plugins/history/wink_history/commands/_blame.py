"""`wink blame`: which call wrote each line of a file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from wink.cli import (
    fit,
    named_path,
    opened_for_reading,
    paged,
    shown_path,
    visible,
    when,
    workspace_option,
    wrong,
)
from wink.limits import utc_now

if TYPE_CHECKING:
    from wink.workspace import Workspace
    from wink_history import Author, Line

_LINES: Final = re.compile(r"(.+):([0-9]{1,9})(?:-([0-9]{1,9}))?", re.DOTALL)
_CALL: Final = re.compile(r"c?([0-9]{1,15})")
_WIDEST: Final = 44


@click.command()
@click.argument("path", metavar="PATH[:LINE]")
@workspace_option
@click.option("--at", metavar="CALL", help="The file as it was after this call, such as c7.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines, one line of the file a line.")
def blame(path: str, workspace: str, at: str | None, as_json: bool) -> None:
    """Say which call wrote each line of a file, or the LINE, or the lines FROM-TO: `wink blame src/a.py:10-20`.

    With the call stand the turn of an attached agent, the run or the session that it belongs to, or the try that it accepted.
    What an undo brought back is the work of whoever wrote it, and a file is followed to where it was moved from. A line that no
    call wrote was there "before wink", which is before the first call that changed the file, or is by somebody between two
    calls. `c7?` says that it was c7 or somebody then: what the file was in between is not kept.
    """
    number = None if at is None else _CALL.fullmatch(at)
    if at is not None and number is None:
        raise wrong(f"--at {at!r} names no call; `wink log` lists them as c1, c2, …")
    from wink_history import BlameError
    from wink_history import blame as blamed

    with opened_for_reading(workspace) as opened:
        name, first, last = _asked(opened, path)
        try:
            lines = blamed(opened, name, at=None if number is None else int(number[1]), first=first, last=last)
        except BlameError as error:
            raise wrong(f"{shown_path(error.path or '.')} {error.reason}") from error
        if as_json:
            for line in lines:
                click.echo(json.dumps(json_of_line(line)))
            return
        with paged(workspace):
            for text in _told(lines):
                click.echo(text)


def _asked(opened: Workspace, text: str) -> tuple[str, int, int | None]:
    """The path and the lines that are meant; a file whose own name ends like that is meant as a whole."""
    found = _LINES.fullmatch(text)
    if found is None or opened.filesystem.exists(named_path(text)):
        return named_path(text), 1, None
    first = int(found[2])
    last = int(found[3] or first)
    if not 1 <= first <= last:
        raise wrong(f"{text!r} names no lines: they are counted from 1, and a range begins with the smaller number")
    return named_path(found[1]), first, last


def json_of_line(line: Line) -> dict[str, Any]:
    """A line of a file with who wrote it, for machines; of what does not apply there is null."""
    author = line.author
    call = author.call
    return {
        "line": line.number,
        "text": _text(line),
        "by": author.by,
        "call": f"c{call.position}" if call is not None else None,
        "tool": call.tool if call is not None else None,
        "session": call.session if call is not None else None,
        "run": call.run or None if call is not None else None,
        "at": call.started_at.isoformat() if call is not None else None,
        "agent": author.turn.agent if author.turn is not None else None,
        "turn": author.turn.number if author.turn is not None else None,
        "try": author.tried,
        "guessed": author.is_guess,
        "calls": [f"c{number}" for number in sorted(author.calls)],
        "after": None if author.after is None else f"c{author.after}",
        "before": None if author.before is None else f"c{author.before}",
    }


def _told(lines: Sequence[Line]) -> Iterator[str]:
    """A line for each: the call, who that was, when, the number, and the text."""
    now, known = utc_now(), dict[int, tuple[str, str, str]]()

    def facts(author: Author) -> tuple[str, str, str]:
        if id(author) not in known:
            is_call = author.by == "call" and author.call is not None
            time = when(author.call.started_at, now) if is_call and author.call is not None else ""
            known[id(author)] = author.name, fit(author.told, _WIDEST), time
        return known[id(author)]

    columns = [facts(line.author) for line in lines]
    widths = [max(map(len, column)) for column in zip(*columns, strict=True)] if columns else []
    width = len(str(lines[-1].number)) if lines else 0
    for line, column in zip(lines, columns, strict=True):
        name, who, time = (f"{text:<{wide}}" for text, wide in zip(column, widths, strict=True))
        text = visible(_text(line).removesuffix("\r"))
        colour = "yellow" if line.author.by == "call" else None
        front = click.style(f"{name} " if widths[0] else "", fg=colour) + who + (f"  {time}" if widths[2] else "")
        yield f"{front}  {line.number:>{width}}) {text}".rstrip()


def _text(line: Line) -> str:
    return line.text.decode("utf-8", "backslashreplace").removesuffix("\n")
