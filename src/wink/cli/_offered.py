"""The commands that plugins offer: listed without an import, and only the one that is asked for is loaded.

A command's word is its offer's name after the dot, and the full name, as in `wink notes.recap`, always works. A word is
nobody's to take: wink's own commands have theirs before any plugin is looked for, then come those of the plugins that
wink brings, and where two strangers offer one word it means neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from wink.cli._upward import workspace_here
from wink.cli._wrong import wrong
from wink.trust import named_workspaces

if TYPE_CHECKING:
    import click

    from wink.errors import WinkError
    from wink.plugins import Catalog, Offer, PluginInfo


class Listed(NamedTuple):
    """A command that a plugin offers, by the shortest name that runs it."""

    plugin: str
    installed_as: str
    name: str
    summary: str
    is_foreign: bool


def offered_command(word: str, arguments: Sequence[str] = ()) -> click.Command | None:
    """Import the command that is meant by `word`, None where no plugin offers it; `arguments` may name the workspace.

    Raises `WrongInput` where two plugins offer it, `OfferUnavailable` and `OfferBroken`, and where it is none of wink's own what
    is wrong with the settings.
    """
    catalog, problem = _catalog(arguments)
    found = _meant(catalog.plugins, word)
    if problem is not None and not found:
        raise problem
    if len(found) > 1:
        names = " and by ".join(f"{offer.name} of {plugin.installed_as}" for plugin, offer in found)
        raise wrong(
            f"`wink {word}` is offered by {names}, and runs neither; give the full name, or disable one of them"
        )
    if not found:
        return None
    from wink.cli._foreign import printing_to_stderr

    with printing_to_stderr():
        return catalog.use("command", found[0][1].name)


def listed_commands(kernel: Iterable[str]) -> list[Listed]:
    """Every command that may be used, by plugin; a plugin's summary may come from its source, and nothing is imported.

    Raises `WinkError` where the settings cannot be read.
    """
    catalog, problem = _catalog(())
    if problem is not None:
        raise problem
    taken, plugins = set(kernel), catalog.plugins
    return [
        Listed(
            plugin.name,
            plugin.installed_as,
            offer.short if offer.short not in taken and _meant(plugins, offer.short) == [(plugin, offer)] else offer.name,
            offer.problem or catalog.summary(offer),
            plugin.is_foreign,
        )
        for plugin in plugins
        if plugin.usable
        for offer in plugin.offers
        if offer.kind == "command"
    ]  # fmt: skip


def _catalog(arguments: Sequence[str]) -> tuple[Catalog, WinkError | None]:
    from wink.cli.settings import commands_catalog

    own = arguments[: arguments.index("--")] if "--" in arguments else arguments  # what follows are a program's
    return commands_catalog((named_workspaces(own) or [workspace_here()])[-1])


def _meant(plugins: Iterable[PluginInfo], word: str) -> list[tuple[PluginInfo, Offer]]:
    """The offers that `word` may mean: wink's own where there is one, switched off or not, so that no settings hand its word to another; else those in use."""
    found = [
        (plugin, offer)
        for plugin in plugins
        for offer in plugin.offers
        if offer.kind == "command" and word in (offer.name, offer.short)
    ]
    own = [one for one in found if not one[0].is_foreign]
    return own or [one for one in found if one[0].state != "disabled"] or found[:1]
