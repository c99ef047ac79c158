"""`wink events`: what happened on a workspace, as JSON lines that other programs can rely on."""

from __future__ import annotations

import json
import sys

import click

from wink.cli._calls import workspace_option
from wink.cli._event_rows import SCHEMA, row_of
from wink.cli._follow import follow, place_named, so_far
from wink.cli._mask_settings import masking_for
from wink.workspace import open_record


@click.command()
@workspace_option
@click.option("--session", metavar="NAME", help="Only what happened in one session.")
@click.option("--since", default="beginning", show_default=True, metavar="PLACE", help="Go on after this place.")
@click.option("--follow", "follows", is_flag=True, help="Go on with what happens from now on, until interrupted.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of the lines, and nothing else.")
def events(workspace: str, session: str | None, since: str, follows: bool, schema: bool) -> None:
    """Print what happened on a workspace, oldest first, one JSON object a line.

    Each line has a `place`; with --since that place, another time, exactly what came after it is printed. PLACE can also
    be `beginning`, `now`, or a call such as c12. Nobody who works on the workspace is held up.
    """
    if schema:
        with open(SCHEMA, encoding="utf-8") as file:
            click.echo(file.read(), nl=False)
        return
    record = open_record(workspace, masking=masking_for(workspace))
    try:
        begin = place_named(record, since)
        if not follows:
            for place, one in so_far(record, begin, session):
                click.echo(json.dumps(row_of(place, one)))
            return
        for found in follow(record, begin, session):
            if found is not None:
                click.echo(json.dumps(row_of(*found)))
                sys.stdout.flush()
    except KeyboardInterrupt:
        if not follows:
            raise
    finally:
        record.close()
