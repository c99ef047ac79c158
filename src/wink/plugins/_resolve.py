"""Find the one offer that a name means, or say why there is none."""

from collections.abc import Iterable, Sequence

from wink.errors import AmbiguousOffer, OfferBroken, OfferNotFound, OfferUnavailable
from wink.plugins._guard import Failed
from wink.plugins._info import Ignored, Offer, PluginInfo
from wink.plugins._inventory import Inventory
from wink.plugins._metadata import distributions
from wink.plugins._names import Kind, close_matches
from wink.plugins._stale import undeclared


def resolve(
    inventory: Inventory, kind: Kind, name: str, *, ignored: Iterable[Ignored] = (), paths: Sequence[str] | None = None
) -> Offer:
    """The offer called `name`, or whose name ends in it when it has no dot.

    Starts the plugin that owns the name, or all of them for a short one, because offers may be made at run time.
    """
    if "." not in name:
        name = _full_name(inventory, kind, name) or name
    if (plugin := owner_of(inventory, kind, name)) is not None:
        if plugin.usable:
            _start(inventory, plugin, kind, name)
            plugin = owner_of(inventory, kind, name) or plugin
        if not plugin.usable and (plugin.hooks or _declares(plugin, kind, name)):
            raise OfferUnavailable(kind, name, plugin.state, plugin.reason)
    offer = inventory.offer(kind, name)
    if offer is None:
        raise _not_found(inventory, kind, name, ignored, paths)
    return offer


def broken(offer: Offer, failed: Failed) -> OfferBroken:
    """The error for an offer that could not be loaded or made; raise it from the failure's cause."""
    return OfferBroken(offer.kind, offer.name, offer.distribution, failed.reason)


def _full_name(inventory: Inventory, kind: Kind, short: str) -> str:
    """The name of the only offer that ends in `short`; of one that may not be used, if no other does."""
    for plugin in inventory.usable():
        try:
            inventory.start(plugin)
        except Failed as failed:
            inventory.leave_out(plugin, failed.reason, failed.__cause__)
    candidates = [offer.name for offer in inventory.offers(kind) if offer.short == short]
    if len(candidates) > 1:
        raise AmbiguousOffer(kind, short, candidates)
    unusable = (
        offer.name
        for plugin in inventory.plugins
        if not plugin.usable
        for offer in plugin.offers
        if offer.kind == kind and offer.short == short
    )
    return candidates[0] if candidates else next(unusable, "")


def owner_of(inventory: Inventory, kind: Kind, name: str) -> PluginInfo | None:
    """The plugin that matters for an offer: the usable one, else one that nobody switched off; first those that declare it."""
    found = inventory.named(name.partition(".")[0])
    declaring = [plugin for plugin in found if _declares(plugin, kind, name)]
    return min(declaring or found, key=lambda plugin: (not plugin.usable, plugin.state == "disabled"), default=None)


def _start(inventory: Inventory, plugin: PluginInfo, kind: Kind, name: str) -> None:
    try:
        inventory.start(plugin)
    except Failed as failed:
        offer = inventory.offer(kind, name) or Offer(kind, name, plugin.distribution, plugin.hooks)
        raise broken(offer, failed) from failed.__cause__


def _declares(plugin: PluginInfo, kind: Kind, name: str) -> bool:
    return any((offer.kind, offer.name) == (kind, name) for offer in plugin.offers)


def _not_found(
    inventory: Inventory, kind: Kind, name: str, ignored: Iterable[Ignored], paths: Sequence[str] | None
) -> OfferNotFound:
    offers = inventory.offers()
    owner = name.partition(".")[0]
    stale = (plugin.reason for plugin in inventory.plugins if plugin.state == "stale" and plugin.name == owner)
    others = (f"there is a {offer.kind} {offer.name!r}" for offer in offers if name in (offer.name, offer.short))
    planted = (f"{one.distribution} {one.reason}" for one in ignored if owner in one.distribution)
    hint = next(others, "") or next(stale, "") or next(planted, "")
    if not hint and not inventory.named(owner):
        hint = undeclared(owner, distributions(paths))
    return OfferNotFound(kind, name, close_matches(name, [offer.name for offer in offers if offer.kind == kind]), hint)
