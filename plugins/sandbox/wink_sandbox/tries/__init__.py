"""Tries: what programs did to a workspace, kept apart until a person accepts or drops it."""

from typing import TYPE_CHECKING

from wink.spellings import lazily
from wink_sandbox.tries._dropped import KEPT, Dropped
from wink_sandbox.tries._facts import Run
from wink_sandbox.tries._private import home_of, private_places
from wink_sandbox.tries._profiles import PROFILES, profile_named
from wink_sandbox.tries._terminal import run_here
from wink_sandbox.tries._try import (
    DIRECTORY,
    Try,
    bring_back,
    clashes,
    dropped_tries,
    free_dropped,
    tries,
)

if TYPE_CHECKING:
    from wink_sandbox.tries._accepted import Accepted, AcceptRefused
    from wink_sandbox.tries._check import CHECK_PROFILE, Check, CheckFailed, Ran, check_of
    from wink_sandbox.tries._home_pattern import HomePattern, home_pattern
    from wink_sandbox.tries._hunks import Hunk, Picked, Unit, split
    from wink_sandbox.tries._persist import Persist, Persisted
    from wink_sandbox.tries._unconfined import run_unconfined
    from wink_sandbox.tries._update import Updated
    from wink_sandbox.tries.merging import Choice, Conflict, MergedText, MergeFailed, merge_texts

__all__ = [
    "CHECK_PROFILE",
    "DIRECTORY",
    "KEPT",
    "PROFILES",
    "AcceptRefused",
    "Accepted",
    "Check",
    "CheckFailed",
    "Choice",
    "Conflict",
    "Dropped",
    "HomePattern",
    "MergeFailed",
    "MergedText",
    "Hunk",
    "Persist",
    "Persisted",
    "Picked",
    "Ran",
    "Run",
    "Try",
    "Unit",
    "Updated",
    "bring_back",
    "check_of",
    "clashes",
    "dropped_tries",
    "free_dropped",
    "home_of",
    "home_pattern",
    "merge_texts",
    "private_places",
    "profile_named",
    "run_here",
    "run_unconfined",
    "split",
    "tries",
]

if not TYPE_CHECKING:  # `wink accept --patch` alone needs some of these, and who persists something the others
    __getattr__ = lazily(
        __name__,
        {
            "AcceptRefused Accepted": "_accepted",
            "CHECK_PROFILE Check CheckFailed Ran check_of": "_check",
            "Hunk Picked Unit split": "_hunks",
            "Persist Persisted": "_persist",
            "HomePattern home_pattern": "_home_pattern",
            "MergeFailed MergedText merge_texts": "merging",
            "Choice Conflict": "merging",
            "run_unconfined": "_unconfined",
            "Updated": "_update",
        },
    )
