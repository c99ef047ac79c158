"""Import one entry point's target, whatever its code does."""

import importlib
import os
import sys
from typing import Any

from wink.plugins._guard import Failed, guarded
from wink.plugins._info import Loaded, Offer, PluginInfo
from wink.trust import Trust


def load_target(plugin: PluginInfo, target: str, trust: Trust | None) -> Any:
    """Import `module` or `module:attribute`; raises `Failed`."""
    module_name, _, attribute = target.partition(":")
    with guarded(target):
        if trust is not None and not plugin.editable:
            _refuse_planted(module_name.partition(".")[0], trust)
        found: Any = importlib.import_module(module_name)
        for part in filter(None, attribute.split(".")):
            found = getattr(found, part)
        return found


def load(plugin: PluginInfo, offer: Offer, trust: Trust | None) -> Loaded:
    """Import an offer's factory; raises `Failed`."""
    if offer.problem:
        raise Failed(offer.problem)
    factory = offer.factory if offer.factory is not None else load_target(plugin, offer.target, trust)
    if offer.kind == "command":
        return _loaded_command(offer, factory)
    if not callable(factory):
        raise Failed(f"{offer.target} is {type(factory).__name__}, not a callable that returns a {offer.kind}")
    with guarded(offer.target):  # it may be any object, with attributes of its own
        return Loaded(offer, factory, offer.summary or first_line(getattr(factory, "__doc__", None)))


def first_line(text: object) -> str:
    """The first line of a docstring, or nothing."""
    return text.strip().partition("\n")[0].strip() if isinstance(text, str) else ""


def _loaded_command(offer: Offer, command: Any) -> Loaded:
    import click

    with guarded(offer.target):  # it may be any object, with attributes of its own
        if not isinstance(command, click.Command):
            raise Failed(f"{offer.target} is {type(command).__name__}, not a command or group of click")
        return Loaded(offer, command, first_line(command.help))


def _refuse_planted(package: str, trust: Trust) -> None:
    """Refuse a package that would be imported from where an agent can write, in place of the installed one."""
    if package in sys.modules:
        return
    from importlib.util import find_spec

    spec = find_spec(package)
    places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
    for place in places:
        if place and os.path.isabs(place) and (objection := trust.objection(os.path.dirname(place))):
            raise ImportError(f"{package} would be imported from {place}, which {objection}")
