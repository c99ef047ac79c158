"""`wink try`: run any program over a workspace, and keep what it changes apart."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wink.cli import (
    echo_paths,
    one_line,
    open_workspace,
    paths_of,
    persist_settings,
    portable_names_for,
    shown_path,
    shown_workspace,
    told,
    workspace_option,
    wrong,
)
from wink.errors import MergeRefused, ProgramNotStarted, SandboxUnavailable, SettingsError, TryConflict
from wink.filesystem import FileChange, is_git_data, quoted_path
from wink.limits import utc_now
from wink.trust import allowed
from wink_sandbox import Command, Mount, Notes, Overlay, Profile, Sandbox, bubblewrap, check_mounts, launcher, steering
from wink_sandbox.tries import PROFILES, Accepted, Run, Try, private_places, profile_named, run_here

if TYPE_CHECKING:
    from wink_sandbox import RemoteSetting
    from wink_sandbox.tries import HomePattern, Persisted

_OUTSIDE = "what git wrote to {} stays in the try and cannot be accepted: commit again after `wink accept --without {}`"
_WORKTREE = "what git wrote to {} is in the try too, and accepted with it"
_NO_AGENT = "git began a commit and made none; if it was to be signed: no program in a try reaches your ssh or gpg agent, a key in a file without a passphrase works"
_UNCONFINED = (
    "this try is a copy of the workspace, and nothing is confined: network, home and /tmp are the real ones, "
    "and what is written outside of the copy, by the workspace's own path too, is real at once"
)
_OR_UNCONFINED = (
    "`wink doctor` says more; `wink try --unconfined` runs it on a copy of the workspace, and confines nothing"
)
_REFUSED, _KILLED = 2, 130
_TEMPORARY = "/tmp"  # noqa: S108 - what a program sees of it is told
_SHOWN = 20
"""So many notes are shown."""


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
@click.option(
    "--unconfined",
    is_flag=True,
    help="Run it unconfined on a copy of the workspace: what it writes elsewhere is real at once.",
)
@click.option("--read", multiple=True, metavar="PATH", help="Let it read PATH too; may be repeated.")
@click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Say only what is lost, left out or refused: neither what it sees nor what it changed.",
)
def try_(
    command: tuple[str, ...],
    workspace: str,
    name: str,
    keep_on_success: bool,
    profile: str,
    network: bool | None,
    unconfined: bool,
    read: tuple[str, ...],
    quiet: bool,
) -> int:
    """Run a program, a build or a whole agent, without changing anything.

    It sees the workspace as it is, and on top what was tried before under the same NAME. What it changes is kept apart:
    `wink diff` shows it, `wink accept` makes it real, all or in part, as one call that can be undone, and `wink drop`
    forgets it. What it leaves running in the background ends with it. The exit status is the program's own, or 2 where
    --keep-on-success could not accept. The first line on standard error says what the program sees.
    """
    for path in read:
        if not os.path.exists(path):
            raise wrong(f"--read {path!r} does not exist")
    if unconfined and (network is False or read or profile != next(iter(PROFILES))):
        raise wrong("--unconfined confines nothing; give it without --profile, --no-network and --read")
    if "/" not in command[0] and shutil.which(command[0]) is None:
        raise wrong(f"there is no program {command[0]!r} on the PATH")
    with open_workspace(workspace) as opened:
        tried, portable, entries = Try(opened, name), portable_names_for(opened.root), _persisted(profile, opened.root)
        with tried.use() as overlay:
            status, found, home, is_kept = None, None, (), False
            try:
                if unconfined:
                    status, is_kept = _run_unconfined(tried, overlay, command, profile, quiet=quiet)
                else:
                    status, is_kept = _run(
                        tried, overlay, overlay.root, command, profile, network, read, entries, quiet=quiet
                    )
            finally:
                found = tried.differences()
                home, outside = tried.home(), tried.git_outside()
                if not found and len(tried.runs) < 2:
                    tried.end_if_empty()
        for git in outside:
            import shlex

            if quiet and git.main is not None:
                continue  # it is accepted with the files
            said = _OUTSIDE if git.main is None else _WORKTREE
            shown = said.format(quoted_path(git.directory), shlex.quote(shown_path(git.at)))
            click.echo(one_line(f"wink: {shown}"), err=True)
        changes, is_refused = found.changes() if found else (), False
        if _began_to_commit(changes) and _has_agent():
            click.echo(f"wink: {_NO_AGENT}", err=True)
        if keep_on_success and status == 0 and (changes or outside):
            try:
                accepted = tried.accept(portable_names=portable)
            except (TryConflict, MergeRefused) as error:
                is_refused = True
                if not tell_refused(tried, (), portable_names=portable):
                    click.echo(f"wink: {told(error)}", err=True)
            else:
                if quiet:
                    _tell_lost(found.notes)
                else:
                    tell_accepted(accepted, err=True)
                tell_home(() if accepted.is_over else home, name, err=True)
                return status
        if quiet:
            _tell_lost(found.notes)
            return _KILLED if status is None else _REFUSED if is_refused else status
        if (home or is_kept) and not outside and not changes and not found.notes:
            click.echo("wink: it changed nothing in the workspace", err=True)
        else:
            steers = steering(changes, opened.root, portable_names=portable)
            _tell(changes, (*steers, *found.notes), name, only_git=bool(outside))
        tell_home(home, name, err=True)
    return _KILLED if status is None else _REFUSED if is_refused else status


def _run(
    tried: Try,
    overlay: Overlay,
    root: str,
    argv: tuple[str, ...],
    profile: str,
    network: bool | None,
    read: tuple[str, ...],
    entries: tuple[HomePattern, ...],
    *,
    quiet: bool,
) -> tuple[int | None, bool]:
    chosen = PROFILES[profile]
    home = os.environ.get("HOME") or os.path.expanduser("~")
    places = tuple(os.path.abspath(path) for path in read)
    # Where an empty home is wanted, the sandbox makes one; a private one is shown through an overlay of its own.
    made = profile_named(profile, network=network, home=home if chosen.home == "empty" else None, readable=places)
    _check_confining()
    check_mounts(root)
    env = allowed(os.environ, chosen.env)
    if chosen.machine:
        # The workspace is a mount of its own now, and may be a directory of a repository that begins above it.
        env["GIT_DISCOVERY_ACROSS_FILESYSTEM"] = "1"
    words, started = Command(argv, _inside(root), env), utc_now()
    is_private = chosen.home == "private"
    copied = partial(_run_copied, tried, words, made, home if is_private else "", started=started, quiet=quiet)
    if tried.is_copied:
        return copied("began as one")
    mounts, told = private_places(overlay, home, tried.accepts_git_to()) if is_private else ((), ())
    if not quiet:
        _tell_start(made, profile, root, mounts, read)
    for line in told:
        click.echo(one_line(f"wink: {line}"), err=True)
    sandbox = Sandbox(replace(made, writable=tuple(mount.target for mount in mounts)))
    try:
        with _noted(tried, argv, started, home if is_private else "") as ended:
            tried.note_places(mounts)
            persist = None
            if entries:
                from wink_sandbox.tries import Persist

                persist = Persist(overlay, home, entries)
            ended.append(run_here(sandbox, words, overlay, mounts))
            return ended[-1], persist is not None and _tell_persisted(persist.keep(), quiet=quiet)
    except ProgramNotStarted:
        from wink_sandbox import objection  # which is asked only where something has failed

        why = objection(overlay.directory)
        if not why:
            raise
    return copied(f"cannot be an overlay here: {why}")


def _check_confining() -> None:
    """Raise `SandboxUnavailable`, with both ways on, where nothing can confine a program."""
    try:
        bubblewrap()
        launcher.start()
    except SandboxUnavailable as error:
        raise SandboxUnavailable(error.guard, (*error.missing, _OR_UNCONFINED)) from None


def _run_copied(
    tried: Try, command: Command, profile: Profile, home: str, why: str, *, started: datetime, quiet: bool
) -> tuple[int | None, bool]:
    """Run it confined, with a copy of the workspace at the workspace's path; `home` is the home that it may read."""
    if not quiet:
        seen = f"network {'on' if profile.network else 'off'}, {'your home is read-only, and ' if home else ''}{_TEMPORARY}"
        line = f"wink: this try is a copy of the workspace, as it {why}; {seen} is empty and gone afterwards"
        click.echo(one_line(line), err=True)
    readable = (*profile.readable, *([os.path.realpath(home)] if home else []))
    with tried.copied() as copy, _noted(tried, command.argv, started) as ended:
        tell_notes(tuple(copy.left_out), err=True)
        ended.append(run_here(Sandbox(replace(profile, readable=readable)), command, copy.shown))
        return ended[-1], False


def _run_unconfined(
    tried: Try, overlay: Overlay, argv: tuple[str, ...], profile: str, *, quiet: bool
) -> tuple[int | None, bool]:
    """Run it as it is, with a copy of the workspace at another path."""
    from wink_sandbox.tries import run_unconfined

    if not quiet:
        click.echo(f"wink: {_UNCONFINED}", err=True)
    command = Command(argv, _inside(overlay.root), allowed(os.environ, PROFILES[profile].env))
    with tried.copied(moved=True) as copy, _noted(tried, argv, utc_now()) as ended:
        tell_notes(tuple(copy.left_out), err=True)
        ended.append(run_unconfined(command, copy.shown, overlay.lock))
        return ended[-1], False


@contextmanager
def _noted(tried: Try, argv: tuple[str, ...], started: datetime, home: str = "") -> Generator[list[int | None]]:
    """Keep that a program runs, and how it ended, which whoever runs it adds to the list."""
    clock = time.monotonic()
    ended: list[int | None] = []
    tried.note(Run(argv, started, 0.0, None), home)
    yield ended
    tried.note(Run(argv, started, time.monotonic() - clock, ended[-1]))


def _persisted(profile: str, root: str) -> tuple[HomePattern, ...]:
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


def _tell_persisted(done: Persisted, *, quiet: bool) -> bool:
    """Say what is real in the home now, and what is not although it was to be; whether anything is."""
    if done.kept and not quiet:
        shown = ", ".join(quoted_path(f"~/{path}") for path in done.kept[:3])
        more = f" and {len(done.kept) - 3} more" if len(done.kept) > 3 else ""
        click.echo(one_line(f"wink: kept in your home, for real: {paths_of(len(done.kept))} ({shown}{more})"), err=True)
    for path, reason in done.left[:_SHOWN]:
        click.echo(one_line(f"wink: not kept in your home: {quoted_path(f'~/{path}')} {reason}"), err=True)
    if len(done.left) > _SHOWN:
        click.echo(f"wink: not kept in your home: {len(done.left) - _SHOWN} more", err=True)
    return bool(done.kept)


def _tell_start(made: Profile, profile: str, root: str, mounts: Iterable[Mount], read: tuple[str, ...]) -> None:
    """Say in a line what a program sees."""
    is_machine = PROFILES[profile].machine
    uppers = {mount.target: mount.upper for mount in mounts}
    home = (
        "private"
        if any(upper.endswith("/home/upper") for upper in uppers.values())
        else "empty"
        if made.home
        else "none"
    )
    temporary = "private" if _TEMPORARY in uppers else "the workspace" if root == _TEMPORARY else "empty"
    places = f"home and /tmp {home}" if home == temporary else f"home {home}, /tmp {temporary}"
    shown = " and ".join(("machine" if is_machine else "system", *map(quoted_path, read)))
    network, rest = "on" if made.network else "off", "" if is_machine else ", the rest of the machine"
    sees = f"network {network}, {places}, {shown} read-only; hidden: .wink, socket files{rest}"
    with suppress(OSError):  # nobody needs to read it
        click.echo(one_line(f"wink: workspace {shown_workspace()}, profile {profile}: {sees}"), err=True)


def _inside(root: str) -> str:
    """The directory to start in: the current one where that is in the workspace, otherwise the workspace itself."""
    here = os.path.realpath(Path.cwd())
    if here == root or not here.startswith(root.rstrip("/") + "/"):
        return ""
    return os.path.relpath(here, root)


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


def _tell_lost(notes: Notes) -> None:
    """Say what of the program's doings is not kept as it was done."""
    if notes:
        click.echo(f"wink: left out: {paths_of(len(notes))}", err=True)
        tell_left(notes)


def _tell(changes: tuple[FileChange, ...], notes: Notes, name: str, *, only_git: bool = False) -> None:
    if not changes and not notes:
        click.echo(f"wink: it changed nothing{' else' if only_git else ''}", err=True)
        return
    what = f"tried{'' if name == 'default' else ' as ' + name}, nothing of this is real yet"
    tell_changes(changes, what, err=True, how=f"wink diff --try {name} --all")
    tell_notes(notes, err=True)
    if changes:
        which = "" if name == "default" else f" --name {name}"
        click.echo(
            f"wink: see it: wink diff --try {name}; keep it: wink accept{which} [PATH…]; forget it: wink drop{which}",
            err=True,
        )


def tell_accepted(done: Accepted, *, err: bool = False) -> None:
    """Say what is the workspace's now."""
    if done.call is not None:
        tell_changes(done.changes, f"accepted (c{done.call})", err=err, how=f"wink show c{done.call} --all")
    for main, call in done.git:
        import shlex

        way = f"wink undo c{call} --workspace {shlex.quote(main)}"
        click.echo(one_line(f"wink: what git wrote is c{call} of {quoted_path(main)}; {way} takes it back"), err=err)
    tell_notes(done.notes, err=err)


def tell_notes(notes: Notes, *, err: bool = False) -> None:
    """Say what is to be known of some paths, not of too many."""
    for path, reason in notes[:_SHOWN]:
        click.echo(one_line(f"  {shown_path(path)} {reason}"), err=err)
    if len(notes) > _SHOWN:
        click.echo(f"  … and {len(notes) - _SHOWN} more such lines", err=err)


def tell_home(home: tuple[FileChange, ...], name: str, *, err: bool = False) -> None:
    """Say what is in the home of a try, and that it is neither lost nor real."""
    if not home:
        return
    places = list(dict.fromkeys(f"~/{change.path.partition('/')[0]}" for change in home))
    shown = ", ".join(map(quoted_path, places[:3])) + (f" and {len(places) - 3} more" if len(places) > 3 else "")
    which = "" if name == "default" else f" --try {name}"
    line = (
        f"wink: in the home, which stays with the try: {paths_of(len(home))} ({shown}); see it: wink diff --home{which}"
    )
    click.echo(one_line(line), err=err)


def tell_refused(
    tried: Try,
    paths: tuple[str, ...],
    left_out: tuple[str, ...] = (),
    *,
    portable_names: bool = False,
    remotes: Callable[[tuple[RemoteSetting, ...]], bool] | None = None,
) -> bool:
    """Say why nothing was accepted, path by path, and how to go on; False where nothing is in the way any more."""
    import shlex

    without = tried.accept(
        *paths, without=left_out, rest=True, dry_run=True, portable_names=portable_names, remotes=remotes
    )
    if not without.left:
        return False
    which = "" if tried.name == "default" else f" --name {tried.name}"
    words = [*map(shown_path, paths), *(word for path in left_out for word in ("--without", shown_path(path)))]
    given = f" {shlex.join(words)}" if words else ""
    click.echo(f"wink: nothing was accepted, {paths_of(len(without.left))} cannot be:", err=True)
    tell_left(without.left)
    if tried.conflicts():
        shown = "" if tried.name == "default" else f" --try {tried.name}"
        click.echo(
            one_line(f"  `wink diff{shown} --conflicts` shows what the workspace has, and what was tried"), err=True
        )
    if without.changes:
        how = f"wink accept{which} --rest{given}` accepts everything else"
    else:
        how = f"wink drop{which}{given}` forgets what was tried"
    click.echo(one_line(f"  `{how}"), err=True)
    return True


def tell_left(left: Iterable[tuple[str, str]]) -> None:
    """Name what stays in a try, each reason once with the paths beneath."""
    reasons: dict[str, list[str]] = {}
    for path, reason in left:
        reasons.setdefault(reason, []).append(path)
    for reason, paths in list(reasons.items())[:_SHOWN]:
        click.echo(one_line(f"  {reason}:"), err=True)
        for path in paths[:_SHOWN]:
            click.echo(one_line(f"    {shown_path(path)}"), err=True)
        if len(paths) > _SHOWN:
            click.echo(f"    … {len(paths) - _SHOWN} more", err=True)
    if len(reasons) > _SHOWN:
        click.echo(f"  … and for {len(reasons) - _SHOWN} more reasons", err=True)


def tell_changes(changes: tuple[FileChange, ...], what: str, *, err: bool = False, how: str = "") -> None:
    """Say which files changed, not too many of them."""
    click.echo(f"wink: {what}: {paths_of(len(changes))}", err=err)
    echo_paths(changes, err=err, how=how)
