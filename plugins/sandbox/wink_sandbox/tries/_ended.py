"""End a try: it is moved out of the way as a whole and then removed, so that no part of one is ever taken for a try."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

from wink.errors import RecordCorrupt
from wink_sandbox import Overlay, is_directory, overlays_in, sweep

ENDED: Final = ".ended"
"""Where tries that are being removed lie, beside the others."""


def move_out(overlay: Overlay) -> None:
    """Let a try, which is in use, be none any more."""
    above, name = os.path.split(overlay.directory)
    overlay.move(f"{above}/{ENDED}/{name}.{os.urandom(6).hex()}")


def sweep_ended(tries: str) -> None:
    """Remove what was left of tries that have ended, as after a kill."""
    place = f"{tries}/{ENDED}"
    if not is_directory(place):
        return
    with suppress(OSError, RecordCorrupt):
        for name in overlays_in(place):
            with suppress(OSError):
                os.rmdir(f"{place}/{name}")  # which has no lock any more
        sweep(place)
