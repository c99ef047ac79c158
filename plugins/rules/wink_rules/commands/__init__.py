"""`wink rules`: check that rules do what a team expects of them."""

from __future__ import annotations

import click

from wink_rules.commands._expected import expected


@click.group()
def rules() -> None:
    """Check what rules do. `wink explain` lists them, and says of one call, path, host or command line what they make of it."""


rules.add_command(expected)
