"""`wink plugins`: list, show, explain and check what is installed."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from wink.cli._calls import echo_json, json_option
from wink.cli._foreign import printing_to_stderr
from wink.cli._standing import workspace_option
from wink.cli.settings import installed_catalog
from wink.plugins import Catalog, PluginInfo

F = TypeVar("F", bound=Callable[..., Any])

_FAILING: Final = frozenset({"broken", "conflict", "incompatible", "quarantined"})


def _json_option(command: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON with stable keys.")(command)


def _load_option(command: F) -> F:
    text = "Import every enabled plugin, each in a process of its own, and say what came of it."
    return click.option("--load", is_flag=True, help=text)(command)


def _timeout_option(command: F) -> F:
    return click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        default=60,
        show_default=True,
        metavar="SECONDS",
        help="How long importing one plugin may take.",
    )(command)


@click.group(invoke_without_command=True)
@_json_option
@_load_option
@_timeout_option
@workspace_option
@click.option("--plugin", "enable", multiple=True, metavar="NAME", help="Switch a plugin on for this run.")
@click.option("--no-plugin", "disable", multiple=True, metavar="NAME", help="Switch a plugin off for this run.")
@click.pass_context
def plugins(
    ctx: click.Context,
    *,
    as_json: bool,
    load: bool,
    timeout: float,
    workspace: str,
    enable: tuple[str, ...],
    disable: tuple[str, ...],
) -> None:
    """List what plugins offer, without importing any; or show, explain or check them."""
    ctx.obj = catalog = installed_catalog(workspace, enable=enable, disable=disable)
    if load and ctx.invoked_subcommand in (None, "list"):
        ctx.obj = catalog = catalog.tried(seconds=timeout)
    if ctx.invoked_subcommand is None:
        _list(catalog, as_json=as_json)
    elif as_json:
        ctx.meta["wink.json"] = True


@plugins.command("list")
@_json_option
@_load_option
@_timeout_option
@click.pass_context
def list_(ctx: click.Context, *, as_json: bool, load: bool, timeout: float) -> None:
    """List every plugin with its state and what it offers."""
    catalog: Catalog = ctx.obj
    _list(catalog.tried(seconds=timeout) if load else catalog, as_json=_wants_json(ctx, as_json=as_json))


@plugins.command()
@click.argument("name")
@_json_option
@click.pass_context
def show(ctx: click.Context, *, name: str, as_json: bool) -> None:
    """Import one plugin and show what it offers: summaries, tools, settings with their defaults."""
    from wink.cli.setup import _plugins_view as view

    with printing_to_stderr():
        found = [view.details(ctx.obj, plugin) for plugin in ctx.obj.plugin(name)]
    _print(found, view.show, ctx, as_json=as_json)
    ctx.exit(1 if any(one["state"] in _FAILING for one in found) else 0)


@plugins.command()
@click.argument("name")
@_json_option
@click.pass_context
def why(ctx: click.Context, *, name: str, as_json: bool) -> None:
    """Explain the state of one plugin: every setting that had a say, in order."""
    from wink.cli.setup import _plugins_view as view

    _print(view.explanations(ctx.obj, name), view.why, ctx, as_json=as_json)


@plugins.command()
@click.argument("name")
@json_option
@click.pass_context
def retry(ctx: click.Context, *, name: str, as_json: bool) -> None:
    """Let a plugin in again that was left out because a process died or hung in its code."""
    catalog: Catalog = ctx.obj
    found = catalog.plugin(name)
    is_let_in = catalog.quarantine is not None and catalog.quarantine.release(found)
    if _wants_json(ctx, as_json=as_json):
        echo_json(plugin=name, let_in_again=is_let_in, state=found[0].state, reason=found[0].reason or None)
    elif is_let_in:
        click.echo(f"plugin {name!r} is let in again; `wink plugins check` tries it where it can harm nothing")
    else:
        click.echo(f"plugin {name!r} was not kept out: {found[0].state}{found[0].reason and ': '}{found[0].reason}")


@plugins.command("export-schema")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.pass_context
def export_schema(ctx: click.Context, *, names: tuple[str, ...]) -> None:
    """Import plugins and print, as JSON, each tool of their sections with the schema of its parameters.

    The exit status is 1 if a section is broken, or a plugin that was named may not be used.
    """
    from wink.cli.setup import _plugins_view as view
    from wink.cli.setup._plugins_schema import exported

    with printing_to_stderr():
        found, is_sound = exported(ctx.obj, names)
    click.echo(view.as_json(found))
    ctx.exit(0 if is_sound else 1)


@plugins.command()
@_json_option
@_timeout_option
@click.pass_context
def check(ctx: click.Context, *, as_json: bool, timeout: float) -> None:
    """Import every enabled plugin, each in a process of its own; exit status 1 if one is broken, in conflict or incompatible."""
    catalog: Catalog = ctx.obj
    catalog = catalog.tried(seconds=timeout)
    _list(catalog, as_json=_wants_json(ctx, as_json=as_json))
    ctx.exit(1 if any(plugin.state in _FAILING for plugin in catalog.plugins) else 0)


def _list(catalog: Catalog, *, as_json: bool) -> None:
    found: tuple[PluginInfo, ...] = catalog.plugins
    if as_json:
        from wink.cli.setup import _plugins_view as view

        click.echo(view.as_json(view.listing(found, catalog.ignored)))
        return
    from wink.cli.setup._plugins_table import table

    table(found, catalog.ignored)


def _print(
    found: list[dict[str, Any]], in_words: Callable[[dict[str, Any]], str], ctx: click.Context, *, as_json: bool
) -> None:
    from wink.cli.setup import _plugins_view as view

    if _wants_json(ctx, as_json=as_json):
        click.echo(view.as_json(found))
    else:
        click.echo("\n\n".join(in_words(one) for one in found))


def _wants_json(ctx: click.Context, *, as_json: bool) -> bool:
    return as_json or bool(ctx.meta.get("wink.json"))
