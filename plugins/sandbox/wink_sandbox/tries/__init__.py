"""Tries: what programs did to a workspace, kept apart until a person accepts or drops it."""

from typing import TYPE_CHECKING

from wink.spellings import lazily
from wink_sandbox.tries._dropped import KEPT, Dropped
from wink_sandbox.tries._private import private_places
from wink_sandbox.tries._profiles import PROFILES, profile_named
from wink_sandbox.tries._terminal import run_here
from wink_sandbox.tries._try import (
    DIRECTORY,
    Accepted,
    AcceptRefused,
    Run,
    Try,
    bring_back,
    dropped_tries,
    free_dropped,
    tries,
)

if TYPE_CHECKING:
    from wink_sandbox.tries._hunks import Hunk, Picked, Unit, split
    from wink_sandbox.tries._unconfined import run_unconfined

__all__ = [
    "DIRECTORY",
    "KEPT",
    "PROFILES",
    "AcceptRefused",
    "Accepted",
    "Dropped",
    "Hunk",
    "Picked",
    "Run",
    "Try",
    "Unit",
    "bring_back",
    "dropped_tries",
    "free_dropped",
    "private_places",
    "profile_named",
    "run_here",
    "run_unconfined",
    "split",
    "tries",
]

if not TYPE_CHECKING:  # `wink accept --patch` alone needs the first ones, and `wink try --unconfined` the last one
    __getattr__ = lazily(__name__, {"Hunk Picked Unit split": "_hunks", "run_unconfined": "_unconfined"})
