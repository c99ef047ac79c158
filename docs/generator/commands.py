"""Every command with what it takes: arguments, options, defaults and help, as click knows them."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Final

import click

from docs.generator.source import cell, table
from wink.cli import COMMANDS, wink
from wink.cli._offered import listed_commands

WIDTH: Final = 10_000
"""Usage in one line, whatever the terminal."""
_COMMON_FROM: Final = 4
"""How many commands an option has to be the same in to be told of once for all of them."""


@cache
def every_command() -> dict[str, click.Command]:
    """Each command and subcommand by its full name, `wink prompts list`, in the order of `wink --help`."""
    return dict(_commands("wink", wink))


def options_of(name: str) -> tuple[click.Option, ...]:
    """The options of one command that help shows."""
    return tuple(one for one in every_command()[name].params if isinstance(one, click.Option) and not one.hidden)


def blocks() -> dict[str, str]:
    """The list, the options that many commands share, and what each command takes."""
    lines = {name: text for name, (_, _, text) in COMMANDS.items()}
    lines |= {one.name: one.summary for one in listed_commands(COMMANDS)}
    listed = [[f"[`wink {name}`](#wink-{name})", cell(text)] for name, text in lines.items()]
    return {
        "list": table(["command", ""], listed),
        "shared": table(["option", "meaning"], [[*row] for row in sorted(_shared())]),
        **{name: _section(name) for name in every_command()},
    }


def _commands(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=name)
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            if found is not None and not found.hidden:
                yield from _commands(f"{name} {below}", found)


def _context(name: str) -> click.Context:
    return click.Context(
        every_command()[name], info_name=name, terminal_width=WIDTH, max_content_width=WIDTH, **wink.context_settings
    )


@cache
def _shared() -> frozenset[tuple[str, str]]:
    """Of each option that several commands have, what `wink run` says of it, or else what most of them say."""
    rows = Counter(_row(one) for name in every_command() for one in options_of(name))
    first = [_row(one) for one in options_of("wink run")]
    most: dict[str, tuple[str, str]] = {}
    for row in (*first, *(row for row, _ in rows.most_common())):
        if rows[row] >= _COMMON_FROM:
            most.setdefault(row[0], row)
    return frozenset(most.values())


def _row(option: click.Option) -> tuple[str, str]:
    names = ", ".join(option.opts)
    if option.secondary_opts:
        names += ", " + ", ".join(option.secondary_opts)
    if not option.is_flag or option.metavar:
        context = click.Context(click.Command("x"))
        names += f" {option.make_metavar(context)}"
    said = (option.help or "").strip()
    if not said:
        raise ValueError(f"the option {names} has no help; write what it does")
    notes: list[str] = []
    if option.multiple and "repeated" not in said and "several" not in said:
        notes.append("may be repeated")
    if option.required:
        notes.append("has to be given")
    if option.show_default and option.default not in (None, False, True):
        notes.append(f"`{option.default}` unless given")
    text = said if not notes else f"{said.rstrip('.')} ({'; '.join(notes)})."
    return cell(names, code=True), cell(text)


def _section(name: str) -> str:
    command = every_command()[name]
    usage = command.get_usage(_context(name)).removeprefix("Usage: ")
    parts = [f"```text\n{usage}\n```", _help(command)]
    if isinstance(command, click.Group) and name != "wink":
        listed = [
            [f"[`{full}`](#{full.replace(' ', '-')})", cell(below.get_short_help_str(WIDTH))]
            for full, below in every_command().items()
            if full.rpartition(" ")[0] == name
        ]
        parts.append(table(["command", ""], listed))
    rows = [_row(one) for one in options_of(name)]
    own = [[*row] for row in rows if row not in _shared()]
    parts.append(table(["option", "meaning"], own))
    common = [row[0] for row in rows if row in _shared()]
    if common:
        parts.append(f"[And as everywhere](#options-that-many-commands-take): {', '.join(common)}.")
    return "\n\n".join(part for part in parts if part)


def _help(command: click.Command) -> str:
    """The command's help, in which a line of `\\b` keeps click from filling a paragraph."""
    text = inspect.cleandoc(command.help or "")
    if not text:
        raise ValueError(f"the command {command.name!r} has no help; write what it is for")
    paragraphs = text.partition("\f")[0].split("\n\n")
    return "\n\n".join(
        f"```text\n{paragraph.removeprefix(chr(8)).strip(chr(10))}\n```" if paragraph.startswith("\b") else paragraph
        for paragraph in paragraphs
    )
