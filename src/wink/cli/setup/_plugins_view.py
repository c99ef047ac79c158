"""What `wink plugins show`, `why` and `--json` say about plugins."""

from collections.abc import Iterable, Mapping
from typing import Any

from wink import __version__
from wink.errors import OfferBroken, PluginError, UnknownPlugin, WinkError
from wink.plugins import STATES, Catalog, Ignored, Offer, PluginInfo


def as_json(value: Any) -> str:
    """Indented JSON; what JSON has no word for becomes its `repr`."""
    import json

    return json.dumps(value, indent=2, ensure_ascii=False, default=repr)


def listing(plugins: Iterable[PluginInfo], ignored: Iterable[Ignored]) -> dict[str, Any]:
    """Everything that `wink plugins` lists."""
    return {
        "wink": __version__,
        "plugins": [facts(plugin) for plugin in plugins],
        "ignored": [
            {"distribution": one.distribution, "location": one.location, "reason": one.reason} for one in ignored
        ],
    }


def facts(plugin: PluginInfo) -> dict[str, Any]:
    """One plugin as its metadata describe it, and its state."""
    return {
        "name": plugin.name,
        "version": plugin.version,
        "distribution": plugin.distribution,
        "summary": plugin.summary,
        "location": plugin.location,
        "editable": plugin.editable,
        "project": plugin.project,
        "requires_wink": plugin.requires_wink,
        "state": plugin.state,
        "reason": plugin.reason,
        "notes": list(plugin.notes),
        "seconds": None if plugin.seconds is None else round(plugin.seconds, 3),
        "offers": [{"kind": offer.kind, "name": offer.name, "target": offer.target} for offer in plugin.offers],
        "hooks": plugin.hooks,
    }


def details(catalog: Catalog, plugin: PluginInfo) -> dict[str, Any]:
    """Facts, and what can only be known by importing the plugin; nothing is imported of one that may not be used."""
    offers: list[dict[str, Any]] = []
    settings: dict[str, Any] = {}
    if plugin.usable:
        try:
            settings = _settings(catalog.own_settings(plugin.name))
        except PluginError:
            pass  # its state says so
        offers = [_offer(catalog, offer) for offer in catalog.offers_of(plugin.name)]
    now = next(one for one in catalog.plugins if (one.name, one.location) == (plugin.name, plugin.location))
    found = facts(now) | {"settings": settings}
    return found | {"offers": offers} if offers else found


def explanations(catalog: Catalog, name: str) -> list[dict[str, Any]]:
    """How each plugin of this name came into its state; raises `UnknownPlugin`."""
    try:
        found = catalog.plugin(name)
    except UnknownPlugin:
        planted = [_explained_away(name, one) for one in catalog.ignored if name in one.distribution]
        if not planted:
            raise
        return planted
    return [
        {
            "name": name,
            "version": plugin.version,
            "distribution": plugin.distribution,
            "location": plugin.location,
            "project": plugin.project,
            "state": plugin.state,
            "meaning": STATES[plugin.state],
            "reason": plugin.reason,
            "chain": [
                {"origin": step.origin, "text": step.text, "on": on}
                for step, on in catalog.settings.verdicts(name, is_foreign=plugin.is_foreign)
            ]
            + [
                {
                    "origin": table.origin,
                    "text": f"[{name}] {', '.join(map(_set, table.values.items()))}",
                    "tighten_only": table.tighten_only,
                }
                for table in catalog.settings.tables_of(name)
            ],
        }
        for plugin in found
    ]


def _set(pair: tuple[str, Any]) -> str:
    """A setting by its name alone, since its value may be a secret; but for the choice of a distribution."""
    key, value = pair
    return f'{key} = "{value}"' if key == "distribution" else key


def _explained_away(name: str, one: Ignored) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "version": "", "distribution": one.distribution, "location": one.location}
    found["project"] = None
    return found | {"state": "ignored", "meaning": one.reason, "reason": "", "chain": []}


def show(found: Mapping[str, Any]) -> str:
    """`details` for people."""
    lines = [f"{found['name']} {found['version']} ({found['distribution']}), {found['state']}"]
    lines += [text for text in (found["summary"], found["reason"], *found["notes"], _place(found)) if text]
    for offer in found["offers"]:
        said = offer.get("problem") or offer.get("summary", "")
        lines += ["", f"{offer['kind']} {offer['name']}" + (f" - {said}" if said else "")]
        lines += [f"  {tool['name']} - {tool['description']}" for tool in offer.get("tools", ())]
        lines += [f"  policy {name}" for name in offer.get("policies", ())]
    if found.get("settings"):
        lines += ["", f"settings, under [tool.wink.plugins.{found['name']}]:"]
        lines += [
            f"  {key} = {one['value']!r}" + ("" if one["value"] == one["default"] else f" (default {one['default']!r})")
            for key, one in found["settings"].items()
        ]
    return "\n".join(lines)


def why(found: Mapping[str, Any]) -> str:
    """`explanations` for people, one step a line."""
    version = f" {found['version']}" if found["version"] else ""
    lines = [f"{found['name']}{version} is {found['state']}: {found['reason'] or found['meaning']}"]
    lines.append(f"  {_place(found)}")
    for step in found["chain"]:
        if "on" in step:
            lines.append(f"  {step['origin']} {step['text']}: {'on' if step['on'] else 'off'}")
        else:
            lines.append(f"  {step['origin']} {step['text']}{' (can only tighten)' if step['tighten_only'] else ''}")
    if not found["chain"] and found["state"] != "ignored":
        lines.append("  no setting says anything about it: on")
    return "\n".join(lines)


def _place(found: Mapping[str, Any]) -> str:
    if found["state"] == "ignored":
        return f"found at {found['location']}"
    editable = f", an editable install of {found['project']}" if found["project"] else ""
    return f"installed by {found['distribution']}: {found['location']}{editable}"


def _offer(catalog: Catalog, offer: Offer) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": offer.kind, "name": offer.name, "target": offer.target}
    try:
        found["summary"] = catalog.load(offer).summary
    except OfferBroken as error:
        return found | {"problem": error.reason}
    if offer.kind == "section":
        try:
            section = catalog.use("section", offer.name)
            found["tools"] = [{"name": tool.name, "description": tool.description} for tool in section.tools()]
            found["policies"] = [policy.name for policy in section.policies()]
        except WinkError as error:
            # A section that needs options cannot be made here, and is none the worse for it.
            found["note"] = str(error)
    return found


def _settings(own: Any) -> dict[str, Any]:
    if own is None:
        return {}
    from dataclasses import MISSING, fields

    found: dict[str, Any] = {}
    for one in fields(own):
        factory: Any = one.default_factory
        default = one.default if one.default is not MISSING else None if factory is MISSING else factory()
        found[one.name] = {"value": getattr(own, one.name), "default": default}
    return found
