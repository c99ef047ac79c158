"""What `wink log` tells, against what a replay knows of its own calls."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from .process import Wrong

GOING_BACK: Final = ("undo", "redo")
_DONE: Final = ("ok", "undone")
"""What the log calls a call that was committed."""


@dataclass
class Replies:
    """Calls counted by session and outcome: those that were answered, and those whose process was killed meanwhile."""

    answered: Counter[tuple[str, bool]] = field(default_factory=Counter[tuple[str, bool]])
    unsure: Counter[tuple[str, bool]] = field(default_factory=Counter[tuple[str, bool]])


def compare_the_log(root: str, replies: Replies, known: Counter[str]) -> int:
    """Raise `Wrong` where the log tells of other calls, outcomes or changes; how many rows it has.

    `known` has the changes that stand, those that are undone, and how often was gone back, all to the last one.
    """
    command = [sys.executable, "-m", "wink", "log", "--json", "--limit", "1000000000", "--workspace", root]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = [json.loads(line) for line in printed.splitlines()]
    calls = [row for row in rows if row["tool"] not in (*GOING_BACK, "restore")]
    told = Counter((row["session"], row["outcome"] in _DONE) for row in calls)
    for key in {*told, *replies.answered}:
        least = replies.answered[key]
        most = least + replies.unsure[key]
        if not least <= told[key] <= most:
            session, good = key
            what = "succeeded" if good else "failed"
            raise Wrong(
                f"wink log tells of {told[key]} calls of session {session} that {what}, not of {least} to {most}"
            )
    found = Counter(row["outcome"] for row in calls if row["outcome"] in _DONE and row["tool"] != "read_file")
    found |= Counter(row["tool"] for row in rows if row["tool"] in GOING_BACK)
    for what in {*found, *known}:
        if found[what] != known[what]:
            raise Wrong(f"wink log tells of {found[what]} changes that are {what!r}, not of {known[what]}")
    return len(rows)
