"""`wink accept`, `wink drop` and `wink tries`: what becomes of what was tried."""

from __future__ import annotations

import json
import shlex
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from wink.cli import (
    Shown,
    echo_diff,
    echo_json,
    echo_paths,
    fit,
    json_of_change,
    json_of_reasons,
    json_option,
    named_path,
    one_line,
    open_workspace,
    opened_for_reading,
    path_denials,
    paths_of,
    portable_names_for,
    settings_problem,
    visible,
    when,
    workspace_option,
    wrong,
)
from wink.errors import MergeRefused, TryConflict, WinkError
from wink.filesystem import FileChange, path_in_json, quoted_path
from wink.limits import utc_now
from wink_sandbox import GitOutside
from wink_sandbox.commands._checking import check_of
from wink_sandbox.commands._network import json_of_traffic
from wink_sandbox.commands._patch import check_terminal, pick
from wink_sandbox.commands._remotes import GitDirectories, Remotes
from wink_sandbox.commands._telling import (
    tell_accepted,
    tell_changes,
    tell_home,
    tell_left,
    tell_merged,
    tell_notes,
    tell_paths,
    tell_refused,
)
from wink_sandbox.tries import KEPT, Accepted, CheckFailed, Try, bring_back, clashes, dropped_tries, tries

if TYPE_CHECKING:
    from datetime import datetime

    from wink.filesystem import Ignored
    from wink.workspace import Workspace
    from wink_sandbox.tries import Choice, Conflict

_FAILED, _WRONG, _NAMED = 1, 2, 5
_name = click.option("--name", "--try", "name", metavar="NAME", help="Which try is meant, where there are several.")
_dry_run = click.option("--dry-run", is_flag=True, help="Only show what would change.")


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@workspace_option
@_name
@click.option(
    "--without", multiple=True, metavar="PATH", help="Leave out what is at and beneath PATH; may be repeated."
)
@click.option("--all", "everything", is_flag=True, help="Accept all of it, as where no PATH is given.")
@click.option("--session", default="default", metavar="NAME", help="The session in whose log it is to stand.")
@click.option("--rest", is_flag=True, help="Leave out what cannot be accepted, and accept the rest.")
@click.option(
    "--remotes", is_flag=True, help="Take new git remotes, and other addresses of remotes; at a terminal it asks."
)
@click.option(
    "--git-dir",
    is_flag=True,
    help="Take what git wrote to a git directory outside that does not name this working tree, now and later; at a terminal it asks.",
)
@click.option(
    "--conflicts",
    "choice",
    type=click.Choice(["markers", "workspace", "try"]),
    help="What to take where the workspace has changed the same lines: both, with markers, its own, or those of the try.",
)
@click.option(
    "--check",
    metavar="COMMAND",
    help="Accept only if this shell command passes on the result, in the sandbox and without network; what it writes is dropped.",
)
@click.option("-p", "--patch", is_flag=True, help="Ask for each hunk, at a terminal, as `git add -p` does.")
@_dry_run
@json_option
def accept(
    paths: tuple[str, ...],
    workspace: str,
    name: str | None,
    without: tuple[str, ...],
    everything: bool,
    session: str,
    rest: bool,
    remotes: bool,
    git_dir: bool,
    choice: Choice | None,
    check: str | None,
    patch: bool,
    dry_run: bool,
    as_json: bool,
) -> int | None:
    """Make what was tried real, all of it or what is at and beneath PATHs.

    A PATH may be a pattern as those of git are, such as 'src/*.py', where * crosses directories. It is one call, which
    `wink undo` takes back. What the workspace has changed meanwhile is merged with it, by lines. Where both have changed the
    same lines, or what is no text, or where something may not become a workspace's, nothing is
    accepted and the paths are named. With --rest they stay in the try, everything else is accepted, and the exit status
    is 1; what --without leaves out stays there too. With --check a command is run on what the workspace would be, one at a time,
    and where it fails nothing is accepted either, and the exit status is 2.
    """
    if everything and paths:
        raise wrong("--all accepts all of it; give it without PATHs, or leave some out with --without")
    if check is not None and (patch or dry_run):
        raise wrong("--check is run when all that was chosen is accepted; give it without --patch and --dry-run")
    if patch:
        if as_json:
            raise wrong("--patch asks a person for each hunk; give it without --json, or name PATHs")
        if dry_run:
            raise wrong("--patch shows all before it asks; give it without --dry-run, and answer q")
        check_terminal()
    with open_workspace(workspace) as opened:
        tried = chosen_try(opened, name)
        chosen, left_out = tuple(map(named_path, paths)), tuple(map(named_path, without))
        picking, portable = pick if patch else None, portable_names_for(opened.root)
        asking = Remotes(opened.root, taken=remotes) if remotes or not dry_run else None
        belongs = GitDirectories(taken=git_dir) if not dry_run else None
        try:
            done = tried.accept(
                *chosen,
                without=left_out,
                session=session,
                rest=rest,
                dry_run=dry_run,
                pick=picking,
                portable_names=portable,
                remotes=asking,
                git_directory=belongs,
                settings=settings_problem,
                denial=path_denials(opened.root),
                choice=choice,
                check=None if check is None else check_of(check, as_json=as_json),
                on_wait=lambda: click.echo("wink: another check is running here; waiting for it", err=True),
            )
        except CheckFailed as error:
            if not as_json:
                raise
            echo_json(**json_of_accepted(tried, Accepted(None, ())), check={"status": error.status}, dry_run=False)
            return _WRONG
        except (TryConflict, MergeRefused):
            refused = tell_refused(
                tried, chosen, left_out, portable_names=portable, remotes=asking, git_directory=belongs, choice=choice
            )
            if not refused.left:
                raise
            if as_json:
                nothing = Accepted(None, (), left=refused.left, conflicts=refused.conflicts)
                echo_json(**json_of_accepted(tried, nothing), dry_run=dry_run)
            return _WRONG
        if as_json:
            passed = {"check": {"status": 0}} if check is not None and done.call is not None else {}
            echo_json(**json_of_accepted(tried, done), **passed, dry_run=dry_run)
            return _FAILED if done.left or done.marked else None
        if dry_run:
            click.echo(f"would accept {paths_of(len(done.changes))} of the try {tried.name!r}")
            tell_merged(done)
            tell_notes(done.notes)
            echo_diff(done.changes, Shown(opened.filesystem.ignored()), how=f"wink diff --try {tried.name}")
        elif done.call is not None or done.git:
            tell_accepted(done, ignored=opened.filesystem.ignored())
        elif patch:
            click.echo("nothing was chosen that changes anything")
        elif not done.left:
            click.echo("nothing to accept: the workspace is like that already")
            tell_merged(done)
            _tell_rest(tried, done)
            return None
        if done.left:
            click.echo(f"wink: left out: {paths_of(len({path for path, _ in done.left}))}", err=True)
            tell_left(done.left)
        if done.call is not None or done.git:
            _tell_rest(tried, done)
        return _FAILED if done.left or done.marked else None


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@workspace_option
@_name
@click.option("--undo", is_flag=True, help="Bring back what was dropped last.")
@_dry_run
@json_option
def drop(paths: tuple[str, ...], workspace: str, name: str | None, undo: bool, dry_run: bool, as_json: bool) -> None:
    """Forget what was tried, all of it or what is at and beneath PATHs, which may be patterns. What was accepted stays.

    With --undo the try that was dropped last, or last as NAME, is there again. The last 5 can come back, until `wink gc`
    frees them; `wink tries --dropped` lists them.
    """
    with opened_for_reading(workspace) as opened:
        if undo:
            if paths:
                raise wrong(
                    "--undo brings back all that was dropped at once; `wink drop --undo`, then name PATHs to others"
                )
            return _bring_back(opened, name, dry_run=dry_run, as_json=as_json)
        tried = chosen_try(opened, name)
        home, outside = tuple[FileChange, ...](), tuple[GitOutside, ...]()
        with suppress(OSError):  # what cannot be read can be dropped
            home, outside = tried.home(), tried.git_outside()
        done = tried.drop(*map(named_path, paths), dry_run=dry_run)
        if as_json:
            gone = [path_in_json(change.path) for change in home] if done.is_over or dry_run else []
            echo_json(**json_of_accepted(tried, done), home=gone, dry_run=dry_run)
            return None
        if dry_run:
            click.echo(f"would forget {paths_of(len(done.changes))} of the try {tried.name!r}")
            echo_diff(done.changes, Shown(opened.filesystem.ignored()), how=f"wink diff --try {tried.name}")
            return None
        tell_changes(done.changes, "forgotten", ignored=opened.filesystem.ignored())
        if home and done.is_over:
            click.echo(f"  and {paths_of(len(home))} in the home")
        for git in outside if done.is_over else ():
            click.echo(one_line(f"  and what git wrote to {quoted_path(git.directory)}"))
        _tell_rest(tried, done)
        click.echo(
            f"  `wink drop --undo{_named(tried.name)}` brings it back, until `wink gc`, or {KEPT} more that are dropped"
        )
        return None


def _bring_back(workspace: Workspace, name: str | None, *, dry_run: bool, as_json: bool) -> None:
    found = [(one, tried) for one, tried in dropped_tries(workspace) if name in (None, one.name)]
    if not found:
        which = "nothing that was dropped" if name is None else f"no try that was dropped as {name!r}"
        raise wrong(f"there is {which} and can come back; `wink tries --dropped` lists what can")
    one, tried = found[-1]
    changes = tried.differences().changes()
    if as_json and dry_run:
        echo_json(**{"try": one.name}, changes=list(map(json_of_change, changes)), dry_run=True)
        return
    if dry_run:
        click.echo(f"would bring back {paths_of(len(changes))} of the try {one.name!r}")
        return
    back = bring_back(workspace, one)
    if back is None:
        raise wrong(
            f"the try {one.name!r} was freed in this very moment; `wink tries --dropped` lists what can come back"
        )
    if as_json:
        echo_json(**{"try": back}, changes=list(map(json_of_change, changes)), dry_run=False)
        return
    there = "" if back == one.name else f"; there is another one called {one.name!r} by now"
    ignored = workspace.filesystem.ignored()
    tell_changes(changes, f"tried as {back!r} again{there}", ignored=ignored, how=f"wink diff --try {back}")


@click.command(name="tries")
@workspace_option
@click.option("--dropped", is_flag=True, help="List what was dropped and can come back by `wink drop --undo`.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines, one try a line.")
def list_tries(workspace: str, dropped: bool, as_json: bool) -> None:
    """List what is being tried, and what ran in it."""
    with opened_for_reading(workspace) as opened:
        if dropped:
            for one, tried in dropped_tries(opened):
                _list_one(tried, one.at, opened.filesystem.ignored(), {}, as_json=as_json)
            return
        listed = tries(opened)
        found = clashes(listed)
        for one in listed:
            _list_one(one, None, opened.filesystem.ignored(), found.get(one.name, {}), as_json=as_json)


def _list_one(
    one: Try, dropped_at: datetime | None, ignored: Ignored, clashing: dict[str, tuple[Conflict, ...]], *, as_json: bool
) -> None:
    now = utc_now()
    try:
        changes, home = one.differences().changes(), one.home()
    except (OSError, WinkError) as error:
        problem = one_line(f"cannot be read ({error}); `wink drop{_named(one.name)}` forgets it")
        click.echo(json.dumps({"try": one.name, "problem": problem}) if as_json else f"{one_line(one.name)}  {problem}")
        return
    if as_json:
        runs = [
            {
                "command": list(run.argv),
                "started_at": run.started_at.isoformat(),
                "seconds": run.seconds,
                "status": run.status,
                **({} if run.traffic is None else {"network": json_of_traffic(run.traffic)}),
            }
            for run in one.runs
        ]
        paths = [{"path": path_in_json(change.path), "kind": change.kind} for change in changes]
        gone = {} if dropped_at is None else {"dropped_at": dropped_at.isoformat()}
        written = [path_in_json(change.path) for change in home]
        in_the_way = {
            name: [{"path": path_in_json(conflict.path), "reason": conflict.reason} for conflict in conflicts]
            for name, conflicts in clashing.items()
        }
        facts = {
            "running": one.overlay.is_in_use(),
            "begun_at": None if one.begun_at is None else one.begun_at.isoformat(),
            "conflicts": {"workspace": in_the_way.pop("", []), "tries": in_the_way},
        }
        click.echo(json.dumps({"try": one.name, **gone, "runs": runs, "changes": paths, "home": written, **facts}))
        return
    gone = "" if dropped_at is None else f", dropped {when(dropped_at, now)}"
    more = f", and {paths_of(len(home))} in the home" if home else ""
    click.echo(f"{one_line(one.name)}  {paths_of(len(changes))} changed{more}{gone}")
    for git in one.git_outside():
        stays = ", which cannot be accepted" if git.home is None else ""
        click.echo(one_line(f"  git wrote to {quoted_path(git.directory)}{stays}"))
    runs = one.runs
    for number, run in enumerate(runs, 1):
        status = f"status {run.status}"
        if run.status is None:
            is_running = number == len(runs) and one.overlay.is_in_use()
            status = "is running" if is_running else "ended from outside"
        click.echo(visible(f"  {when(run.started_at, now)}  {status}  {fit(shlex.join(run.argv), 80)}"))
        for line in () if run.traffic is None else tuple(run.traffic.lines())[:_NAMED]:
            click.echo(visible(f"    {line}"))
    for name, conflicts in clashing.items():
        other = f"the try {name!r}" if name else "the workspace"
        tell_paths(f"conflicts with {other}", tuple(one.path for one in conflicts), most=_NAMED)
    echo_paths(changes, Shown(ignored), how=f"wink diff --try {one.name}" if dropped_at is None else "")


def json_of_accepted(tried: Try, done: Accepted) -> dict[str, object]:
    """What became of a try, for machines: `left` says what is in the way, `over` that nothing of it is left."""
    return {
        "try": tried.name,
        "call": None if done.call is None else f"c{done.call}",
        "changes": [json_of_change(change) for change in done.changes],
        "left": json_of_reasons(done.left),
        "notes": json_of_reasons(done.notes),
        "merged": list(map(path_in_json, done.merged)),
        "marked": list(map(path_in_json, done.marked)),
        "aside": list(map(path_in_json, done.aside)),
        "conflicts": [
            {"path": path_in_json(one.path), "reason": one.reason, "hunks": list(one.hunks)} for one in done.conflicts
        ],
        "branches": [{"ref": path_in_json(ref), "as": path_in_json(name)} for ref, name in done.arrived],
        "git": [{"workspace": path_in_json(main), "call": f"c{call}"} for main, call in done.git],
        "over": done.is_over,
    }


def _named(name: str) -> str:
    return "" if name == "default" else f" --name {name}"


def _tell_rest(tried: Try, done: Accepted) -> None:
    if done.is_over:
        return
    if tried.differences():
        click.echo("  the rest is still being tried")
    for git in tried.git_outside():
        click.echo(one_line(f"  what git wrote to {quoted_path(git.directory)} is still in the try"))
    tell_home(tried.home(), tried.name)


def chosen_try(workspace: Workspace, name: str | None) -> Try:
    """The try that is meant: by its name, or the only one."""
    if name is not None:
        return Try(workspace, name)
    known = tries(workspace)
    if len(known) > 1:
        raise wrong(
            f"several things are being tried ({', '.join(one.name for one in known)}); say which one with --name"
        )
    return known[0] if known else Try(workspace, "default")
