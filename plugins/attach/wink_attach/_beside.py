"""Hear that something has changed in directories of dependencies and builds, of which nothing is kept, without looking at all of it.

Of each only the upper directories are watched, and each of those until something changes in it: a build that writes 100,000 files
there costs no more than one that writes 64. What changes deeper, and nowhere above, is not heard of.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from wink_attach._tree import Tree
from wink_attach._watch import Watch

_EACH: Final = 64
_MOST: Final = 1024
_DEEP: Final = 3
"""Levels below the top: `.venv/lib/python3.14/site-packages`."""


class Beside:
    """The directories of a workspace in which nothing is kept; `changed` are those in which something is not what it was."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._tops: dict[str, dict[str, int]] = {}
        self.changed: set[str] = set()

    def know(self, tops: Iterable[str], watch: Watch) -> None:
        """This is how they are now."""
        for top in tops:
            self.changed.discard(top)
            self._tops.pop(top, None)
            self._tops[top] = self._look(top, watch)

    def heard(self, paths: Iterable[str], watch: Watch) -> None:
        """Take over what the watch has heard. It hears once of a directory, which may have been of a cache in it."""
        for path in paths:
            top = self._tree.beside(path)
            if top and not self._tree.is_cache(path):
                self.changed.add(top)
            elif top in self._tops:
                self._add(path.rpartition("/")[0], watch)

    def compare(self, tops: set[str], watch: Watch) -> None:
        """Nothing was heard for a while: tell what there is now from what there was."""
        known, now, self._tops = self._tops, sorted(tops), {}
        for top in now:
            self._tops[top] = self._look(top, watch)
        self.changed |= {top for top in known.keys() | tops if (known.get(top) or {}) != self._tops.get(top, {})}

    def _look(self, top: str, watch: Watch) -> dict[str, int]:
        """Watch its upper directories, and give when each was changed last."""
        seen: dict[str, int] = {}
        waiting = [top]
        most = min(_EACH, _MOST - sum(map(len, self._tops.values())))
        for directory in waiting:
            if len(seen) < most and (changed := self._add(directory, watch)) is not None:
                seen[directory] = changed
                if directory.count("/") - top.count("/") < _DEEP and len(waiting) < most:
                    waiting += self._inside(directory)
        return seen

    def _add(self, directory: str, watch: Watch) -> int | None:
        try:
            fd = self._tree.open_directory(directory)
        except OSError:
            return None
        try:
            watch.add(directory, fd, once=True)
            return os.fstat(fd).st_ctime_ns
        finally:
            os.close(fd)

    def _inside(self, directory: str) -> list[str]:
        with suppress(OSError):
            fd = self._tree.open_directory(directory)
            try:
                with os.scandir(fd) as entries:
                    inside = [f"{directory}/{one.name}" for one in entries if one.is_dir(follow_symlinks=False)]
                return sorted(path for path in inside if not self._tree.is_cache(path))
            finally:
                os.close(fd)
        return []
