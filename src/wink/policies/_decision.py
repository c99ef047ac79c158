"""What a policy answers when it is asked about a call."""

from dataclasses import dataclass
from typing import cast

__all__ = ["PolicyDecision"]


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    """Whether a call may go ahead, and, for the model, why not.

    A decision is true exactly when it allows, so `if policy.check(...)` cannot let a denied call through by accident.

    >>> PolicyDecision.deny("a.txt has not been read; call read_file on it first")
    PolicyDecision(allowed=False, reason='a.txt has not been read; call read_file on it first')
    >>> bool(PolicyDecision.allow())
    True
    """

    allowed: bool
    reason: str | None = None

    def __post_init__(self) -> None:
        # "no" and 1 are truthy: whatever is not a bool must not open the gate.
        if not isinstance(cast("object", self.allowed), bool):
            raise TypeError(f"allowed must be True or False, not {self.allowed!r}")

    def __bool__(self) -> bool:
        return self.allowed

    @classmethod
    def allow(cls) -> "PolicyDecision":
        """The call may go ahead as far as this policy is concerned."""
        return _ALLOW

    @classmethod
    def deny(cls, reason: str) -> "PolicyDecision":
        """The call must not run. `reason` is sent to the model: say what is wrong and what to call instead.

        Raises `ValueError` for a blank reason, which would leave the model guessing.
        """
        if not reason.strip():
            raise ValueError("a denial needs a reason; say what the model should do first")
        return cls(allowed=False, reason=reason)


_ALLOW = PolicyDecision(allowed=True)
