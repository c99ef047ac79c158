"""The moment at which a run must have ended."""

from datetime import UTC, datetime, timedelta

from wink.dataclass import dataclass, field
from wink.errors import DeadlineExceededError
from wink.limits._clock import Clock, utc_now


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment, timezone-aware and kept in UTC, after which nothing more may be started.

    Two deadlines are equal when their moments are; `clock` says what "now" is.

    >>> Deadline.after(3600).expired
    False
    """

    expires_at: datetime
    clock: Clock = field(default=utc_now, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.expires_at.tzinfo is None:
            raise ValueError(f"expires_at has no timezone: {self.expires_at!r}; pass one such as datetime.now(UTC)")
        object.__setattr__(self, "expires_at", self.expires_at.astimezone(UTC))

    @classmethod
    def after(cls, seconds: float, *, clock: Clock = utc_now) -> "Deadline":
        """The deadline that is `seconds` away from now."""
        return cls(clock() + timedelta(seconds=seconds), clock)

    def remaining(self) -> timedelta:
        """How much time is left; negative once the deadline has passed."""
        return self.expires_at - self.clock()

    @property
    def expired(self) -> bool:
        """Whether the moment has come."""
        return self.clock() >= self.expires_at

    def check(self) -> None:
        """Raise `DeadlineExceededError` if the moment has come."""
        if self.expired:
            raise DeadlineExceededError(f"the deadline passed at {self.expires_at.isoformat()}")
