"""Look at what programs have changed in a try, and see that no file of it is the workspace's too."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import Final

from wink.dataclass import replace
from wink.state import DIRECTORY as STATE
from wink_sandbox import DEEPEST, Differences, Overlay, differences, remove_tree, walk_tree

PENDING: Final = "update.pending"
UNDOING: Final = "update.undoing"
"""Where an update is that is to be gone on with, and one that is being taken back."""
ACCEPTED: Final = "accept.pending"
"""What is to be let go of once an accept is committed, and what of it has been begun."""
CHECK: Final = "check"
"""Where a check runs."""


def is_pending(overlay: Overlay) -> bool:
    """Whether an update, or the undo of one, is to be gone on with."""
    return any(os.path.lexists(f"{overlay.directory}/{name}") for name in (PENDING, UNDOING))


def is_accepted(overlay: Overlay) -> bool:
    """Whether something of it may have been accepted that it has not let go of."""
    return os.path.lexists(f"{overlay.directory}/{ACCEPTED}")


def seen(overlay: Overlay) -> Differences:
    """What was changed; that wink's state was covered up leaves a trace in the overlay, and is not worth a word."""
    found = differences(overlay)
    suspects = found.suspects
    if suspects:
        from wink_sandbox.tries._bases import Bases  # which listing tries does not need

        suspects = Bases(overlay).doubtful(suspects)
    return replace(found, suspects=suspects, notes=tuple(note for note in found.notes if note[0] != STATE))


def let_go_of_accepted(overlay: Overlay, *, is_beside: bool = False) -> None:
    """See that no file in it is the workspace's too, as after a crash: a program would write into both.

    What has a name elsewhere becomes a copy. It is not taken for accepted where it is the workspace's at the same path: an accept that
    was not committed, and is yet to be taken back there, has left it so. In a layer `is_beside` the workspace, of which nothing is
    noted, it is, and goes.
    """
    names: dict[int, list[str]] = {}
    # What a program has closed, nobody has looked into: none of it was accepted.
    for path, found in walk_tree(overlay.upper, closed=False):
        if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
            place = f"{overlay.upper}/{path}"
            with suppress(OSError):
                if is_beside and os.path.samestat(found, os.lstat(f"{overlay.root}/{path}")):
                    os.unlink(place)
                    continue
            names.setdefault(found.st_ino, []).append(place)
    for first, *others in names.values():
        # What is too deep to have a path was never taken over, nor was any file that has such a name.
        is_reached = all(len(os.fsencode(place)) <= DEEPEST for place in (first, *others))
        if is_reached and os.lstat(first).st_nlink > 1 + len(others):
            from wink_sandbox import copy_file

            apart = f"{overlay.directory}/apart"
            remove_tree(apart)
            copy_file(first, apart, os.lstat(first))
            os.replace(apart, first)
            for other in others:
                os.unlink(other)
                os.link(first, other)
