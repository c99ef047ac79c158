"""Keep what was dropped for a while: it is renamed aside, and comes back by its name until it is freed.

It lies beside the tries, under a name that no try can have, one directory each: when it was dropped, and as what. Whoever
moves or frees one holds its lock, as whoever uses a try does. One that ends is renamed, too, before it is removed, so that no part of
one is ever taken for a try.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, NamedTuple

from wink.errors import RecordCorrupt, SessionNameError
from wink.state import opened_directory
from wink.workspace import session_name
from wink_sandbox import Overlay, has_copy, is_directory, overlays_in, remove_tree, sweep

ASIDE: Final = ".dropped"
ENDED: Final = ".ended"
"""Where tries that are being removed lie."""
KEPT: Final = 5
"""So many are kept, the last ones."""
_LONGEST: Final = 60
"""Characters of a name to which a number can be added."""


class Dropped(NamedTuple):
    """A try that was dropped; `directory` is where it lies now, and `number` when it was dropped, in nanoseconds."""

    name: str
    number: int
    directory: str

    @property
    def at(self) -> datetime:
        """When it was dropped."""
        return datetime.fromtimestamp(self.number / 1e9, UTC)


def dropped(tries: str) -> tuple[Dropped, ...]:
    """What was dropped of the tries in a directory and can come back, the last one at the end."""
    found: list[Dropped] = []
    for entry in overlays_in(f"{tries}/{ASIDE}"):
        number, _, name = entry.partition(".")
        is_ours = number.isascii() and number.isdigit() and len(number) < 20 and is_name(name)
        if is_ours and is_directory(f"{tries}/{ASIDE}/{entry}/upper"):
            found.append(Dropped(name, int(number), f"{tries}/{ASIDE}/{entry}"))
    return tuple(sorted(found, key=lambda one: one.number))


def place_for(tries: str, name: str) -> str:
    """Where a try that is dropped now goes to; it comes after all others, whatever the clock says."""
    number = max([time.time_ns(), *(one.number + 1 for one in dropped(tries)[-1:])])
    return f"{tries}/{ASIDE}/{number}.{name}"


def bring_back(tries: str, root: str, one: Dropped) -> str | None:
    """Make it a try again, under its own name where that is free, and otherwise with a number; the name.

    None where it has just been freed.
    """
    overlay = Overlay(root, one.directory)
    try:
        overlay.open(make=False)
    except (BlockingIOError, FileNotFoundError):
        return None
    try:
        number = 1
        while True:
            name = one.name if number == 1 else f"{one.name[:_LONGEST]}-{number}"
            if not os.path.lexists(f"{tries}/{name}"):
                overlay.move(f"{tries}/{name}")
                return name
            number += 1
    finally:
        overlay.close()


def free(tries: str, root: str, *, but: int = 0) -> int:
    """Remove what was dropped for good, except the last ones; how many that were."""
    freed = 0
    for one in dropped(tries)[: -but or None]:
        overlay = Overlay(root, one.directory)
        try:
            overlay.open(make=False)
        except (OSError, RecordCorrupt):
            continue  # somebody brings it back, or frees it, or it is none of ours
        try:
            if has_copy(overlay):
                from wink_sandbox import forget_copies

                forget_copies(one.directory)
            with opened_directory(os.path.dirname(one.directory)) as place:
                remove_tree(f"/proc/self/fd/{place}/{os.path.basename(one.directory)}")
            freed += 1
        finally:
            overlay.close()
    return freed


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


def is_name(text: str) -> bool:
    """Whether a try can be called so."""
    try:
        session_name(text)
    except SessionNameError:
        return False
    return True
