"""What plugins offer, found without importing them and used by name."""

from typing import TYPE_CHECKING, Any

from wink.errors import PluginWarning
from wink.plugins._catalog import Catalog
from wink.plugins._info import STATES, Ignored, Loaded, Offer, PluginInfo, State
from wink.plugins._names import Kind
from wink.plugins._quarantine import Quarantine
from wink.plugins._settings import Settings, Step, Table

if TYPE_CHECKING:
    from wink.plugins._hookspecs import HOOK_API, FilesystemOffer, PolicyOffer, SectionOffer, hookimpl

__all__ = [
    "Catalog",
    "FilesystemOffer",
    "HOOK_API",
    "Ignored",
    "Kind",
    "Loaded",
    "Offer",
    "PluginInfo",
    "PluginWarning",
    "PolicyOffer",
    "Quarantine",
    "STATES",
    "SectionOffer",
    "Settings",
    "State",
    "Step",
    "Table",
    "hookimpl",
]

_NEEDING_PLUGGY = frozenset({"HOOK_API", "FilesystemOffer", "PolicyOffer", "SectionOffer", "hookimpl"})

if not TYPE_CHECKING:  # a checker that saw this would take any name for granted

    def __getattr__(name: str) -> Any:
        """What hook modules need; listing plugins does without pluggy."""
        if name not in _NEEDING_PLUGGY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from wink.plugins import _hookspecs

        return getattr(_hookspecs, name)
