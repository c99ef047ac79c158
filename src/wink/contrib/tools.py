"""Sections with tools, each imported from its plugin when it is asked for."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

_NAMES: Final = {
    "wink_asteval": "AstevalSection",
    "wink_files": "HostMount VfsConfig VfsToolsSection",
    "wink_planning": "AddStep Plan PlanningStrategy PlanningToolsSection PlanStatus PlanStep ReadPlan SetupPlan StepStatus UpdateStep",
    "wink_podman": "PodmanSandboxSection",
}
_HOMES: Final = {name: module for module, names in _NAMES.items() for name in names.split()}

if not TYPE_CHECKING:  # a checker that saw this would take any name for granted

    def __dir__() -> list[str]:
        return [*globals(), *_HOMES]

    def __getattr__(name: str) -> Any:
        """A section, or what it works with."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)
