"""What `wink explain` asks of paths and hosts: what commands of `run_command` see, change and reach, by the plugin's settings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from wink_shell._config import ShellConfig

if TYPE_CHECKING:
    from wink.cli import Verdict
    from wink.plugins import Catalog

_WHO: Final = "run_command"
_NETWORK: Final = "network"
_USUAL: Final = "there is no network unless [plugins.shell] gives one"
_BARE: Final = 'with sandbox = "none" nothing is held: commands read, write and reach what you can'


def explained(
    workspace: str, about: str, subjects: Sequence[str], look_up: bool, settings: ShellConfig, catalog: Catalog
) -> tuple[tuple[Verdict, ...], ...]:
    """What a call of `run_command` may do to each path or host."""
    from wink.cli import Verdict
    from wink_sandbox.commands import CalledPrograms, Reach

    if settings.sandbox == "none":
        does: Any = {"path": ("read", "write"), "host": ("reach",)}.get(about, ())
        origin = _origin(catalog, "sandbox", "none")
        return tuple(tuple(Verdict(_WHO, one, "allow", _BARE, origin) for one in does) for _ in subjects)
    origin = _origin(catalog, _NETWORK, settings.network)
    reach = Reach(settings.network, settings.network_default == "ask")
    programs = CalledPrograms(workspace, _WHO, effects="process", reach=reach, origin=origin, usual=_USUAL)
    shown = _origin(catalog, "readable", settings.readable)
    return programs.explained(about, subjects, look_up, partial(programs.shown, settings.readable, shown))


def _origin(catalog: Catalog, key: str, value: object) -> str:
    """The last place that says this of a setting; empty where none does."""
    said = (table for table in reversed(catalog.settings.tables_of("shell")) if key in table.values)
    return next((one.origin for one in said if _plain(one.values[key]) == value), "")


def _plain(value: Any) -> Any:
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value
