"""What a program may make real of the home: which files, and what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wink.cli import one_line, paths_of, persist_settings
from wink.errors import SettingsError
from wink.filesystem import quoted_path
from wink_sandbox.commands._telling import SHOWN
from wink_sandbox.tries import PROFILES

if TYPE_CHECKING:
    from wink_sandbox.tries import HomePattern, Persisted

_NAMED = 3


def persisted(profile: str, root: str) -> tuple[HomePattern, ...]:
    """What a program may make real of the home: what its profile names, and the user's own settings."""
    given = PROFILES[profile].persist
    if given is None:
        return ()
    own = persist_settings(root)
    for note in own.notes:
        click.echo(one_line(f"wink: {note}"), err=True)
    if not given and not own.entries:
        return ()
    from wink_sandbox.tries import home_pattern

    entries, problems = [*map(home_pattern, given)], list[str]()
    for number, text in enumerate(own.entries):
        try:
            entries.append(home_pattern(text))
        except ValueError as error:
            problems.append(f"$.{own.place}[{number}]: {text!r}: {error}")
    if problems:
        raise SettingsError(own.shown, problems)
    return tuple(entries)


def shown_entries(entries: tuple[HomePattern, ...]) -> str:
    """Some of them, as they are written."""
    shown = ", ".join(f"~/{'/'.join(one.parts)}" for one in entries[:_NAMED])
    return f"{shown} and {len(entries) - _NAMED} more" if len(entries) > _NAMED else shown


def tell_persisted(done: Persisted, *, quiet: bool) -> bool:
    """Say what is real in the home now, and what is not although it was to be; whether anything is."""
    if done.kept and not quiet:
        shown = ", ".join(quoted_path(f"~/{path}") for path in done.kept[:3])
        more = f" and {len(done.kept) - 3} more" if len(done.kept) > 3 else ""
        click.echo(one_line(f"wink: kept in your home, for real: {paths_of(len(done.kept))} ({shown}{more})"), err=True)
    for path, reason in done.left[:SHOWN]:
        place = quoted_path(f"~/{path}" if path else "~")
        click.echo(one_line(f"wink: not kept in your home: {place} {reason}"), err=True)
    if len(done.left) > SHOWN:
        click.echo(f"wink: not kept in your home: {paths_of(len(done.left) - SHOWN)} more", err=True)
    return bool(done.kept)
