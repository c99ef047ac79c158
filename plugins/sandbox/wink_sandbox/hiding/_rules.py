"""Tell which rules hide what they mean from programs: those that deny reading it, but for programs that they leave out."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from types import SimpleNamespace
from typing import Final

from wink_rules import Rule, RulesPolicy
from wink_sandbox.hiding._hiding import Hiding

_READER: Final = SimpleNamespace(name="read_file", effects="read")


def hiding_by(policies: Iterable[object], tool: str) -> Hiding | None:
    """What policies hide from the programs that a tool runs; None where none of them is made of rules that hide anything."""
    rules = [rule for one in policies if isinstance(one, RulesPolicy) for rule in one.rules if _hides(rule, tool)]
    return Hiding((RulesPolicy(rules),), _READER) if rules else None


def _hides(rule: Rule, tool: str) -> bool:
    """Whether a rule can deny reading, and does not except the tool by name; which readers it is about `RulesPolicy.denied` says."""
    return (
        rule.action == "deny"
        and bool(rule.paths)
        and not rule.arguments
        and not rule.is_limit
        and not any(one.startswith("!") and fnmatchcase(tool, one[1:]) for one in rule.tools)
        and _is_about_reading(rule)
    )


def _is_about_reading(rule: Rule) -> bool:
    wanted = [one for one in rule.tools if not one.startswith("!")]
    excepted = [one[1:] for one in rule.tools if one.startswith("!")]
    fits = any(fnmatchcase(_READER.name, one) for one in wanted)
    return (
        fits
        and not any(fnmatchcase(_READER.name, one) for one in excepted)
        and (not rule.effects or _READER.effects in rule.effects)
    )
