"""Find what a search would show and a rule keeps from being read: before it runs, since afterwards the model has seen it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any, Final, cast

from wink.errors import RulesError
from wink_rules import Rule, RulesPolicy

_READING: Final = tuple(SimpleNamespace(name=name, effects="read") for name in ("read_file", "grep"))
_NOTHING: Final[dict[str, object]] = {}
_NO_FILES: Final[Any] = SimpleNamespace(resources=SimpleNamespace(get_optional=_NOTHING.get))
"""Paths are judged by their names alone: those that are given were found, and no link among them is followed."""


class Hidden:
    """The paths that rules deny to read; what was found out about one is kept while the rules are the same."""

    def __init__(self, rules: Sequence[RulesPolicy]) -> None:
        self._rules = tuple(
            rule for one in rules for rule in one.rules if rule.action == "deny" and rule.paths and not rule.is_limit
        )
        self._policy = RulesPolicy(self._rules)
        # Rules about all tools say the same of both, and there may be very many paths.
        self._tools = _READING[: 1 if all(rule.tools == ("*",) for rule in self._rules) else None]
        self._known: dict[str, bool] = {}

    def now(self, rules: Sequence[RulesPolicy]) -> Hidden:
        """The same for what the rules are now."""
        fresh = Hidden(rules)
        return self if fresh._rules == self._rules else fresh

    def within(self, root: str, directory: str, shows: tuple[str, str], paths: Iterable[str]) -> str | None:
        """The first of the workspace's `paths` that is hidden and fits what a call shows; see `Meaning`. None for none."""
        if not self._rules:
            return None
        start = os.path.normpath(os.path.join(root, directory, shows[0]))
        places = {f"{one.rstrip('/')}/" for one in (start, os.path.realpath(start))}
        bases = {f"{one}/" for one in (root, os.path.realpath(root))}
        prefixes = {place[len(base) :] for place in places for base in bases if place.startswith(base)}
        if any(base.startswith(place) for place in places for base in bases):
            prefixes = {""}
        fits = _fitting(shows[1])
        for path in paths if prefixes else ():
            if (
                f"{path}/".startswith(tuple(prefixes))
                and self.has(path)
                and (fits is None or _denies(fits, path, _READING[:1]))
            ):
                return path
        return None

    def has(self, path: str) -> bool:
        """Whether a path is one of them."""
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = _denies(self._policy, path, self._tools)
        return known


def _denies(policy: RulesPolicy, path: str, tools: Iterable[object]) -> bool:
    return any(not policy.check(cast("Any", tool), {"path": path}, context=_NO_FILES).allowed for tool in tools)


def _fitting(glob: str) -> RulesPolicy | None:
    """What denies all that a glob fits, and other spellings of it; None for one that leaves out, or that is several."""
    if not glob or glob.startswith("!") or re.search(r"[\s,\\]", re.sub(r"\{[^{}\s]*\}", "", glob)):
        return None
    try:
        return RulesPolicy((Rule("deny", paths=f"**/{glob.lstrip('/')}"),))
    except RulesError:
        return None
