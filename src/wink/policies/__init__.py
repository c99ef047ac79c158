"""Rules about which tool may be called when: each may deny a call, none can allow what another denies."""

from typing import TYPE_CHECKING, Any

from wink.policies._decision import PolicyDecision
from wink.policies._policy import ToolPolicy
from wink.policies._sequence import SequentialDependencyPolicy
from wink.policies._state import PolicyState, policy_state, remember

if TYPE_CHECKING:
    from collections.abc import Callable

    from wink.policies._rules import Rule
    from wink.policies._rules_globs import is_wild
    from wink.policies._rules_memory import RuleState
    from wink.policies._rules_part import RuleMatch
    from wink.policies._rules_policy import RuleJudgement, RulesPolicy
    from wink.policies._rules_reading import read_rules

    ReadBeforeWritePolicy: Callable[..., ToolPolicy]

__all__ = [
    "PolicyDecision",
    "PolicyState",
    "Rule",
    "RuleJudgement",
    "RuleMatch",
    "RuleState",
    "RulesPolicy",
    "SequentialDependencyPolicy",
    "ToolPolicy",
    "is_wild",
    "policy_state",
    "read_rules",
    "remember",
]

# Imported when they are asked for: most programs have no rules.
_LATER = {
    "Rule": "_rules",
    "RuleJudgement": "_rules_policy",
    "RuleMatch": "_rules_part",
    "RuleState": "_rules_memory",
    "RulesPolicy": "_rules_policy",
    "is_wild": "_rules_globs",
    "read_rules": "_rules_reading",
}

if not TYPE_CHECKING:  # a checker that saw this would take any name for granted

    def __getattr__(name: str) -> Any:
        """What waits until it is asked for: rules, and names of the specification that plugins bring."""
        if name in _LATER:
            from importlib import import_module

            found = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
            globals()[name] = found
            return found
        from wink.spellings import forwarded

        return forwarded(name, __name__)
