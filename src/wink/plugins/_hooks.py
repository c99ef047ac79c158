"""Register hook modules with pluggy, one plugin at a time, and call them one plugin at a time.

Calling plugin by plugin gives every implementation its own plugin's settings, and every failure one owner.
"""

from collections.abc import Iterable
from typing import Any

import pluggy

from wink.plugins import _hookspecs
from wink.plugins._hookspecs import FilesystemOffer, PolicyOffer, RuntimeOffer, SectionOffer

OFFERING = {"wink_sections": SectionOffer, "wink_policies": PolicyOffer, "wink_filesystems": FilesystemOffer}


class Hooks:
    """The hook modules of one catalog; there is no global registry."""

    __slots__ = ("_manager",)

    def __init__(self) -> None:
        self._manager = pluggy.PluginManager("wink")
        self._manager.add_hookspecs(_hookspecs)

    def register(self, plugin: str, hooks: Any) -> None:
        """Register a module or object under the plugin's name, or raise and leave nothing of it behind."""
        for name in vars(_hookspecs):
            function = getattr(hooks, name, None) if name.startswith("wink_") else None
            if callable(function) and self._manager.parse_hookimpl_opts(hooks, name) is None:
                raise TypeError(f"{name} is not marked; put @hookimpl on it")
        hash(hooks)
        self._manager.register(hooks, name=plugin)
        try:
            self._manager.check_pending()
        except BaseException:
            self._manager.unregister(hooks, name=plugin)
            # pluggy keeps the caller of the misspelt hook, which would be reported again for the next plugin only if
            # it still had implementations; it has none.
            raise

    def call(self, plugin: str, hook: str, **arguments: Any) -> list[Any]:
        """What this plugin's implementations of one hook return."""
        others: Iterable[Any] = [own for name, own in self._manager.list_name_plugin() if name != plugin and own]
        return self._manager.subset_hook_caller(hook, others)(**arguments)

    def offers(self, plugin: str, settings: object) -> list[RuntimeOffer]:
        """The offers that this plugin makes at run time; raises `TypeError` for an item that is not one of its kind."""
        offers: list[RuntimeOffer] = []
        for hook, expected in OFFERING.items():
            offers += [
                item for result in self.call(plugin, hook, settings=settings) for item in items(hook, result, expected)
            ]
        return offers


def items(hook: str, result: Any, expected: type[Any]) -> list[Any]:
    """The items of one hook's result; an unstarted generator runs here, inside the caller's guard."""
    if result is None:
        return []
    try:
        iterator = iter(result)
    except TypeError:
        raise TypeError(f"{hook} returned {type(result).__name__}, not an iterable of {expected.__name__}") from None
    collected = list(iterator)
    for item in collected:
        if not isinstance(item, expected):
            raise TypeError(f"{hook} yielded {type(item).__name__}, not {expected.__name__}")
    return collected
