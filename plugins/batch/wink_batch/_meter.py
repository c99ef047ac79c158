"""Hold a whole fleet to what a provider allows in a minute, and a batch to what it may use in all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from wink_batch._outcome import Usage
from wink_batch._plan import Limits, Plan, Rates


class Bucket:
    """So much a minute; what was not used is saved up for at most a minute.

    >>> now = [0.0]
    >>> bucket = Bucket(60, clock=lambda: now[0])
    >>> bucket.take(60), bucket.take(1)
    (0.0, 1.0)
    """

    def __init__(self, per_minute: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        if not per_minute > 0:
            raise ValueError(f"{per_minute} a minute is no rate; it is a number above zero")
        self._rate, self._most = per_minute / 60.0, per_minute
        self._clock, self._held, self._at = clock, per_minute, clock()

    def take(self, number: float) -> float:
        """Take some, also where there is too little; the seconds to wait until what is owed has come in."""
        self._fill()
        self._held -= number
        return max(0.0, -self._held / self._rate)

    def owe(self, number: float) -> None:
        """Take what was used and could not be known before."""
        self._fill()
        self._held -= number

    def _fill(self) -> None:
        now = self._clock()
        self._held = min(self._most, self._held + (now - self._at) * self._rate)
        self._at = now


class MeterLike(Protocol):
    """Where requests are asked for."""

    def ask(self, attempt: str, usage: tuple[int, int, int, float, int]) -> tuple[float, str]:
        """Seconds to wait before the next request, and why there may be none, or nothing."""
        ...

    def slow(self, seconds: float) -> None:
        """A provider wants to be left alone for so long."""
        ...


class Meter:
    """Counts for all attempts at once, from any thread; `spent` is what earlier attempts of the batch have used.

    What an attempt has used is told as its sum so far, so that nothing counts twice however often it is told.
    """

    def __init__(
        self, rates: Rates, limits: Limits, spent: Usage = Usage(), *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._requests = None if rates.requests is None else Bucket(rates.requests, clock=clock)
        self._tokens = None if rates.tokens is None else Bucket(rates.tokens, clock=clock)
        self._rates, self._limits, self._clock = rates, limits, clock
        self._used: dict[str, Usage] = {}
        self._sum = spent
        self._rests_until = clock()
        self._lock = threading.Lock()

    @classmethod
    def of(cls, plan: Plan, spent: Usage = Usage()) -> Meter:
        """The meter of a plan."""
        return cls(plan.rates, plan.batch_limits, spent)

    def terms(self) -> tuple[Rates, Limits, Usage]:
        """What another one is made of that goes on from here."""
        return self._rates, self._limits, self.spent

    def ask(self, attempt: str, usage: tuple[int, int, int, float, int]) -> tuple[float, str]:
        """Seconds to wait before the next request, and why there may be none, or nothing."""
        with self._lock:
            used, known = Usage(*usage), self._used.get(attempt, Usage())
            fresh = max(0, used.tokens - known.tokens)
            self._used[attempt] = used
            self._sum += Usage(
                used.input_tokens - known.input_tokens,
                used.output_tokens - known.output_tokens,
                used.cached_tokens - known.cached_tokens,
                used.cost - known.cost,
                used.requests - known.requests,
            )
            problem = over(self._limits, self._sum)
            if problem:
                return 0.0, problem
            waits = [max(0.0, self._rests_until - self._clock())]
            if self._tokens is not None:
                self._tokens.owe(fresh)
                waits.append(self._tokens.take(0))
            if self._requests is not None:
                waits.append(self._requests.take(1))
            return max(waits), ""

    def slow(self, seconds: float) -> None:
        """Nobody asks for so long."""
        with self._lock:
            self._rests_until = max(self._rests_until, self._clock() + min(seconds, 600.0))

    @property
    def spent(self) -> Usage:
        """Everything that was told so far."""
        with self._lock:
            return self._sum


def over(limits: Limits, used: Usage) -> str:
    """Which limit of a whole batch is used up, in words; empty while none is.

    >>> over(Limits(tokens=100), Usage(90, 10))
    'the batch has used 100 tokens of 100 allowed'
    """
    if limits.tokens is not None and used.tokens >= limits.tokens:
        return f"the batch has used {used.tokens} tokens of {limits.tokens} allowed"
    if limits.cost is not None and used.cost >= limits.cost:
        return f"the batch has spent {used.cost:.4f} of {limits.cost:g} allowed"
    return ""
