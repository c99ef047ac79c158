"""Programs in the workspace as transactions: what they change lies in an overlay, and is merged or dropped."""

from wink.sandbox._call import Outcome, run_in_call
from wink.sandbox._copy_guard import CopyGuard
from wink.sandbox._guard import Guard, Guarded, Notes, OverlayGuard, usual_guard
from wink.sandbox._launch import Channel, Mount, launcher
from wink.sandbox._lay import check_mounts, foreign
from wink.sandbox._merge import Differences, changed_meanwhile, differences, forget, merge, refused
from wink.sandbox._output import Keeper, Output
from wink.sandbox._overlay import Overlay, fresh_name, state_of, sweep
from wink.sandbox._probe import Feature, Report, probe
from wink.sandbox._program import Command, Ended, OnOutput, Reason, Stop, Streams, watch
from wink.sandbox._sandbox import PROGRAMS, Sandbox, allowed, bubblewrap, opened, words_of
from wink.sandbox._scratch import Scratch
from wink.sandbox._settings import ENVIRONMENT, MIB, SCRATCH, Limits, Profile
from wink.sandbox._unguarded import Unguarded
from wink.sandbox._upper import Step

__all__ = [
    "CopyGuard",
    "usual_guard",
    "OverlayGuard",
    "Notes",
    "Guarded",
    "Guard",
    "run_in_call",
    "Outcome",
    "probe",
    "Report",
    "Feature",
    "ENVIRONMENT",
    "MIB",
    "SCRATCH",
    "Scratch",
    "PROGRAMS",
    "Channel",
    "Command",
    "Differences",
    "Ended",
    "Keeper",
    "Limits",
    "Mount",
    "OnOutput",
    "Output",
    "Overlay",
    "Profile",
    "Reason",
    "Sandbox",
    "Step",
    "Stop",
    "Unguarded",
    "Streams",
    "allowed",
    "bubblewrap",
    "changed_meanwhile",
    "check_mounts",
    "foreign",
    "differences",
    "forget",
    "fresh_name",
    "launcher",
    "merge",
    "opened",
    "refused",
    "state_of",
    "sweep",
    "watch",
    "words_of",
]
