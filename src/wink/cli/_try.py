"""`wink try`: run any program over a workspace, and keep what it changes apart."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import click

from wink.cli._calls import SHOWN, echo_paths, opened_for_reading, workspace_option
from wink.cli._shorten import one_line
from wink.cli._wrong import wrong
from wink.errors import MergeRefused, TryConflict
from wink.filesystem import FileChange
from wink.limits import utc_now
from wink.sandbox import Command, Overlay, Sandbox, allowed, steering
from wink.tries import PROFILES, Run, Try, private_home, profile_named, run_here

_KILLED = 130


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND [ARGUMENT]...")
@workspace_option
@click.option(
    "--name", default="default", metavar="NAME", help="Which try it belongs to; several can stand side by side."
)
@click.option("--keep-on-success", is_flag=True, help="Accept what it changed when it exits with status 0.")
@click.option(
    "--profile",
    type=click.Choice(tuple(PROFILES)),
    default=next(iter(PROFILES)),
    show_default=True,
    help="; ".join(f"{name}: {one.summary}" for name, one in PROFILES.items()),
)
@click.option("--network/--no-network", default=None, help="Whether it reaches the network, whatever the profile says.")
@click.option("--read", multiple=True, metavar="PATH", help="Let it read PATH too; may be repeated.")
def try_(
    command: tuple[str, ...],
    workspace: str,
    name: str,
    keep_on_success: bool,
    profile: str,
    network: bool | None,
    read: tuple[str, ...],
) -> int:
    """Run a program, a build or a whole agent, without changing anything.

    It sees the workspace as it is, and on top what was tried before under the same NAME. What it changes is kept apart:
    `wink diff` shows it, `wink accept` makes it real, all or in part, as one call that can be undone, and `wink drop`
    forgets it. The exit status is the program's own.
    """
    for path in read:
        if not os.path.exists(path):
            raise wrong(f"--read {path!r} does not exist")
    if "/" not in command[0] and shutil.which(command[0]) is None:
        raise wrong(f"there is no program {command[0]!r} on the PATH")
    with opened_for_reading(workspace) as opened:
        tried = Try(opened, name)
        with tried.use() as overlay:
            status, found = None, None
            try:
                status = _run(tried, overlay, overlay.root, command, profile, network, read)
            finally:
                found = tried.differences()
                if not found and len(tried.runs) < 2:
                    overlay.drop()
        changes = found.changes() if found else ()
        if keep_on_success and status == 0 and changes:
            try:
                accepted = tried.accept()
            except (TryConflict, MergeRefused) as error:
                click.echo(f"wink: {error}", err=True)
            else:
                tell_changes(accepted.changes, f"accepted (c{accepted.call})", err=True)
                return status
        _tell(changes, (*steering(changes, opened.root), *found.notes), name)
    return _KILLED if status is None else status


def _run(
    tried: Try,
    overlay: Overlay,
    root: str,
    argv: tuple[str, ...],
    profile: str,
    network: bool | None,
    read: tuple[str, ...],
) -> int | None:
    chosen = PROFILES[profile]
    home = os.environ.get("HOME") or os.path.expanduser("~")
    places = tuple(os.path.abspath(path) for path in read)
    # Where an empty home is wanted, the sandbox makes one; a private one is shown through an overlay of its own.
    made = profile_named(profile, network=network, home=home if chosen.home == "empty" else None, readable=places)
    mounts = ()
    if chosen.home == "private":
        mount = private_home(overlay, home)
        if mount is not None:
            made, mounts = replace(made, writable=(mount.target,)), (mount,)
    cwd = _inside(root)
    sandbox = Sandbox(made)
    started, clock = utc_now(), time.monotonic()
    env = allowed(os.environ, chosen.env)
    if chosen.machine:
        # The workspace is a mount of its own now, and may be a directory of a repository that begins above it.
        env["GIT_DISCOVERY_ACROSS_FILESYSTEM"] = "1"
    tried.note(Run(argv, started, 0.0, None))
    status = run_here(sandbox, Command(argv, cwd, env), overlay, mounts)
    tried.note(Run(argv, started, time.monotonic() - clock, status))
    return status


def _inside(root: str) -> str:
    """The directory to start in: the current one where that is in the workspace, otherwise the workspace itself."""
    here = os.path.realpath(Path.cwd())
    if here == root or not here.startswith(root.rstrip("/") + "/"):
        return ""
    return os.path.relpath(here, root)


def _tell(changes: tuple[FileChange, ...], notes: tuple[tuple[str, str], ...], name: str) -> None:
    if not changes and not notes:
        click.echo("wink: it changed nothing", err=True)
        return
    tell_changes(changes, f"tried{'' if name == 'default' else ' as ' + name}, nothing of this is real yet", err=True)
    for path, reason in notes[:SHOWN]:
        click.echo(one_line(f"  {path} {reason}"), err=True)
    if changes:
        which = "" if name == "default" else f" --name {name}"
        click.echo(
            f"wink: see it: wink diff --try {name}; keep it: wink accept{which} [PATH…]; forget it: wink drop{which}",
            err=True,
        )


def tell_changes(changes: tuple[FileChange, ...], what: str, *, err: bool = False) -> None:
    """Say which files changed, not too many of them."""
    number = len(changes)
    click.echo(f"wink: {what}: {paths_of(number)}", err=err)
    echo_paths(changes, err=err)


def paths_of(number: int) -> str:
    """A number of paths, in words.

    >>> paths_of(1), paths_of(2)
    ('1 path', '2 paths')
    """
    return f"{number} path{'' if number == 1 else 's'}"
