"""Say where a path ends when the links in it are followed, for whoever judges paths by where they lead."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from wink.errors import PathRefused
from wink.filesystem._paths import CIRCLES, OUTSIDE
from wink.filesystem._store import Store

_MAX_LINKS: Final = 40
"""As many links as the disk follows in one path."""


def resolved(store: Store, names: Iterable[str], shown: str) -> str:
    """The normalised path that `names` lead to, one after the other; a `..` goes up from where the links before it led.

    What is not there is taken as it is named: a link that dangles leads to what would be made there. Raises
    `PathRefused` where links lead out of the tree or in circles; `shown` is the path that was asked for.
    """
    pending = [name for name in names if name not in ("", ".")][::-1]
    passed: list[str] = []
    links, missing_from = 0, -1
    while pending:
        name = pending.pop()
        if name == "..":
            if not passed:
                raise PathRefused(shown, OUTSIDE)
            passed.pop()
            missing_from = -1 if len(passed) <= missing_from else missing_from
            continue
        passed.append(name)
        if missing_from >= 0:
            continue  # nothing can be beneath what is not there
        try:
            node = store.node("/".join(passed), follow=False)
        except (FileNotFoundError, NotADirectoryError):
            missing_from = len(passed) - 1
            continue
        if node.kind != "link" or node.target is None:
            continue
        links += 1
        if links > _MAX_LINKS:
            raise PathRefused(shown, CIRCLES)
        if node.target.startswith("/"):
            raise PathRefused(shown, OUTSIDE)
        passed.pop()
        pending += [name for name in node.target.split("/") if name not in ("", ".")][::-1]
    return "/".join(passed)
