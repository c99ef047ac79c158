"""Rules about which tool may be called when: each may deny a call, none can allow what another denies."""

from typing import TYPE_CHECKING, Any

from wink.policies._decision import PolicyDecision
from wink.policies._policy import ToolPolicy
from wink.policies._rules_memory import RuleState
from wink.policies._sequence import SequentialDependencyPolicy
from wink.policies._state import PolicyState, policy_state, remember

if TYPE_CHECKING:
    from collections.abc import Callable

    from wink_rules import Rule as Rule
    from wink_rules import RuleJudgement as RuleJudgement
    from wink_rules import RuleMatch as RuleMatch
    from wink_rules import RulesPolicy as RulesPolicy
    from wink_rules import is_wild as is_wild
    from wink_rules import read_rules as read_rules

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

if not TYPE_CHECKING:  # a checker that saw this would take any name for granted

    def __getattr__(name: str) -> Any:
        """Names that plugins bring: rules, and those of the specification."""
        from wink.spellings import forwarded

        return forwarded(name, __name__)
