"""`wink help`: what a command does, or the list of them."""

from __future__ import annotations

import click

from wink.cli._wrong import wrong


@click.command(name="help")
@click.argument("command", required=False)
@click.pass_context
def help_(ctx: click.Context, command: str | None) -> None:
    """Show what COMMAND does and its options, as `wink COMMAND --help`; without it, the list of commands."""
    above = ctx.parent
    assert above is not None
    assert isinstance(above.command, click.Group)
    if command is None:
        click.echo(above.get_help())
        return
    name, found, _ = above.command.resolve_command(above, [command])
    if found is None:  # it looks like an option
        raise wrong(f"there is no command {command!r}; `wink help` lists them")
    with click.Context(found, parent=above, info_name=name) as context:
        click.echo(found.get_help(context))
