"""The names that plugins and offers may have, and the entry-point groups that carry them."""

import re
from collections.abc import Mapping
from typing import Final, Literal

Kind = Literal[
    "section",
    "policy",
    "filesystem",
    "adapter",
    "command",
    "checkup",
    "diff",
    "collection",
    "standing",
    "explanation",
    "overrides",
    "history",
    "agent",
]
"""What a plugin can offer."""

GROUPS: Final[Mapping[str, Kind]] = {
    "wink.sections": "section",
    "wink.policies": "policy",
    "wink.filesystems": "filesystem",
    "wink.adapters": "adapter",
    "wink.commands": "command",
    "wink.doctor": "checkup",
    "wink.diffs": "diff",
    "wink.gc": "collection",
    "wink.status": "standing",
    "wink.explain": "explanation",
    "wink.overrides": "overrides",
    "wink.history": "history",
    "wink.agents": "agent",
}
HOOKS_GROUP: Final = "wink.hooks"

LONGEST: Final = 40
"""Characters in a plugin's name, and in the part of an offer's name after the dot."""

_WORDS: Final = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
# The last three are keys of the table that plugins' own tables stand in.
_RESERVED: Final = frozenset({"wink", "test", "allow", "disable", "strict"})


def problem_with_plugin_name(name: str) -> str:
    """What is wrong with a plugin's name, or nothing.

    >>> problem_with_plugin_name("read-before-write")
    ''
    >>> problem_with_plugin_name("wink")
    "plugin name 'wink' is reserved"
    >>> problem_with_plugin_name("Notes")
    "plugin name 'Notes' must be lower-case words joined by '-', at most 40 characters"
    """
    if name in _RESERVED:
        return f"plugin name {name!r} is reserved"
    if len(name) > LONGEST or not _WORDS.fullmatch(name):
        return f"plugin name {name!r} must be lower-case words joined by '-', at most {LONGEST} characters"
    return ""


def problem_with_offer_name(name: str) -> str:
    """What is wrong with an offer's name, or nothing.

    >>> problem_with_offer_name("planning.plan")
    ''
    >>> problem_with_offer_name("plan")
    "offer name 'plan' must be <plugin>.<name>"
    """
    plugin, dot, rest = name.partition(".")
    if not dot or not plugin or not rest:
        return f"offer name {name!r} must be <plugin>.<name>"
    if problem := problem_with_plugin_name(plugin):
        return problem
    if len(rest) > LONGEST or not _WORDS.fullmatch(rest):
        return f"offer name {name!r}: {rest!r} must be lower-case words joined by '-', at most {LONGEST} characters"
    return ""


def normalized(distribution: str) -> str:
    """A distribution's name as package indexes compare it (PEP 503).

    >>> normalized("Wink_Notes.Extra")
    'wink-notes-extra'
    """
    name = distribution.lower().replace("_", "-").replace(".", "-")
    while "--" in name:
        name = name.replace("--", "-")
    return name


def close_matches(name: str, names: Mapping[str, object] | list[str]) -> tuple[str, ...]:
    """Up to three of `names` that look like `name`, or that end in what it ends in, best first."""
    from difflib import get_close_matches  # 6 ms to import, and needed only to say what went wrong

    candidates = sorted(set(names))
    last = name.rpartition(".")[2]
    same_ending = [candidate for candidate in candidates if candidate.rpartition(".")[2] == last]
    return tuple(dict.fromkeys((*same_ending, *get_close_matches(name, candidates, n=3, cutoff=0.6))))[:3]
