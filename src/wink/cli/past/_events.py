"""`wink events`: what happened on a workspace, as JSON lines that other programs can rely on."""

from __future__ import annotations

import click

from wink.cli._standing import workspace_option
from wink.cli.past._event_rows import SCHEMA
from wink.cli.past._follow import echo_rows, follow, place_named
from wink.cli.settings import masking_for
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
        echo_rows(follow(record, begin, session) if follows else record.queries.whole_stream(begin, session=session))
    except KeyboardInterrupt:
        if not follows:
            raise
    finally:
        record.close()
