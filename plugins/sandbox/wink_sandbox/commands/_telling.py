"""Say what a try has changed, what became of it, and why something was not accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from wink.cli import Shown, echo_paths, one_line, paths_of, shown_path, visible
from wink.filesystem import FileChange, quoted_path
from wink_sandbox import Notes

if TYPE_CHECKING:
    from wink.filesystem import Ignored
    from wink_sandbox import RemoteSetting
    from wink_sandbox.tries import Accepted, Choice, Conflict, Try

SHOWN = 20
"""So many notes are shown."""
_FILES, _HUNKS, _LINES = 3, 3, 20
"""Of so many files in conflict so many places are shown, and of each so many lines."""


def tell_lost(notes: Notes) -> None:
    """Say what of the program's doings is not kept as it was done."""
    if notes:
        click.echo(f"wink: left out: {paths_of(len(notes))}", err=True)
        tell_left(notes)


def tell_refusals(left: tuple[tuple[str, str], ...]) -> None:
    """Say what no accept will take, while the person still knows what the program was to do."""
    if left:
        click.echo(f"wink: {paths_of(len(left))} cannot be accepted:", err=True)
        tell_left(left)


def tell_tried(
    changes: tuple[FileChange, ...],
    notes: Notes,
    name: str,
    left: Notes,
    *,
    ignored: Ignored | None = None,
    only_git: bool = False,
) -> None:
    """Say what was changed in a try, and how to go on."""
    if not changes and not notes:
        click.echo(f"wink: it changed nothing{' else' if only_git else ''}", err=True)
        return
    what = f"tried{'' if name == 'default' else ' as ' + name}, nothing of this is real yet"
    tell_changes(changes, what, ignored=ignored, err=True, how=f"wink diff --try {name}")
    tell_notes(notes, err=True)
    tell_refusals(left)
    if changes:
        which = "" if name == "default" else f" --name {name}"
        keep = f"; keep {'the rest: wink accept --rest' if left else 'it: wink accept'}{which} [PATH…]"
        if {change.path for change in changes} <= {path for path, _ in left}:
            keep = ""
        click.echo(f"wink: see it: wink diff --try {name}{keep}; forget it: wink drop{which}", err=True)


def tell_accepted(done: Accepted, *, ignored: Ignored | None = None, err: bool = False) -> None:
    """Say what is the workspace's now."""
    if done.call is not None:
        tell_changes(done.changes, f"accepted (c{done.call})", ignored=ignored, err=err, how=f"wink show c{done.call}")
    tell_merged(done, err=err)
    for main, call in done.git:
        import shlex

        way = f"wink undo c{call} --workspace {shlex.quote(main)}"
        click.echo(one_line(f"wink: what git wrote is c{call} of {quoted_path(main)}; {way} takes it back"), err=err)
    tell_notes(done.notes, err=err)


def tell_merged(done: Accepted, *, err: bool = False) -> None:
    """Say where both sides were merged, and where markers are to be looked for."""
    told = (
        ("merged with what the workspace has changed", done.merged),
        ("has conflict markers", done.marked),
        ("has the workspace's lines; `wink drop --undo` brings back what was tried", done.aside),
    )
    for what, paths in told:
        tell_paths(what, paths, err=err)
    for ref, name in done.arrived:
        which = "its HEAD" if ref == "HEAD" else quoted_path(_short(ref))
        click.echo(
            one_line(f"wink: both have moved {which} of git; the try's is {quoted_path(_short(name))} now"), err=err
        )


def tell_paths(what: str, paths: tuple[str, ...], *, most: int = SHOWN, err: bool = False) -> None:
    """Say something of paths, in one line that names the first ones."""
    if paths:
        shown = ", ".join(map(shown_path, paths[:most])) + (
            f" and {len(paths) - most} more" if len(paths) > most else ""
        )
        click.echo(one_line(f"  {what}: {shown}"), err=err)


def tell_notes(notes: Notes, *, err: bool = False) -> None:
    """Say what is to be known of some paths, not of too many."""
    for path, reason in notes[:SHOWN]:
        click.echo(one_line(f"  {shown_path(path)} {reason}"), err=err)
    if len(notes) > SHOWN:
        click.echo(f"  … and {len(notes) - SHOWN} more such lines", err=err)


def _short(ref: str) -> str:
    """A ref as git shows it to people."""
    return ref.removeprefix("refs/heads/")


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
    git_directory: Callable[[str], bool] | None = None,
    choice: Choice | None = None,
) -> Accepted:
    """Say why nothing was accepted, path by path, and how to go on; what is in the way is `left`, nothing where nothing is any more."""
    import shlex

    from wink.cli import path_denials, settings_problem

    without = tried.accept(
        *paths,
        without=left_out,
        rest=True,
        dry_run=True,
        portable_names=portable_names,
        remotes=remotes,
        git_directory=git_directory,
        settings=settings_problem,
        denial=path_denials(tried.overlay.root),
        choice=choice,
    )
    if not without.left:
        return without
    which = "" if tried.name == "default" else f" --name {tried.name}"
    words = [*map(shown_path, paths), *(word for path in left_out for word in ("--without", shown_path(path)))]
    given = f" {shlex.join(words)}" if words else ""
    click.echo(f"wink: nothing was accepted, {paths_of(len({path for path, _ in without.left}))} cannot be:", err=True)
    tell_left(without.left)
    if without.conflicts:
        _tell_hunks(without.conflicts)
        shown = "" if tried.name == "default" else f" --try {tried.name}"
        click.echo(
            one_line(f"  `wink diff{shown} --conflicts` shows what the workspace has, and what was tried"), err=True
        )
        if any(one.hunks for one in without.conflicts):
            words = f"wink accept{which}{given} --conflicts markers"
            click.echo(one_line(f"  `{words}` takes both lines, marked; workspace or try, those of one side"), err=True)
    if without.changes:
        how = f"wink accept{which} --rest{given}` accepts everything else"
    else:
        how = f"wink drop{which}{given}` forgets what was tried"
    click.echo(one_line(f"  `{how}"), err=True)
    return without


def _tell_hunks(conflicts: Iterable[Conflict]) -> None:
    """Show where both changed the same lines, not too much of it."""
    for one in [one for one in conflicts if one.hunks][:_FILES]:
        for hunk in one.hunks[:_HUNKS]:
            lines = hunk.splitlines()
            click.echo(one_line(f"  {shown_path(one.path)}"), err=True)
            for line in lines[:_LINES]:
                click.echo(visible(f"    {line}"), err=True)
            if len(lines) > _LINES:
                click.echo(f"    … {len(lines) - _LINES} more lines", err=True)
        if len(one.hunks) > _HUNKS:
            click.echo(f"    … {len(one.hunks) - _HUNKS} more places", err=True)


def tell_left(left: Iterable[tuple[str, str]]) -> None:
    """Name what stays in a try, each reason once with the paths beneath."""
    reasons: dict[str, list[str]] = {}
    for path, reason in left:
        reasons.setdefault(reason, []).append(path)
    for reason, paths in list(reasons.items())[:SHOWN]:
        click.echo(one_line(f"  {reason}:"), err=True)
        for path in paths[:SHOWN]:
            click.echo(one_line(f"    {shown_path(path)}"), err=True)
        if len(paths) > SHOWN:
            click.echo(f"    … {len(paths) - SHOWN} more", err=True)
    if len(reasons) > SHOWN:
        click.echo(f"  … and for {len(reasons) - SHOWN} more reasons", err=True)


def tell_changes(
    changes: tuple[FileChange, ...], what: str, *, ignored: Ignored | None = None, err: bool = False, how: str = ""
) -> None:
    """Say which files changed, not too many of them, and of those that are `ignored` only how many."""
    click.echo(f"wink: {what}: {paths_of(len(changes))}", err=err)
    echo_paths(changes, Shown(ignored), err=err, how=how)
    gone = (change.path for change in changes if change.before is not None and change.before.kind == "other")
    tell_notes(tuple((path, "is a socket, a FIFO or a device, which no undo brings back") for path in gone), err=err)
