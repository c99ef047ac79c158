"""The process that takes a workspace's calls into the history; see `wink.workspace._elsewhere`."""

from __future__ import annotations

import fcntl
import json
import os
import sys

from wink.errors import WinkError
from wink.record import Keep
from wink.state import opened_directory
from wink.workspace._workspace import Workspace


def main(told: str) -> None:
    """Do it, unless another process is at it already, for whichever of those that work here."""
    root, state, durability, *keep = json.loads(told)
    try:
        with opened_directory(os.path.join(state, "staged")) as directory:
            try:
                fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            with Workspace.open(root, state=state, durability=durability, keep=Keep(*keep)) as workspace:
                workspace._upkeep.catch_up()  # pyright: ignore[reportPrivateUsage]
    except (WinkError, OSError) as error:
        sys.exit(str(error))
