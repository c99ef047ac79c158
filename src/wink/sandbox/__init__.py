"""Programs in the workspace as transactions: what they change lies in an overlay, and is merged or dropped."""

from typing import TYPE_CHECKING

from wink.sandbox._call import Outcome, run_in_call
from wink.sandbox._guard import Guard, Guarded, Notes, OverlayGuard, usual_guard
from wink.sandbox._launch import Channel, Mount, launcher
from wink.sandbox._lay import check_mounts, foreign
from wink.sandbox._merge import Differences, changed_meanwhile, differences, forget, merge, refused
from wink.sandbox._output import Keeper, Output
from wink.sandbox._overlay import Overlay, fresh_name, is_directory, layers, overlays_in, state_of, sweep
from wink.sandbox._program import Command, Ended, OnOutput, Reason, Stop, Streams, watch
from wink.sandbox._rules import steering
from wink.sandbox._sandbox import PROGRAMS, Sandbox, allowed, bubblewrap, opened, words_of
from wink.sandbox._scratch import Scratch
from wink.sandbox._settings import ENVIRONMENT, MIB, SCRATCH, Limits, Profile
from wink.sandbox._upper import Step

if TYPE_CHECKING:
    from wink.sandbox._copy_guard import CopyGuard
    from wink.sandbox._probe import Feature, Report, probe
    from wink.sandbox._unguarded import Unguarded

__all__ = [
    "ENVIRONMENT",
    "MIB",
    "PROGRAMS",
    "SCRATCH",
    "Channel",
    "Command",
    "CopyGuard",
    "Differences",
    "Ended",
    "Feature",
    "Guard",
    "Guarded",
    "Keeper",
    "Limits",
    "Mount",
    "Notes",
    "OnOutput",
    "Outcome",
    "Output",
    "Overlay",
    "OverlayGuard",
    "Profile",
    "Reason",
    "Report",
    "Sandbox",
    "Scratch",
    "Step",
    "Stop",
    "Streams",
    "Unguarded",
    "allowed",
    "bubblewrap",
    "changed_meanwhile",
    "check_mounts",
    "differences",
    "foreign",
    "forget",
    "fresh_name",
    "launcher",
    "merge",
    "opened",
    "probe",
    "refused",
    "run_in_call",
    "is_directory",
    "layers",
    "overlays_in",
    "state_of",
    "steering",
    "sweep",
    "usual_guard",
    "watch",
    "words_of",
]

# What most programs do without is imported when it is asked for (PEP 562).
_LATER = {
    "CopyGuard": "_copy_guard",
    "Feature": "_probe",
    "Report": "_probe",
    "probe": "_probe",
    "Unguarded": "_unguarded",
}


def __getattr__(name: str) -> object:
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = found
    return found
