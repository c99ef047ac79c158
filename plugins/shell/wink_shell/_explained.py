"""What `wink explain` asks of paths and hosts: what commands of `run_command` see, change and reach, by the plugin's settings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from wink.trust import is_inside
from wink_shell._config import ShellConfig

if TYPE_CHECKING:
    from wink.cli import Verdict
    from wink.plugins import Catalog

_WHO: Final = "run_command"
_NETWORK: Final = "network"
_USUAL: Final = "there is no network unless [plugins.shell] gives one"
_BARE: Final = 'with sandbox = "none" nothing is held: commands read, write and reach what you can'
_UNSEEN: Final = "commands see the system, and what `readable` names"
_READ_ONLY: Final = "commands change nothing outside of the workspace"


def explained(
    workspace: str, about: str, subjects: Sequence[str], look_up: bool, settings: ShellConfig, catalog: Catalog
) -> tuple[tuple[Verdict, ...], ...]:
    """What a call of `run_command` may do to each path or host."""
    from wink.cli import Verdict
    from wink_sandbox.commands import Reach, WorkspacePaths, reached

    if settings.sandbox == "none":
        does: Any = {"path": ("read", "write"), "host": ("reach",)}.get(about, ())
        origin = _origin(catalog, "sandbox", "none")
        return tuple(tuple(Verdict(_WHO, one, "allow", _BARE, origin) for one in does) for _ in subjects)
    if about == "host":
        origin = _origin(catalog, _NETWORK, settings.network)
        reach = Reach(settings.network, settings.network_default == "ask")
        return tuple((reached(_WHO, one, reach, {}, origin, _USUAL, look_up),) for one in subjects)
    if about == "path":
        inside = WorkspacePaths(workspace, _WHO, _WHO, asking=True)

        def outside(path: str) -> tuple[Verdict, ...]:
            return _outside(path, settings, _origin(catalog, "readable", settings.readable))

        return tuple(outside(one) if os.path.isabs(one) else inside.verdicts(one, outside) for one in subjects)
    return ((),) * len(subjects)


def _outside(path: str, settings: ShellConfig, origin: str) -> tuple[Verdict, ...]:
    """What of the rest of the machine a command sees: its home is empty, and what is shown in it is named."""
    from wink.cli import Verdict
    from wink_sandbox import SYSTEM

    real = os.path.realpath(path)
    is_listed = any(is_inside(real, os.path.realpath(one)) for one in settings.readable)
    is_shown = is_listed or any(is_inside(real, os.path.realpath(one)) for one in SYSTEM)
    read = Verdict(
        _WHO, "read", "allow" if is_shown else "deny", "" if is_shown else _UNSEEN, origin if is_listed else ""
    )
    return read, Verdict(_WHO, "write", "deny", _READ_ONLY)


def _origin(catalog: Catalog, key: str, value: object) -> str:
    """The last place that says this of a setting; empty where none does."""
    said = (table for table in reversed(catalog.settings.tables_of("shell")) if key in table.values)
    return next((one.origin for one in said if _plain(one.values[key]) == value), "")


def _plain(value: Any) -> Any:
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value
