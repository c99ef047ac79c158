"""What authors of plugins, filesystems and adapters need to test them; nothing of it is loaded unless it is asked for.

`pytest_plugins = ["wink.testing"]` in a `conftest.py` gives the fixtures `harness` and `plugin_catalog` and the marker
`wink`; whatever else is here is imported where it is used. (PYTEST_DONT_REWRITE: a `conftest.py` may do both.)
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wink.adapters import ScriptedAdapter
    from wink.runtime import ToolCall
    from wink.testing import strategies
    from wink.testing._audit import Watch, audit_effects
    from wink.testing._catalog import PluginCatalog
    from wink.testing._contracts import AdapterContract, PolicyContract, SectionContract, ToolContract
    from wink.testing._deadline import FrozenDeadline
    from wink.testing._distributions import FakeDistribution, fake_distribution
    from wink.testing._errors import InjectedFault, RecordingUnreadable, ReplayMismatch, UndeclaredEffects
    from wink.testing._events import EventLog
    from wink.testing._faults import FaultReport, FaultStep, fail_at_every_step
    from wink.testing._filesystems import FilesystemContract, exactly
    from wink.testing._harness import Harness
    from wink.testing._imports import ImportReport, assert_import_light
    from wink.testing._recording import Recording, RecordingAdapter, ReplayAdapter
    from wink.testing._steps import Step, allowed, denied

__all__ = [
    "AdapterContract",
    "EventLog",
    "FakeDistribution",
    "FaultReport",
    "FaultStep",
    "FilesystemContract",
    "FrozenDeadline",
    "Harness",
    "ImportReport",
    "InjectedFault",
    "PluginCatalog",
    "PolicyContract",
    "Recording",
    "RecordingAdapter",
    "RecordingUnreadable",
    "ReplayAdapter",
    "ReplayMismatch",
    "ScriptedAdapter",
    "SectionContract",
    "Step",
    "ToolCall",
    "ToolContract",
    "UndeclaredEffects",
    "Watch",
    "allowed",
    "assert_import_light",
    "audit_effects",
    "denied",
    "exactly",
    "fail_at_every_step",
    "fake_distribution",
    "strategies",
]

pytest_plugins = ("wink.testing._fixtures",)

_HOMES = {
    "wink.adapters": "ScriptedAdapter",
    "wink.runtime": "ToolCall",
    "wink.testing._audit": "Watch audit_effects",
    "wink.testing._catalog": "PluginCatalog",
    "wink.testing._contracts": "AdapterContract PolicyContract SectionContract ToolContract",
    "wink.testing._deadline": "FrozenDeadline",
    "wink.testing._distributions": "FakeDistribution fake_distribution",
    "wink.testing._errors": "InjectedFault RecordingUnreadable ReplayMismatch UndeclaredEffects",
    "wink.testing._events": "EventLog",
    "wink.testing._faults": "FaultReport FaultStep fail_at_every_step",
    "wink.testing._filesystems": "FilesystemContract exactly",
    "wink.testing._harness": "Harness",
    "wink.testing._imports": "ImportReport assert_import_light",
    "wink.testing._recording": "Recording RecordingAdapter ReplayAdapter",
    "wink.testing._steps": "Step allowed denied",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}

# Their assertions show the values in them when they fail, as those of a test of the author's own do.
_REWRITTEN = frozenset(("wink.testing._contracts", "wink.testing._filesystems"))

if not TYPE_CHECKING:  # a checker that saw this would take any name for granted

    def __getattr__(name: str) -> Any:
        """Import a name from its home when it is first asked for."""
        from importlib import import_module

        if name == "strategies":
            return import_module("wink.testing.strategies")
        module = _HOME_OF.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if module in _REWRITTEN:
            import sys

            import pytest

            if module not in sys.modules:
                pytest.register_assert_rewrite(module)
        found = globals()[name] = getattr(import_module(module), name)
        return found
