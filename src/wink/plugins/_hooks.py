"""Register hook modules with pluggy, one plugin at a time, and call them one plugin at a time.

Calling plugin by plugin gives every implementation its own plugin's settings, and every failure one owner.
"""

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, Final

import pluggy

from wink.plugins import _hookspecs
from wink.plugins._hookspecs import FilesystemOffer, PolicyOffer, RuntimeOffer, SectionOffer
from wink.plugins._names import close_matches

OFFERING = {"wink_sections": SectionOffer, "wink_policies": PolicyOffer, "wink_filesystems": FilesystemOffer}


SPECS: Final[Mapping[str, tuple[str, ...]]] = {
    name: tuple(inspect.signature(spec).parameters)
    for name, spec in vars(_hookspecs).items()
    if name.startswith("wink_")
}
"""Every hook, and the arguments that an implementation may take."""


class Hooks:
    """The hook modules of one catalog; there is no global registry."""

    __slots__ = ("_manager",)

    def __init__(self) -> None:
        self._manager = pluggy.PluginManager("wink")
        self._manager.add_hookspecs(_hookspecs)

    def register(self, plugin: str, hooks: Any) -> list[str]:
        """Register a module or object under the plugin's name, or raise and leave nothing of it behind.

        Returns the names of what implements hooks in it.
        """
        found = self._checked(hooks)
        hash(hooks)
        self._manager.register(hooks, name=plugin)
        try:
            self._manager.check_pending()
        except BaseException:
            self._manager.unregister(hooks, name=plugin)
            # pluggy keeps the caller of the misspelt hook, which would be reported again for the next plugin only if
            # it still had implementations; it has none.
            raise
        return found

    def _checked(self, hooks: Any) -> list[str]:
        """Say in one line, and always the same one, what pluggy would say in three and in the order of a set."""
        found: list[str] = []
        for name in dir(hooks):
            options = self._manager.parse_hookimpl_opts(hooks, name)
            hook = (options or {}).get("specname") or name
            if options is None:
                if name in SPECS and callable(getattr(hooks, name, None)):
                    raise TypeError(f"{name} is not marked; put @hookimpl on it")
                continue
            found.append(name)
            if hook not in SPECS:
                if not options["optionalhook"]:
                    raise TypeError(f"unknown hook {hook!r}; {_instead(hook)}")
            elif unknown := [one for one in _wanted(getattr(hooks, name)) if one not in SPECS[hook]]:
                takes = f"may take {', '.join(SPECS[hook])}" if SPECS[hook] else "takes none"
                raise TypeError(f"hook {hook} has no argument {', '.join(map(repr, unknown))}; it {takes}")
        return found

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


def _wanted(implementation: Any) -> list[str]:
    """The arguments that pluggy would pass: those without a default that may be passed by position."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(implementation).parameters.values()
    return [one.name for one in parameters if one.kind in positional and one.default is one.empty]


def _instead(hook: str) -> str:
    close = close_matches(hook, list(SPECS))
    return f"did you mean {close[0]}?" if close else f"this version of wink has {', '.join(SPECS)}"


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
