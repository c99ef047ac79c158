"""Know the names by which the running Python finds distributions, and wink its settings: whoever makes one steers the next start."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Final

_METADATA: Final = (".dist-info", ".egg-info", ".egg-link", ".pth")
SETTINGS: Final = frozenset(("wink.toml", "pyproject.toml"))
"""At the root of a workspace, wink reads these, and regular files only."""

DISTRIBUTION: Final = (
    "names an installed distribution, whose entry points the running Python would load; only an installer makes that"
)
IRREGULAR: Final = "holds settings, so it has to be a regular file"


def import_places(root: str) -> tuple[str, ...]:
    """The directories beneath a real root that the running Python imports from, relative to it; `""` is the root itself."""
    above = f"{root.rstrip('/')}/"
    real = (f"{os.path.realpath(entry or '.')}/" for entry in sys.path)
    return tuple(dict.fromkeys(one[len(above) : -1] for one in real if one.startswith(above)))


def distribution_at(path: str, places: Iterable[str]) -> str | None:
    """The part of `path` that is a distribution's metadata directly in one of the places, if there is one.

    >>> distribution_at("src/evil-1.0.dist-info/entry_points.txt", ["", "src"])
    'src/evil-1.0.dist-info'
    >>> distribution_at("lib/evil-1.0.dist-info", ["", "src"])
    """
    folded = path.casefold()
    for place in places:
        start = f"{place.casefold()}/" if place else ""
        if folded.startswith(start):
            name = path[len(start) :].partition("/")[0]
            if name.casefold().endswith(_METADATA):
                return path[: len(start)] + name
    return None
