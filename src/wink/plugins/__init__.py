"""What plugins offer, found without importing them and used by name."""

from typing import TYPE_CHECKING

from wink.errors import PluginWarning
from wink.plugins._catalog import Catalog
from wink.plugins._info import STATES, Ignored, Loaded, Offer, PluginInfo, State
from wink.plugins._names import LONGEST, Kind, normalized, problem_with_offer_name, problem_with_plugin_name
from wink.plugins._quarantine import Quarantine
from wink.plugins._settings import Settings, Step, Table
from wink.spellings import lazily

if TYPE_CHECKING:
    from wink.plugins._hookspecs import HOOK_API, FilesystemOffer, PolicyOffer, SectionOffer, hookimpl

__all__ = [
    "Catalog",
    "FilesystemOffer",
    "HOOK_API",
    "Ignored",
    "Kind",
    "LONGEST",
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
    "normalized",
    "problem_with_offer_name",
    "problem_with_plugin_name",
]

if not TYPE_CHECKING:  # listing plugins does without pluggy, which hook modules need
    __getattr__ = lazily(__name__, {"HOOK_API FilesystemOffer PolicyOffer SectionOffer hookimpl": "_hookspecs"})
