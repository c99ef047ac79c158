"""`wink diff`: what calls changed."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TYPE_CHECKING, Final

import click

from wink.cli._calls import call_number, json_of_change, opened_for_reading, turn_option
from wink.cli._changed import Shown, all_option, color_option, echo_diff, echo_names, echo_stat
from wink.cli._pager import paged
from wink.cli._standing import named_path, workspace_option
from wink.cli._wrong import wrong

if TYPE_CHECKING:
    from wink.cli._views import Pending
    from wink.filesystem import FileChange
    from wink.workspace import Workspace

_FAILED: Final = 1
_RUN: Final = re.compile(r"r([1-9][0-9]{0,14})")
_PATHS: Final = "wink.cli.past.diff.paths"


class _WithPaths(click.Command):
    """A command whose arguments after `--` are paths."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_PATHS] = tuple(args[at + 1 :])
        return super().parse_args(ctx, args[:at])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- PATH...]"]


@click.command(cls=_WithPaths)
@click.argument("call", required=False)
@workspace_option
@click.option("--session", metavar="NAME", help="Show what the calls of one session changed.")
@click.option("--name", "--try", "tried", metavar="NAME", help="Show what was tried under this name.")
@click.option("--home", is_flag=True, help="Show what was tried in the home directory, which is never accepted.")
@click.option("--conflicts", is_flag=True, help="Show only what has changed in the workspace too since the try began.")
@turn_option
@all_option
@click.option("--stat", is_flag=True, help="Show how many lines of each file came and went.")
@click.option("--name-only", is_flag=True, help="Show only the paths.")
@color_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines, one file a line.")
@click.pass_context
def diff(
    context: click.Context,
    call: str | None,
    workspace: str,
    session: str | None,
    tried: str | None,
    home: bool,
    conflicts: bool,
    turn: int | None,
    unfolded: bool,
    show_all: bool,
    stat: bool,
    name_only: bool,
    when: str,
    as_json: bool,
) -> int | None:
    """Show what calls changed, or what was tried, as one diff in git's format, of what is at and beneath PATHs.

    CALL is one call (c7), from a call until now (c7..), from one call to another (c7..c9), or a run (r1). Without it,
    everything is shown that is not as it was before the first call, of the paths that calls have changed; while something is
    being tried, what that has changed is shown instead. A PATH may be a pattern, such as 'src/*.py'.

    On a terminal files come first that people look for; those that are ignored or generated are told in a line for each
    directory. Anywhere else `git apply` makes the same changes of it, with --exclude='.git/*' where hooks or settings of git
    are among them; what it cannot hold is told on standard error, and the exit status is 1 where it does not have a file's
    content.
    """
    if (call or session) and (tried or home or conflicts):
        what = "--try" if tried else "--home" if home else "--conflicts"
        raise wrong(f"give {'a call' if call else '--session'} or {what}, not both")
    if home and conflicts:
        raise wrong(
            "give --home or --conflicts, not both: what is in the home is never accepted, so that nothing is in its way"
        )
    if call and session:
        raise wrong(f"{call} says which calls; leave --session away")
    if turn is not None and (call or session or tried or home or conflicts):
        raise wrong("give a call, --turn, or what was tried, not several of them")
    if stat + name_only + as_json > 1:
        raise wrong("give one of --stat, --name-only and --json")
    paths: tuple[str, ...] = context.meta.get(_PATHS, ())
    with opened_for_reading(workspace) as opened:
        is_past = call or session or turn is not None
        found = None if is_past else _pending(workspace, opened, tried, home=home, conflicts=conflicts)
        if (home or conflicts) and found is None:
            raise wrong("nothing is being tried here; `wink try -- COMMAND` runs a program without changing anything")
        if found is not None and not as_json:
            click.echo(found.title, err=True)
        changes = found.changes if found is not None else _changes(opened, call, session, turn)
        changes = _only(changes, paths)
        if as_json:
            for change in changes:
                click.echo(json.dumps(json_of_change(change, diff=change.diff())))
            return None
        ignored = None if opened.record.imported is not None else opened.filesystem.ignored()
        asked = " ".join(word for word in ("wink diff", call, f"--try {tried}" if tried else "") if word)
        is_for_people = sys.stdout.isatty() or when == "always"
        shown = Shown(ignored, unfolded, show_all, asked)
        with paged(workspace):
            if stat:
                echo_stat(changes, shown)
            elif name_only:
                echo_names(changes, shown)
            elif not echo_diff(changes, shown, exact=not is_for_people):
                return _FAILED
    return None


def _changes(opened: Workspace, call: str | None, session: str | None, turn: int | None) -> tuple[FileChange, ...]:
    """What a call, a range of calls, a run, a session or a turn changed, or all of them."""
    if turn is not None:
        if not (changes := opened.diff(turn=turn)):
            raise wrong(
                f"turn {turn} has changed nothing" if turn else "no turn of an attached agent has changed anything"
            )
        return changes
    if session is not None:
        return opened.diff(session=session)
    run = _RUN.fullmatch(call or "")
    if run is not None:
        return opened.diff(run=int(run[1]))
    first, dots, last = (call or "..").partition("..")
    if not dots:
        return opened.diff(call_number(first))
    if not last:
        return opened.diff(since=call_number(first) if first else None)
    begin, end = call_number(first or "c1"), call_number(last)
    return opened.diff(min(begin, end), max(begin, end))


def _only(changes: tuple[FileChange, ...], paths: tuple[str, ...]) -> tuple[FileChange, ...]:
    """Those at and beneath paths, which may be patterns; where something was moved from there, too."""
    if not paths:
        return changes
    from wink.filesystem.search import matching

    named = [os.path.normpath(named_path(path)) for path in paths]
    rules = [rule for path in named if (rule := matching(path)) is not None]

    def is_meant(path: str) -> bool:
        at_or_beneath = any(one == "." or path == one or path.startswith(f"{one}/") for one in named)
        return at_or_beneath or any(rule.covers(path) for rule in rules)

    found = tuple(change for change in changes if is_meant(change.path))
    if not found and changes:
        click.echo("wink: nothing at these paths has changed", err=True)
    return found


def _pending(path: str, workspace: Workspace, name: str | None, **asked: bool) -> Pending | None:
    from wink.cli._opening import asked_catalog
    from wink.cli._views import pending

    return pending(asked_catalog(path), workspace, name, **asked)
