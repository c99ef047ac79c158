"""`--network` of `wink try`: without a host it opens the network, with hosts it opens a way to these."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from wink.cli import network_settings, one_line, wrong
from wink.errors import SettingsError
from wink_sandbox.tries import PROFILES

if TYPE_CHECKING:
    from wink_sandbox import Traffic

ANY: Final = "\0"
"""What stands for `--network` without a host: nobody can write it."""

_OPTION: Final = "--network"
_SHOWN: Final = 10
_NAMED: Final = 3

Network = bool | tuple[str, ...]


class WithNetwork(click.Command):
    """A command whose `--network` takes a host or none: one in front of the program's name is not taken for a host."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, once it is clear for each `--network` whether it has a host."""
        valued = {word for one in self.params if isinstance(one, click.Option) and not one.is_flag for word in one.opts}
        long = {
            word for one in self.params if isinstance(one, click.Option) for word in (*one.opts, *one.secondary_opts)
        }
        return super().parse_args(ctx, spelled(args, valued, {word for word in long if word.startswith("--")}))


def spelled(args: Sequence[str], valued: set[str], long: set[str]) -> list[str]:
    """The arguments with `--network=HOST` or a mark in the place of each `--network`, up to where the program begins.

    What follows is a host where `--` or an option comes after it, or where it looks like one and is no program.
    """
    done, at = list[str](), 0
    while at < len(args) and args[at].startswith("-") and args[at] != "--":
        word, rest = args[at], args[at + 1 : at + 3]
        if word == _OPTION:
            has_host = bool(rest) and _is_host(rest[0], rest[1] if len(rest) > 1 else "", long)
            done.append(f"{_OPTION}={rest[0] if has_host else ANY}")
            at += 2 if has_host else 1
        else:
            number = 2 if word in valued else 1
            done += args[at : at + number]
            at += number
    return [*done, *args[at:]]


def _is_host(word: str, after: str, long: set[str]) -> bool:
    if _problem(word):
        return False
    if after == "--" or after.partition("=")[0] in long:
        return True
    return (word == "localhost" or not {".", ":"}.isdisjoint(word)) and shutil.which(word) is None


def _problem(host: str) -> str:
    """What is wrong with an entry, nothing where it can be read."""
    from wink_sandbox import Listed  # which most tries do not need

    try:
        Listed((host,))
    except ValueError as error:
        return str(error)
    return ""


def network_of(profile: str, given: tuple[str, ...], none: bool, root: str) -> Network | None:
    """What a program may reach: what is asked for, else what the settings leave of the network of its profile."""
    hosts = tuple(one for one in given if one != ANY)
    if none and given:
        raise wrong("--no-network and --network exclude each other; give one of them")
    if hosts and len(hosts) < len(given):
        raise wrong("--network alone opens all of the network; give it with a host each time, or once without")
    if none or given:
        for problem in filter(None, map(_problem, hosts)):
            raise wrong(f"--network {problem}")
        return hosts or not none
    if not PROFILES[profile].network:
        return None
    said = network_settings(root)
    for note in said.notes:
        click.echo(one_line(f"wink: {note}"), err=True)
    if isinstance(said.network, tuple):
        told = ((number, _problem(text)) for number, text in enumerate(said.network))
        if problems := [f"$.{said.place}[{number}]: {problem}" for number, problem in told if problem]:
            raise SettingsError(said.shown, problems)
    return said.network


def shown_network(network: Network) -> str:
    """How the first line of `wink try` calls it."""
    if isinstance(network, bool) or not network:
        return "on" if network else "off"
    more = f" and {len(network) - _NAMED} more" if len(network) > _NAMED else ""
    return f"to {', '.join(network[:_NAMED])}{more} alone"


def tell_traffic(traffic: Traffic, *, quiet: bool) -> None:
    """Say what the program asked of the network: with `quiet` what it did not get."""
    lines = [line for line in traffic.lines() if not quiet or " allowed, " not in line]
    for line in lines[:_SHOWN]:
        click.echo(one_line(f"wink: network: {line}"), err=True)
    if len(lines) > _SHOWN:
        click.echo(f"wink: network: {len(lines) - _SHOWN} lines more", err=True)


def json_of_traffic(traffic: Traffic) -> dict[str, object]:
    """The same for machines."""
    contacts = [
        {
            "host": one.host,
            "port": one.port,
            "outcome": one.outcome,
            "times": one.times,
            "sent": one.sent,
            "received": one.received,
        }
        for one in traffic.contacts
    ]
    return {"contacts": contacts, "more": traffic.more, "unrouted": traffic.unrouted}
