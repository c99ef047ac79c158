"""What `wink plugins export-schema` prints: the tools of plugins as a model would be shown them."""

from collections.abc import Sequence
from typing import Any

from wink import __version__
from wink.errors import OfferBroken, WinkError
from wink.plugins import Catalog, Offer


def exported(catalog: Catalog, names: Sequence[str]) -> tuple[dict[str, Any], bool]:
    """The tools of the sections that these plugins offer, all of them without names, and whether all could be had.

    A section that needs options, or settings that are not there, is left out and said so; so is one that cannot be
    imported or makes something else, which is a problem. Raises `UnknownPlugin`.
    """
    wanted = dict.fromkeys(plugin.name for name in names for plugin in catalog.plugin(name))
    left_out = [
        {"plugin": plugin.name, "offer": None, "reason": f"{plugin.state}: {plugin.reason}"}
        for plugin in catalog.plugins
        if not plugin.usable and (plugin.name in wanted or (not wanted and plugin.state != "disabled"))
    ]
    is_sound = not left_out
    tools: list[dict[str, Any]] = []
    asked = list(wanted or dict.fromkeys(plugin.name for plugin in catalog.plugins))
    catalog.load_all(asked)
    for offer in (offer for name in asked for offer in catalog.offers_of(name) if offer.kind == "section"):
        try:
            tools += _tools(catalog, offer)
        except WinkError as error:
            is_sound = is_sound and not _is_broken(catalog, offer, error)
            left_out.append({"plugin": offer.plugin, "offer": offer.name, "reason": str(error)})
    return {"wink": __version__, "tools": tools, "left_out": left_out}, is_sound


def _is_broken(catalog: Catalog, offer: Offer, error: WinkError) -> bool:
    """Whether it is the plugin's fault, and not a matter of what it was given."""
    if not isinstance(error, OfferBroken):
        return False
    try:
        catalog.load(offer)
    except OfferBroken:
        return True
    return error.__cause__ is None


def _tools(catalog: Catalog, offer: Offer) -> list[dict[str, Any]]:
    plugin = next(one for one in catalog.plugin(offer.plugin) if one.distribution == offer.distribution)
    return [
        {
            "plugin": offer.plugin,
            "distribution": plugin.distribution,
            "version": plugin.version,
            "offer": offer.name,
            "name": tool.name,
            "description": tool.description,
            "effects": tool.effects,
            "parameters": tool.schema(),
        }
        for tool in catalog.use("section", offer.name).tools()
    ]
