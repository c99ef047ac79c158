"""What rules mean, written as plainly as it can be said and with no thought of speed; the tests hold it against wink."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any


@dataclass(frozen=True)
class ModelRule:
    """A rule about a tool, one argument and paths; patterns with `!` are exceptions."""

    action: str
    tools: Sequence[str] = ("*",)
    paths: Sequence[str] = ()
    arguments: Mapping[str, Sequence[Any]] = field(default_factory=dict[str, Sequence[Any]])


def verdict(
    rules: Iterable[ModelRule], default: str, tool: str, arguments: Mapping[str, Any], paths: Sequence[str]
) -> str:
    """Deny beats ask, ask beats allow, and what no rule is about goes by the default."""
    said = {rule.action for rule in rules if is_about(rule, tool, arguments, paths)}
    return next((action for action in ("deny", "ask", "allow") if action in said), default)


def is_about(rule: ModelRule, tool: str, arguments: Mapping[str, Any], paths: Sequence[str]) -> bool:
    """Whether all that the rule says fits: any path is enough to restrict a call, all of them have to fit to allow it."""
    if not chosen(rule.tools, tool, fnmatchcase, fnmatchcase):
        return False
    for key, wanted in rule.arguments.items():
        if key not in arguments or not any(_equal(arguments[key], one) for one in wanted):
            return False
    if not rule.paths:
        return True
    wide, narrow = (reaches, fits) if rule.action != "allow" else (fits, reaches)
    fitting = [chosen(rule.paths, path, wide, narrow) for path in paths]
    return bool(fitting) and (all(fitting) if rule.action == "allow" else any(fitting))


def chosen(patterns: Iterable[str], name: str, fit: Any, excepts: Any) -> bool:
    """One of the patterns fits and no exception does."""
    patterns = list(patterns)
    wanted = any(fit(name, pattern) for pattern in patterns if not pattern.startswith("!"))
    return wanted and not any(excepts(name, pattern[1:]) for pattern in patterns if pattern.startswith("!"))


def reaches(path: str, pattern: str) -> bool:
    """What restricts knows no case, and a plain name at its end stands for all that is in it."""
    path, pattern = path.lower(), pattern.lower()
    is_plain = not any(sign in pattern.rpartition("/")[2] for sign in "*?[")
    return fits(path, pattern) or (is_plain and fits(path, f"{pattern}/**"))


def fits(path: str, pattern: str) -> bool:
    """Name by name: `**` is any number of names, and at the end it is the directory itself and all in it."""
    return _fits(path.split("/") if path else [], pattern.split("/"))


def _fits(names: list[str], wanted: list[str]) -> bool:
    if not wanted:
        return not names
    if wanted[0] == "**":
        return any(_fits(names[skipped:], wanted[1:]) for skipped in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], wanted[0]) and _fits(names[1:], wanted[1:])


def _equal(value: Any, wanted: Any) -> bool:
    if isinstance(value, str) and isinstance(wanted, str):
        return fnmatchcase(value, wanted)
    return type(value) is type(wanted) and value == wanted
