"""What rules remember of a session, each fact under a key of its own: it costs the same after ten thousand calls."""

from wink.dataclass import dataclass

__all__ = ["RuleState"]


# Sessions keep it under the name of this module, so that it stays while the rules themselves are a plugin's.
@dataclass(frozen=True, slots=True)
class RuleState:
    """How often something that rules ask about has succeeded in this session.

    It is written inside the call that succeeds, so it is kept, rolled back, undone and restored with it.
    """

    key: str
    count: int
