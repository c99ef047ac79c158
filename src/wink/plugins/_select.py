"""Decide which of the plugins that were found may be used, before anything of theirs is imported."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from wink.plugins._info import OURS, UNUSABLE, PluginInfo, State
from wink.plugins._names import normalized
from wink.plugins._settings import Settings
from wink.plugins._versions import is_within


def select(plugins: Iterable[PluginInfo], settings: Settings, *, version: str) -> tuple[PluginInfo, ...]:
    """The same plugins, each in its state; `version` is wink's own."""
    found = tuple(plugins)
    for state, reason_of in _RULES:
        # Each rule sees what the earlier ones made of the others: a disabled plugin is in nobody's way.
        namesakes: dict[str, list[PluginInfo]] = {}
        for plugin in found:
            namesakes.setdefault(plugin.name, []).append(plugin)
        found = tuple(
            plugin
            if plugin.state != "available"
            or not (reason := reason_of(plugin, namesakes[plugin.name], settings, version))
            else replace(plugin, state=state, reason=reason)
            for plugin in found
        )
    return found


def _disabled(plugin: PluginInfo, namesakes: list[PluginInfo], settings: Settings, version: str) -> str:  # noqa: ARG001
    said = settings.verdicts(plugin.name, is_foreign=plugin.is_foreign)
    if said and not said[-1][1]:
        return str(said[-1][0])
    chosen = settings.distribution_of(plugin.name)
    if chosen is not None and normalized(plugin.distribution) != chosen[0]:
        return f'{chosen[1]} distribution = "{chosen[0]}"'
    return ""


def _incompatible(plugin: PluginInfo, namesakes: list[PluginInfo], settings: Settings, version: str) -> str:  # noqa: ARG001
    if not plugin.requires_wink:
        return ""
    verdict = is_within(version, plugin.requires_wink)
    if verdict is None:
        return f"requires wink{plugin.requires_wink}, which is not a range of versions"
    return "" if verdict else f"requires wink{plugin.requires_wink}, this is {version}"


def _in_conflict(plugin: PluginInfo, namesakes: list[PluginInfo], settings: Settings, version: str) -> str:  # noqa: ARG001
    if not plugin.is_foreign:
        return ""  # our own names are ours
    if any(not other.is_foreign and other.state != "disabled" for other in namesakes):
        return (
            f"name {plugin.name!r} is that of a plugin of wink's own, which is used; {plugin.installed_as} has to choose "
            f'another, and until then [tool.wink.plugins.{plugin.name}] distribution = "{OURS}" silences this'
        )
    rivals = [
        other.distribution
        for other in namesakes
        if other.distribution != plugin.distribution and other.state != "disabled"
    ]
    if not rivals:
        return ""
    return (
        f"name {plugin.name!r} is also used by distribution {', '.join(rivals)}; choose one: "
        f'[tool.wink.plugins.{plugin.name}] distribution = "{plugin.distribution}"'
    )


def _broken(plugin: PluginInfo, namesakes: list[PluginInfo], settings: Settings, version: str) -> str:  # noqa: ARG001
    return "; ".join(plugin.problems)


_RULES: Final[tuple[tuple[State, Callable[[PluginInfo, list[PluginInfo], Settings, str], str]], ...]] = (
    # first match wins
    ("disabled", _disabled),
    ("incompatible", _incompatible),
    ("conflict", _in_conflict),
    ("broken", _broken),
)

assert {state for state, _ in _RULES} - {"broken"} | {"quarantined"} == UNUSABLE
