"""`--network` of `wink try`: without a host it opens the network, with hosts it opens a way to these."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from wink.cli import network_settings, one_line, wrong
from wink.errors import SettingsError
from wink_sandbox.tries import PROFILES

if TYPE_CHECKING:
    from wink.workspace import Workspace
    from wink_sandbox import People, Traffic

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


class Reach(NamedTuple):
    """What a program may reach, None for what its profile says, and whether a person is asked about other hosts."""

    network: Network | None = None
    asks: bool = False


def network_of(profile: str, given: tuple[str, ...], none: bool, asks: bool, root: str) -> Reach:
    """What a program may reach: what is asked for, else what the settings leave of the network of its profile."""
    hosts = tuple(one for one in given if one != ANY)
    if none and given:
        raise wrong("--no-network and --network exclude each other; give one of them")
    if hosts and len(hosts) < len(given):
        raise wrong("--network alone opens all of the network; give it with a host each time, or once without")
    if asks and (none or ANY in given):
        raise wrong(
            "--ask-network asks about hosts that are not listed; give it without --no-network, and --network with a host"
        )
    if none or ANY in given:
        return Reach(not none)
    if given or (asks and not PROFILES[profile].network):
        for problem in filter(None, map(_problem, hosts)):
            raise wrong(f"--network {problem}")
        return Reach(hosts, asks or network_settings(root).asks)
    if not PROFILES[profile].network:
        return Reach()
    said = network_settings(root)
    for note in said.notes:
        click.echo(one_line(f"wink: {note}"), err=True)
    if isinstance(said.network, tuple):
        told = ((number, _problem(text)) for number, text in enumerate(said.network))
        if problems := [f"$.{said.place}[{number}]: {problem}" for number, problem in told if problem]:
            raise SettingsError(said.shown, problems)
    asks = asks or said.asks
    # What is asked about has to be what is not listed: there is nothing to ask where all is open.
    return Reach(
        said.network or () if asks and said.network is not True else said.network, asks and said.network is not True
    )


def people_of(workspace: Workspace, program: str, name: str) -> People:
    """Whoever can be asked about hosts: a line on standard error says by which command, in another terminal."""
    from wink_sandbox import People, has_terminal

    def tell(line: str) -> None:
        # The terminal may be raw, for the program's keys, where a line does not begin at its left by itself.
        with suppress(OSError):
            os.write(2, f"\r{one_line(f'wink: {line}')}\r\n".encode("utf-8", "backslashreplace"))

    is_here = has_terminal()
    return People(
        workspace.record.approvals,
        "default",
        f"{one_line(os.path.basename(program))} in wink try",
        tell,
        "give --network {}",
        call_id=f"try {name}",
        refusal="" if is_here else "nobody can be asked: there is no terminal",
    )


def shown_network(network: Network, asks: bool = False) -> str:
    """How the first line of `wink try` calls it."""
    if asks and not network:
        return "asked about, host by host"
    if isinstance(network, bool) or not network:
        return "on" if network else "off"
    more = f" and {len(network) - _NAMED} more" if len(network) > _NAMED else ""
    return f"to {', '.join(network[:_NAMED])}{more}{', asked about others' if asks else ' alone'}"


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
            "asked": one.asked or None,
        }
        for one in traffic.contacts
    ]
    return {"contacts": contacts, "more": traffic.more, "unrouted": traffic.unrouted}
