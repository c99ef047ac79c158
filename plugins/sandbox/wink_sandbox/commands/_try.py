"""`wink try`: run any program over a workspace, and keep what it changes apart."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from wink.cli import (
    one_line,
    open_workspace,
    portable_names_for,
    shown_path,
    told,
    workspace_option,
    wrong,
)
from wink.errors import MergeRefused, TryConflict, WinkError
from wink.filesystem import FileChange, is_git_data, quoted_path
from wink_sandbox import steering
from wink_sandbox.commands._network import ANY, Reach, WithNetwork, network_of, people_of
from wink_sandbox.commands._telling import tell_accepted, tell_home, tell_lost, tell_refusals, tell_refused, tell_tried
from wink_sandbox.tries import PROFILES, Try

if TYPE_CHECKING:
    from wink_sandbox import Differences
    from wink_sandbox.commands._ways import Asked
    from wink_sandbox.tries import Accepted

_OUTSIDE = "what git wrote to {} stays in the try and cannot be accepted: commit again after `wink accept --without {}`"
_ASKED = "what git wrote to {} is in the try too; `wink accept` asks whether that belongs here, `wink accept --git-dir` takes it"
_WORKTREE = "what git wrote to {} is in the try too, and accepted with it"
_NO_AGENT = "git began a commit and made none; if it was to be signed: no program in a try reaches your ssh or gpg agent, a key in a file without a passphrase works"
_REFUSED, _KILLED = 2, 130


@click.command(cls=WithNetwork, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND [ARGUMENT]...")
@workspace_option
@click.option(
    "--name",
    "--try",
    "name",
    default="default",
    metavar="NAME",
    help="Which try it belongs to; several can stand side by side.",
)
@click.option("--keep-on-success", is_flag=True, help="Accept what it changed when it exits with status 0.")
@click.option(
    "--profile",
    type=click.Choice(tuple(PROFILES)),
    default=next(iter(PROFILES)),
    show_default=True,
    help="; ".join(f"{name}: {one.summary}" for name, one in PROFILES.items()),
)
@click.option(
    "--network",
    multiple=True,
    metavar="[HOST[:PORT]]",
    help="Let it reach the network whatever the profile says, or HOST alone, through a proxy; may be repeated.",
)
@click.option("--ask-network", is_flag=True, help="Ask you about each host that is not listed, by `wink approve`.")
@click.option("--no-network", is_flag=True, help="Keep it from the network, whatever the profile says.")
@click.option(
    "--unconfined",
    is_flag=True,
    help="Run it unconfined on a copy of the workspace: what it writes elsewhere is real at once.",
)
@click.option(
    "--read",
    multiple=True,
    metavar="PATH",
    help="Let it read PATH too, also where that is hidden otherwise, or a '$VARIABLE'; may be repeated.",
)
@click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Say only what is lost, left out or refused: neither what it sees nor what it changed.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="As --quiet, and the last line of standard error is one JSON object, for machines.",
)
def try_(
    command: tuple[str, ...],
    workspace: str,
    name: str,
    keep_on_success: bool,
    profile: str,
    network: tuple[str, ...],
    ask_network: bool,
    no_network: bool,
    unconfined: bool,
    read: tuple[str, ...],
    quiet: bool,
    as_json: bool,
) -> int:
    """Run a program, a build or a whole agent, without changing anything.

    It sees the workspace as it is, and on top what was tried before under the same NAME. What it changes is kept apart:
    `wink diff` shows it, `wink accept` makes it real, all or in part, as one call that can be undone, and `wink drop`
    forgets it. What it leaves running in the background ends with it. The exit status is the program's own, or 2 where
    --keep-on-success could not accept. The first line on standard error says what the program sees.
    """
    # What `--help` does not need.
    from wink_sandbox.commands._hidden import hiding_of, kept_of, readable
    from wink_sandbox.commands._keeping import persisted
    from wink_sandbox.commands._ways import Asked, run_confined, run_on_copy

    quiet = quiet or as_json
    paths = readable(read)
    if unconfined and (
        no_network or ask_network or any(one != ANY for one in network) or read or profile != next(iter(PROFILES))
    ):
        raise wrong(
            "--unconfined confines nothing; give it without --profile, --no-network, --ask-network, a host and --read"
        )
    if "/" not in command[0] and shutil.which(command[0]) is None:
        raise wrong(f"there is no program {command[0]!r} on the PATH")
    with open_workspace(workspace) as opened:
        tried, portable, entries = Try(opened, name), portable_names_for(opened.root), persisted(profile, opened.root)
        reach = Reach() if unconfined else network_of(profile, network, no_network, ask_network, opened.root)
        kept = None if unconfined else kept_of(profile, opened.root, read, entries)
        hiding = None if unconfined else hiding_of(opened.root)
        people = people_of(opened, command[0], name) if reach.asks else None
        asked = Asked(command, profile, reach.network, paths, entries, quiet, hiding, kept, people)
        with tried.use() as overlay:
            status, found, home, is_kept = None, None, (), False
            left: tuple[tuple[str, str], ...] = ()
            try:
                if unconfined:
                    status = run_on_copy(tried, overlay, asked)
                else:
                    status, is_kept = run_confined(tried, overlay, asked)
            finally:
                found = tried.differences()
                home, outside = tried.home(), tried.git_outside()
                if not found:
                    tried.end_if_empty()
                else:
                    from wink.cli import settings_problem  # which a try that changes nothing does not need

                    left = tried.refusals(
                        found, portable_names=portable, settings=settings_problem, denial=_denials(opened.root)
                    )
        if hiding is not None and hiding.hidden and not quiet:
            click.echo(one_line(f"wink: hidden by rules, and empty for the program: {hiding}"), err=True)
        for git in outside:
            import shlex

            is_known = tried.is_confirmed(git)
            if quiet and is_known:
                continue  # it is accepted with the files
            said = _WORKTREE if is_known else _OUTSIDE if git.home is None else _ASKED
            shown = said.format(quoted_path(git.directory), shlex.quote(shown_path(git.at)))
            click.echo(one_line(f"wink: {shown}"), err=True)
        changes, is_refused = found.changes() if found else (), False
        if not unconfined and _began_to_commit(changes) and _has_agent():
            click.echo(f"wink: {_NO_AGENT}", err=True)
        if keep_on_success and status == 0 and (changes or outside):
            try:
                from wink.cli import path_denials, settings_problem

                denial = path_denials(opened.root)
                accepted = tried.accept(portable_names=portable, settings=settings_problem, denial=denial)
            except (TryConflict, MergeRefused) as error:
                is_refused = True
                if not tell_refused(tried, (), portable_names=portable).left:
                    click.echo(f"wink: {told(error)}", err=True)
            else:
                if quiet:
                    tell_lost(found.notes)
                else:
                    tell_accepted(accepted, ignored=opened.filesystem.ignored(), err=True)
                tell_home(() if accepted.is_over else home, name, err=True)
                if as_json:
                    _tell_machine(tried, status, found, home, left, _hidden(asked), accepted)
                return status
        if quiet:
            tell_refusals(() if is_refused else left)
            tell_lost(found.notes)
            if as_json:
                _tell_machine(tried, status, found, home, left, _hidden(asked))
            return _KILLED if status is None else _REFUSED if is_refused else status
        if (home or is_kept) and not outside and not changes and not found.notes:
            click.echo("wink: it changed nothing in the workspace", err=True)
        else:
            steers = steering(changes, opened.root, portable_names=portable)
            notes = (*(one for one in steers if one not in left), *found.notes)
            refused, ignored = () if is_refused else left, opened.filesystem.ignored()
            tell_tried(changes, notes, name, refused, ignored=ignored, only_git=bool(outside))
        tell_home(home, name, err=True)
    return _KILLED if status is None else _REFUSED if is_refused else status


def _hidden(asked: Asked) -> tuple[str, ...]:
    """What rules hid in the workspace, and then what of the machine was hidden, as it is named."""
    return (
        *(asked.hiding.hidden if asked.hiding is not None else ()),
        *(asked.kept.told if asked.kept is not None else ()),
    )


def _denials(root: str) -> Callable[[str], str] | None:
    """What rules deny; None where they cannot be read, which an accept says, and is no reason to keep quiet of what was tried."""
    from wink.cli import path_denials

    with suppress(WinkError):
        return path_denials(root)
    return None


def _tell_machine(
    tried: Try,
    status: int | None,
    found: Differences,
    home: tuple[FileChange, ...],
    left: tuple[tuple[str, str], ...],
    hidden: tuple[str, ...],
    accepted: Accepted | None = None,
) -> None:
    """Say all of it in JSON, on standard error, since standard output is the program's."""
    import json

    from wink.cli import json_of_change, json_of_reasons
    from wink.filesystem import path_in_json
    from wink_sandbox.commands._accept import json_of_accepted

    facts = {
        "try": tried.name,
        "status": status,
        "changes": list(map(json_of_change, found.changes())),
        "cannot_be_accepted": json_of_reasons(left),
        "notes": json_of_reasons(found.notes),
        "hidden": [path_in_json(path) for path in hidden],
        "home": [path_in_json(change.path) for change in home],
        "accepted": None if accepted is None else json_of_accepted(tried, accepted),
    }
    click.echo(json.dumps(facts), err=True)


def _has_agent() -> bool:
    """Whether an agent of the user may hold a key: gpg's has its socket in its own directory, or where systemd listens for it."""
    gpg = os.environ.get("GNUPGHOME") or os.path.expanduser("~/.gnupg")
    places = (f"{gpg}/S.gpg-agent", f"/run/user/{os.getuid()}/gnupg/S.gpg-agent")
    return bool(os.environ.get("SSH_AUTH_SOCK")) or any(map(os.path.exists, places))


def _began_to_commit(changes: tuple[FileChange, ...]) -> bool:
    """Whether git has written a commit's message, and no commit: it signs between the two."""
    paths = {change.path for change in changes if is_git_data(change.path)}
    messages = [path for path in paths if path.endswith("/COMMIT_EDITMSG")]
    return any(f"{path.rpartition('/')[0]}/logs/HEAD" not in paths for path in messages)
