"""`wink doctor`: what this machine can do for wink, and how to get what it lacks."""

from __future__ import annotations

import json
import os
from itertools import groupby
from typing import Final

import click

from wink.cli._shorten import one_line
from wink.cli._standing import workspace_option
from wink.cli._wrong import wrong

FAILED: Final = 1


@click.command()
@workspace_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines, one finding a line.")
def doctor(workspace: str, as_json: bool) -> int:
    """Check what programs can be confined with here, how files are kept in the workspace, what of wink's extras is
    installed, which plugins cannot be used, and say how to get what is missing.

    Nothing of a plugin is imported, but for what it has to say here. The output has no values of settings and `~` for the
    home directory, so that it can go into a report of a bug. The exit status is 1 where programs cannot be confined.
    """
    if not os.path.isdir(workspace):
        raise wrong(f"--workspace {workspace!r} is not a directory")
    from wink.cli.setup._doctor_findings import findings

    found, checked = findings(workspace)
    status = 0 if all(one.ok for one in checked) else FAILED
    if as_json:
        for one in found:
            click.echo(json.dumps(one._asdict()))
        return status
    for group, members in groupby(found, key=lambda one: one.group):
        click.echo(group)
        for one in members:
            detail = f": {one.detail}" if one.detail else ""
            click.echo(one_line(f"  {'ok' if one.ok else '--'}  {one.name}{detail}"))
            if one.remedy:
                click.echo(one_line(f"        {one.remedy}"))
    for one in checked:
        if one.summary:
            click.echo(f"\n{one_line(one.summary)}")
    return status
