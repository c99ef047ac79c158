"""`wink accept --patch`: ask the person at the terminal what to accept, hunk by hunk, as `git add -p` does."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Final

import click

from wink.cli import echo_diff, echo_diff_text, one_line, wrong
from wink.filesystem import quoted_path
from wink_sandbox.tries import Hunk, Picked, Unit, split

_HELP: Final = {
    "y": "accept this {what}",
    "n": "leave it in the try",
    "q": "leave this and all that follow in the try, and accept what was chosen",
    "a": "accept this and all that follow of the same file",
    "d": "leave this and all that follow of the same file in the try",
    "s": "split it where lines between are unchanged",
    "?": "say this again",
}


class _Enough(Exception):
    """No more is to be asked."""


def check_terminal() -> None:
    """Raise the error that says how to go on where nobody can be asked."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise wrong("--patch asks at a terminal, and there is none; name PATHs instead, as in `wink accept 'src/*.py'`")


def pick(units: Iterable[Unit]) -> Iterator[Picked]:
    """What the person chooses. Ctrl-C, or the end of input, chooses nothing at all."""
    chosen: list[Picked] = []
    try:
        for unit in tuple(units):
            if unit.hunks:
                hunks: list[Hunk] = []
                try:
                    _ask_hunks(unit, hunks)
                finally:
                    if hunks:
                        chosen.append(Picked(unit, tuple(hunks)))
            else:
                echo_diff(unit.changes, exact=False)
                if _answer(f"(1/1) Accept this change of {_name(unit)}", "ynqad", "change") in "ya":
                    chosen.append(Picked(unit))
    except _Enough:
        pass
    return iter(chosen)


def _ask_hunks(unit: Unit, chosen: list[Hunk]) -> None:
    from wink.filesystem.diffs import diffs_of

    echo_diff_text(diffs_of(unit.changes[0])[0].header())
    waiting, number = list(unit.hunks), 0
    while waiting:
        hunk, number = waiting.pop(0), number + 1
        if hunk.mode is None:
            echo_diff_text(hunk.text)
        what = "hunk" if hunk.mode is None else "change of the mode"
        parts = split(hunk) if hunk.mode is None else ()
        keys = "ynqads" if len(parts) > 1 else "ynqad"
        where = f"({number}/{number + len(waiting)})"
        said = _answer(f"{where} Accept this {what} of {_name(unit)}", keys, what)
        if said == "s":
            waiting[:0] = parts
            number -= 1
        elif said == "a":
            chosen += [hunk, *waiting]
            return
        elif said == "d":
            return
        elif said == "y":
            chosen.append(hunk)


def _answer(question: str, keys: str, what: str) -> str:
    while True:
        click.echo(f"{question} [{','.join(keys)},?]? ", nl=False)
        line = sys.stdin.readline()
        if not line:
            raise click.Abort
        said = line.strip().lower()
        if said == "q":
            raise _Enough
        if len(said) == 1 and said in keys:
            return said
        for key in (*keys, "?"):
            click.echo(f"{key} - {_HELP[key].format(what=what)}")


def _name(unit: Unit) -> str:
    return one_line(quoted_path(unit.path))
