"""Rules about which tool may be called when: each may deny a call, none can allow what another denies."""

from wink.policies._decision import PolicyDecision
from wink.policies._policy import ToolPolicy
from wink.policies._sequence import SequentialDependencyPolicy
from wink.policies._state import PolicyState, policy_state

__all__ = ["PolicyDecision", "PolicyState", "SequentialDependencyPolicy", "ToolPolicy", "policy_state"]
