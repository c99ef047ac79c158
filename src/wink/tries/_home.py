"""Show a program the home directory, and keep what it writes there in the try."""

from __future__ import annotations

import os

from wink.sandbox import Mount, Overlay, layers


def private_home(overlay: Overlay, home: str) -> Mount | None:
    """An overlay of the home directory beside a try's own; None where there is no home to show."""
    place = os.path.realpath(home)
    if not os.path.isdir(place) or place == "/":
        return None
    upper, work = layers(f"{overlay.directory}/home")
    os.chmod(upper, os.stat(place).st_mode & 0o777)
    return Mount(place, (place,), upper, work)
