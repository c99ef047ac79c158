"""What `wink try` hides from a program: what rules deny reading in the workspace, and elsewhere what is for no agent."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from wink.cli import hide_settings, one_line, rule_policies, wrong
from wink.errors import SettingsError
from wink_sandbox.tries import PROFILES

if TYPE_CHECKING:
    from wink_sandbox.hiding import Hiding, Kept
    from wink_sandbox.tries import HomePattern


def hiding_of(root: str, tool: str = "run_command") -> Hiding | None:
    """What the settings' rules hide from programs of a tool; raises `RulesError` and `SettingsError`."""
    policies = rule_policies(root)
    if not policies:
        return None
    from wink_sandbox.hiding import hiding_by

    return hiding_by(policies, tool)


def kept_of(profile: str, root: str, read: Sequence[str], entries: Sequence[HomePattern]) -> Kept | None:
    """What of the machine is hidden, but for what it is to `read`, or may make real; None for a profile that shows no home."""
    if PROFILES[profile].home != "private":
        return None
    from wink_sandbox.hiding import kept_from

    shown = [one if one.startswith("$") else os.path.realpath(one) for one in read]
    shown += [f"~/{'/'.join(one.fixed)}" for one in entries]
    return kept_from(os.path.realpath(root), homes(), os.environ, hide_entries(root), shown)


def hide_entries(root: str) -> dict[str, str]:
    """What tries hide of the machine, and where the user says so, "" for what they usually hide; raises `SettingsError`."""
    from wink_sandbox.hiding import USUALLY_HIDDEN, problem_with

    own = hide_settings(root)
    for note in own.notes:
        click.echo(one_line(f"wink: {note}"), err=True)
    problems = [
        f"$.{own.place}[{number}]: {text!r} {problem}"
        for number, text in enumerate(own.entries)
        if (problem := problem_with(text)) is not None
    ]
    if problems:
        raise SettingsError(own.shown, problems)
    return {**dict.fromkeys(USUALLY_HIDDEN, ""), **dict(zip(own.entries, own.origins, strict=True))}


def readable(read: Sequence[str]) -> tuple[str, ...]:
    """What --read says, looked at: paths that are there, and variables behind a `$`, which are given back without any others."""
    for path in read:
        if path.startswith("$"):
            if path[1:] not in os.environ:
                raise wrong(f"--read {path!r} names no variable that is set")
        elif not os.path.exists(path):
            raise wrong(f"--read {path!r} does not exist")
    return tuple(path for path in read if not path.startswith("$"))


def homes() -> tuple[str, ...]:
    """The real paths of this user's homes: the variable can name another one than the system does."""
    import pwd

    places = [os.environ.get("HOME") or os.path.expanduser("~")]
    try:
        places.append(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:  # a user without a name, as in a container
        pass
    return tuple(dict.fromkeys(real for real in map(os.path.realpath, places) if real != "/"))
