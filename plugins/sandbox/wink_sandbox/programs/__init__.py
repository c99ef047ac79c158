"""One program: what it may see and use, and a process that starts it in there and tells how it ended.

The launcher is a script that imports nothing of wink. It is asked over a socket, and makes namespaces, mounts and limits before
bubblewrap starts. Nothing here knows what becomes of the files that a program changes.
"""

from typing import TYPE_CHECKING

from wink.spellings import lazily
from wink_sandbox.programs._filter import filter_of_calls
from wink_sandbox.programs._ids import mapped
from wink_sandbox.programs._launch import Channel, Mount, Request, launcher
from wink_sandbox.programs._output import Keeper, Output
from wink_sandbox.programs._program import Command, Ended, OnOutput, Reason, Stop, Streams, watch
from wink_sandbox.programs._settings import ENVIRONMENT, MIB, SCRATCH, Limits, Profile
from wink_sandbox.programs._view import SYSTEM, is_in, listening, toolchain, view

if TYPE_CHECKING:
    from wink_sandbox.programs._cgroups import found
    from wink_sandbox.programs._mounting import mount
    from wink_sandbox.programs._noted import note_program

__all__ = [
    "ENVIRONMENT",
    "MIB",
    "SCRATCH",
    "SYSTEM",
    "Channel",
    "Command",
    "Ended",
    "Keeper",
    "Limits",
    "Mount",
    "OnOutput",
    "Output",
    "Profile",
    "Reason",
    "Request",
    "Stop",
    "Streams",
    "filter_of_calls",
    "found",
    "is_in",
    "launcher",
    "listening",
    "mapped",
    "mount",
    "note_program",
    "toolchain",
    "view",
    "watch",
]

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, {"found": "_cgroups", "mount": "_mounting", "note_program": "_noted"})
