"""`wink checkpoint` and `wink restore`: name a state, and come back to it."""

from __future__ import annotations

from typing import Final

import click

from wink.cli._calls import call_number, echo_json, json_of_reasons, json_option, opened_for_reading, when
from wink.cli._shorten import one_line
from wink.cli._standing import named_path, shown_path, workspace_option
from wink.cli._wrong import wrong
from wink.cli.past._undo import echo_reverted, json_of_reverted
from wink.cli.work import counting
from wink.limits import utc_now

_SHOWN: Final = 20
"""So many paths that cannot be restored are named."""


@click.command()
@click.argument("name", required=False)
@workspace_option
@click.option("--full", is_flag=True, help="Take in everything that is in the workspace, whoever made it.")
@click.option(
    "--ignored-megabytes",
    default=64,
    show_default=True,
    type=click.IntRange(0),
    help="With --full, take in so much of what git ignores.",
)
@click.option("-f", "--force", is_flag=True, help="Move a checkpoint of that name here, as `git tag -f` does.")
@click.option("-d", "--delete", is_flag=True, help="Forget the checkpoint; what was done stays.")
@json_option
def checkpoint(
    name: str | None,
    workspace: str,
    full: bool,
    ignored_megabytes: int,
    force: bool,
    delete: bool,
    as_json: bool,
) -> None:
    """Give the state of files and sessions, as calls have left it, a NAME; without one, list the checkpoints.

    With --full, `wink restore` brings back what people and programs have changed or deleted, too.
    """
    if name is None and (full or force or delete):
        raise wrong("say which checkpoint: give a NAME, for example wink checkpoint --full before-cleanup")
    if delete and (full or force):
        raise wrong("--delete only forgets a checkpoint; give it without --full and --force")
    with opened_for_reading(workspace) as opened:
        if delete and name is not None:
            opened.delete_checkpoint(name)
            if as_json:
                echo_json(checkpoint=name, deleted=True)
            else:
                click.echo(f"deleted checkpoint {one_line(name)}")
        elif name is None:
            now, listed = utc_now(), {one.name for one in opened.record.listed()}
            if as_json:
                found = [(one.name, one.at.isoformat(), one.name in listed) for one in opened.checkpoints()]
                keys = ("checkpoint", "at", "full")
                echo_json(checkpoints=[dict(zip(keys, one, strict=True)) for one in found])
                return
            for one in opened.checkpoints():
                click.echo(f"{one_line(one.name)}  {when(one.at, now)}{'  full' if one.name in listed else ''}")
        elif full:
            with counting("looked at {} paths") as count:
                missing = opened.checkpoint(
                    name,
                    full=True,
                    move=force,
                    ignored_bytes=ignored_megabytes << 20,
                    progress=lambda done, _: count(done),
                )
            if as_json:
                echo_json(checkpoint=name, full=True, not_restorable=json_of_reasons(missing))
                return
            click.echo(f"checkpoint {name}")
            for path, reason in missing[:_SHOWN]:
                click.echo(one_line(f"  not restorable: {shown_path(path)} {reason}"))
            if len(missing) > _SHOWN:
                click.echo(f"  and {len(missing) - _SHOWN} more")
        else:
            opened.checkpoint(name, move=force)
            if as_json:
                echo_json(checkpoint=name, full=False, not_restorable=[])
            else:
                click.echo(f"checkpoint {name}")


@click.command()
@click.argument("to", metavar="CHECKPOINT|CALL")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@workspace_option
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@json_option
def restore(to: str, paths: tuple[str, ...], workspace: str, dry_run: bool, as_json: bool) -> None:
    """Take back all that calls have done since a CHECKPOINT, to files and sessions, or only to the files at PATHs.

    With a CALL such as c7, come back to what that call left; a checkpoint of the same name goes before.

    What people changed meanwhile is never overwritten: where it stands in the way nothing is changed, and the paths are
    named. Only a checkpoint made with --full brings back what they changed or deleted; what they have made since stays.
    `wink undo` takes a restore back.
    """
    with opened_for_reading(workspace) as opened:
        named = any(one.name == to for one in opened.checkpoints())
        target = call_number(to) if not named and to.isascii() and to[:1] == "c" and to[1:].isdecimal() else to
        done = opened.restore(target, *map(named_path, paths), dry_run=dry_run)
        if as_json:
            echo_json(**json_of_reverted(done))
        else:
            echo_reverted(done, "would restore" if dry_run else "restored", opened)
