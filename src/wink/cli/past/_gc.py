"""`wink gc`: bound what is kept of calls, and give what that frees back to the disk."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import click

from wink.cli._calls import echo_json, json_of_reasons, json_option, opened_for_reading
from wink.cli._opening import asked_catalog
from wink.cli._shorten import one_line
from wink.cli._standing import shown_path, workspace_option
from wink.cli._views import collections
from wink.cli.settings import keep_settings
from wink.errors import RecordUnavailable, WinkError

_PARTS: Final = {"record.db": "record", "record.db-wal": "record", "store.git": "history"}
"""What the parts of a state are called; others go by their names."""
_UNITS: Final = ("bytes", "KB", "MB", "GB")


@click.command()
@workspace_option
@click.option("--calls", type=click.IntRange(0), help="Keep at most so many calls.  [default: 10000]")
@click.option("--days", type=click.IntRange(0, 100_000), help="Keep none that is older.  [default: 90]")
@click.option("--megabytes", type=click.IntRange(0), help="Keep at most so much.  [default: 1024]")
@click.option("--dry-run", is_flag=True, help="Only tell what would be freed.")
@json_option
def gc(
    workspace: str, calls: int | None, days: int | None, megabytes: int | None, dry_run: bool, as_json: bool
) -> None:
    """Give up the oldest calls; they cannot be undone or shown afterwards, and leave the record and the git history.

    The last 1,000 calls stay in `wink log`, whatever the bounds. What checkpoints need is kept. Runs that have not been
    resumed for so many days are forgotten, and so is what was dropped of tries. Without options the bounds are those of the settings, by which this happens by
    itself, too. This cannot be taken back.
    """
    with opened_for_reading(workspace) as opened:
        settings = keep_settings(opened.root)
        for note in settings.notes:
            click.echo(one_line(f"wink: {note}"), err=True)
        keep = settings.keep
        before = {} if dry_run else _sizes(opened.state)
        try:
            done = opened.gc(
                calls=keep.calls if calls is None else calls,
                age=timedelta(days=keep.days if days is None else days),
                most_bytes=keep.bytes if megabytes is None else megabytes << 20,
                dry_run=dry_run,
            )
        except WinkError as error:
            if os.statvfs(opened.root).f_bavail:
                raise
            raise RecordUnavailable(
                opened.state, "the disk is full, and freeing needs a few megabytes first"
            ) from error
        lines = list(collections(asked_catalog(opened.root), opened, dry_run=dry_run))
        conflicts, state = opened.filesystem.conflicts, os.path.relpath(opened.state, opened.root)
        place = opened.state
    if as_json:
        echo_json(
            dry_run=dry_run,
            bytes=done.bytes,
            bytes_left=done.bytes_left,
            calls=done.calls,
            forgotten=done.forgotten,
            disk={"before": before, "after": _sizes(place)} if before else None,
            plugins=lines,
            conflicts=json_of_reasons(
                (one.path, f"{one.reason}; it is kept in {state}/{one.kept}") for one in conflicts
            ),
        )
        return
    would = "would " if dry_run else ""
    click.echo(
        f"{would}{'free' if dry_run else 'freed'} {done.bytes} bytes of {done.calls} calls; {done.bytes_left} bytes stay"
    )
    if done.forgotten:
        click.echo(
            f"{done.forgotten} calls {would}leave the log" if dry_run else f"{done.forgotten} calls left the log"
        )
    for line in lines:
        click.echo(one_line(line))
    if before:
        _tell(before, _sizes(place))
    for conflict in conflicts:
        click.echo(
            one_line(
                f"{shown_path(conflict.path)} {conflict.reason}; it is kept in {shown_path(f'{state}/{conflict.kept}')}"
            )
        )


def _tell(before: Mapping[str, int], after: Mapping[str, int]) -> None:
    """Say what has become less on the disk."""
    saved = {part: size - after.get(part, 0) for part, size in before.items()}
    less = ", ".join(f"{part} {_size(size)}" for part, size in saved.items() if size > 0)
    total = sum(before.values()) - sum(after.values())
    stays = _size(sum(after.values()))
    click.echo(f"on the disk {_size(total)} less: {less}; {stays} stay" if total > 0 else f"on the disk {stays} stay")


def _sizes(state: str) -> dict[str, int]:
    """How many bytes of the disk each part of a state takes."""
    sizes: dict[str, int] = {}
    for directory, _, names in os.walk(state):
        part = os.path.relpath(directory, state).split(os.sep)[0]
        for name in names:
            try:
                taken = os.lstat(os.path.join(directory, name)).st_blocks * 512
            except OSError:
                continue
            called = name if part == "." else part
            if called == "record.db-shm":  # which is there as long as somebody has the record open
                continue
            called = _PARTS.get(called, called)
            sizes[called] = sizes.get(called, 0) + taken
    return sizes


def _size(size: float) -> str:
    for unit in _UNITS[:-1]:
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} {_UNITS[-1]}"
