"""Show a program the home directory, and keep what it writes there in the try."""

from __future__ import annotations

import os
from shutil import rmtree

from wink.sandbox import Mount, Overlay


def private_home(overlay: Overlay, home: str) -> Mount | None:
    """An overlay of the home directory beside a try's own; None where there is no home to show."""
    place = os.path.realpath(home)
    if not os.path.isdir(place) or place == "/":
        return None
    made = f"{overlay.directory}/home"
    # The kernel's notes on the last mount are of no use for the next one.
    rmtree(f"{made}/work", ignore_errors=True)
    for name in ("upper", "work"):
        os.makedirs(f"{made}/{name}", mode=0o700, exist_ok=True)
    os.chmod(f"{made}/upper", os.stat(place).st_mode & 0o777)
    return Mount(place, (place,), f"{made}/upper", f"{made}/work")
