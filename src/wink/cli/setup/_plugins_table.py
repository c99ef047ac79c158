"""The table that `wink plugins` prints."""

import sys
from collections.abc import Iterable
from itertools import groupby
from typing import Final

import click

from wink.cli._shorten import one_line
from wink.plugins import STATES, Ignored, PluginInfo

_COLOURS: Final = {
    "loaded": "green",
    "disabled": "dim",
    "incompatible": "yellow",
    "stale": "yellow",
    "conflict": "red",
    "quarantined": "red",
    "broken": "red",
}
SLOW: Final = 1.0
"""Seconds from which on it is said how long a plugin took to import."""

_HEADINGS: Final = ("PLUGIN", "DISTRIBUTION", "VERSION", "STATE", "OFFERS")


def table(plugins: Iterable[PluginInfo], ignored: Iterable[Ignored]) -> None:
    """Print one line a plugin, its reason beneath it, and a line that counts them; through rich in a terminal."""
    found = tuple(plugins)
    rows = [
        (
            plugin,
            (
                one_line(plugin.name),
                one_line(plugin.distribution),
                one_line(plugin.version),
                plugin.state,
                one_line(offers_in_words(plugin)),
            ),
        )
        for plugin in found
    ]
    if not rows:
        click.echo("no plugins are installed")
    elif sys.stdout.isatty():
        _print_rich(rows)
    else:
        _print_plain(rows)
    if rows:
        click.echo(f"\n{counted(found)}")
    for one in ignored:
        click.echo(one_line(f"ignored: {one.distribution} at {one.location} {one.reason}"))


def offers_in_words(plugin: PluginInfo) -> str:
    """What a plugin offers, in the short names: `section plan; filesystems disk, memory`."""
    parts: list[str] = []
    for kind, offers in groupby(plugin.offers, key=lambda offer: offer.kind):
        names = [offer.short or offer.name for offer in offers]
        parts.append(f"{_plural(kind) if len(names) > 1 else kind} {', '.join(names)}")
    if plugin.hooks:
        parts.append("hooks")
    return "; ".join(parts)


def _plural(kind: str) -> str:
    return "policies" if kind == "policy" else f"{kind}s"


def counted(plugins: Iterable[PluginInfo]) -> str:
    """`5 plugins: 3 available, 2 broken.`, and what `available` means when there is one."""
    states = [plugin.state for plugin in plugins]
    total = f"{len(states)} plugin{'' if len(states) == 1 else 's'}"
    counts = ", ".join(f"{states.count(state)} {state}" for state in STATES if state in states)
    hint = " `available` plugins have not been imported; use --load to try them." if "available" in states else ""
    return f"{total}: {counts}.{hint}"


def _reason(plugin: PluginInfo) -> list[str]:
    slow = plugin.seconds is not None and plugin.seconds >= SLOW and f"takes {plugin.seconds:.1f} s to import"
    return [one_line(text) for text in (plugin.reason, *plugin.notes, slow) if text]


def _print_plain(rows: list[tuple[PluginInfo, tuple[str, ...]]]) -> None:
    cells = [_HEADINGS, *(row for _, row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(_HEADINGS) - 1)]

    def line(row: tuple[str, ...]) -> str:
        return "  ".join((*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1])).rstrip()

    lines = [line(_HEADINGS)]
    indent = " " * (sum(widths) + 2 * len(widths))
    for plugin, row in rows:
        lines.append(line(row))
        lines += [indent + text for text in _reason(plugin)]
    click.echo("\n".join(lines))


def _print_rich(rows: list[tuple[PluginInfo, tuple[str, ...]]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in _HEADINGS:
        drawn.add_column(heading, no_wrap=heading != "OFFERS")
    for plugin, (name, distribution, version, state, offers) in rows:
        last = Text("\n".join((offers, *_reason(plugin))))
        colour = _COLOURS.get(state, "")
        drawn.add_row(Text(name), Text(distribution), Text(version), Text(state, style=colour), last)
    Console().print(drawn)
