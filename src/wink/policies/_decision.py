"""What a policy answers when it is asked about a call."""

from typing import cast

from wink.dataclass import dataclass

__all__ = ["PolicyDecision"]


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    """Whether a call may go ahead, and, for the model, why not.

    A decision is true exactly when it allows, so `if policy.check(...)` cannot let a denied call through by accident.
    One that `asks` leaves the call to a person; whoever does not know of asking sees a denial.

    >>> PolicyDecision.deny("a.txt has not been read; call read_file on it first")
    PolicyDecision(allowed=False, reason='a.txt has not been read; call read_file on it first', asks=False)
    >>> bool(PolicyDecision.allow()), bool(PolicyDecision.ask("it is sent to a customer"))
    (True, False)
    """

    allowed: bool
    reason: str | None = None
    asks: bool = False

    def __post_init__(self) -> None:
        # "no" and 1 are truthy: whatever is not a bool must not open the gate.
        for name, value in (("allowed", cast("object", self.allowed)), ("asks", cast("object", self.asks))):
            if not isinstance(value, bool):
                raise TypeError(f"{name} must be True or False, not {value!r}")
        if self.allowed and self.asks:
            raise ValueError("a decision cannot both allow and ask; use PolicyDecision.ask")

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

    @classmethod
    def ask(cls, reason: str) -> "PolicyDecision":
        """A person has to say whether the call may run. `reason` is shown to them, and to the model.

        The call runs when somebody approves exactly this call for this reason, and no policy denies it. Raises
        `ValueError` for a blank reason, which would leave the person guessing.
        """
        if not reason.strip():
            raise ValueError("asking needs a reason; say what a person should look at")
        return cls(allowed=False, reason=reason, asks=True)


_ALLOW = PolicyDecision(allowed=True)
