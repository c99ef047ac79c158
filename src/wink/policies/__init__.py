"""Rules about which tool may be called when: each may deny a call, none can allow what another denies."""

from typing import TYPE_CHECKING, Any

from wink.policies._decision import PolicyDecision
from wink.policies._policy import ToolPolicy
from wink.policies._sequence import SequentialDependencyPolicy
from wink.policies._state import PolicyState, policy_state

if TYPE_CHECKING:
    from collections.abc import Callable

    ReadBeforeWritePolicy: Callable[..., ToolPolicy]

__all__ = ["PolicyDecision", "PolicyState", "SequentialDependencyPolicy", "ToolPolicy", "policy_state"]

if not TYPE_CHECKING:  # a checker that saw this would take any name for granted

    def __getattr__(name: str) -> Any:
        """Names of the specification that plugins bring, imported when they are asked for."""
        from wink.policies._forward import forwarded

        return forwarded(name, __name__)
