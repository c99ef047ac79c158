"""How many tokens a run may use."""

import threading

from wink.dataclass import dataclass
from wink.errors import BudgetExceededError
from wink.limits._deadline import Deadline


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """What one or several requests to a model have cost, in tokens.

    `cached_tokens` are those of the `input_tokens` that the provider had cached, so they do not count again.

    >>> (TokenUsage(10, 5) + TokenUsage(1, 1)).total_tokens
    17
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0

    def __post_init__(self) -> None:
        for name in ("input_tokens", "output_tokens", "cached_tokens"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}; a count of tokens cannot be negative")

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        """Both costs in one."""
        return TokenUsage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
        )


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may use; a limit that is None does not limit."""

    max_total_tokens: int | None = None
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    deadline: Deadline | None = None

    def __post_init__(self) -> None:
        for name in ("max_total_tokens", "max_input_tokens", "max_output_tokens"):
            limit = getattr(self, name)
            if limit is not None and limit <= 0:
                raise ValueError(f"{name} is {limit}; use a positive number, or None for no limit")


class BudgetTracker:
    """Adds up what a run has used, from any number of threads, and holds it against a budget.

    >>> tracker = BudgetTracker(Budget(max_total_tokens=100))
    >>> tracker.record(TokenUsage(input_tokens=90, output_tokens=20))
    >>> tracker.check()
    Traceback (most recent call last):
    ...
    wink.errors.BudgetExceededError: 110 total tokens used of 100 allowed
    """

    __slots__ = ("_lock", "_used", "budget")

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._lock = threading.Lock()
        self._used = TokenUsage()

    @property
    def used(self) -> TokenUsage:
        """The sum of what was recorded."""
        return self._used

    def record(self, usage: TokenUsage) -> None:
        """Count `usage`; never raises for being over the budget, since the tokens are spent anyway."""
        with self._lock:
            self._used += usage

    def check(self) -> None:
        """Raise `BudgetExceededError` if more was used than allowed, `DeadlineExceededError` if the time is up."""
        budget, used = self.budget, self._used
        for kind, spent, limit in (
            ("total", used.total_tokens, budget.max_total_tokens),
            ("input", used.input_tokens, budget.max_input_tokens),
            ("output", used.output_tokens, budget.max_output_tokens),
        ):
            if limit is not None and spent > limit:
                raise BudgetExceededError(kind, spent, limit)
        if budget.deadline is not None:
            budget.deadline.check()
