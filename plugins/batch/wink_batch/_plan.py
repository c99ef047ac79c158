"""What a whole batch is to do with its tasks: plain values, kept in its directory, so that another process can go on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Self

from wink.dataclass import dataclass, field, fields, replace

NO_CHECKPOINT: Final = "none"
BUNDLE: Final = "bundle"
ORIGIN: Final = "origin"
_OLD: Final = ("wink.cli._batch_assembly:assemble", "wink.cli:assemble")


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be used; None is no limit. Times are in seconds, `cost` is in the currency of the prices.

    `idle` is how long an attempt may give no sign of life before it is taken to hang.
    """

    seconds: float | None = None
    tokens: int | None = None
    cost: float | None = None
    idle: float | None = None


@dataclass(frozen=True, slots=True)
class Prices:
    """What a million tokens cost; cached input costs as much as other input where nothing else is said."""

    input: float = 0.0
    output: float = 0.0
    cached: float | None = None

    def cost(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        """What a number of tokens costs; the cached ones are among the input.

        >>> Prices(input=3.0, output=15.0, cached=0.3).cost(1_000_000, 100_000, 500_000)
        3.15
        """
        cached = self.input if self.cached is None else self.cached
        plain = max(0, input_tokens - cached_tokens)
        return round((plain * self.input + cached_tokens * cached + output_tokens * self.output) / 1e6, 9)


@dataclass(frozen=True, slots=True)
class Rates:
    """How much a provider may be asked by the whole batch in a minute; None is no limit."""

    requests: float | None = None
    tokens: float | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """How a batch works on each of its tasks.

    `assembly` names the function, `module:name`, that puts a task's prompt and model together, of `options`, which are
    its own. `attempts` are made at each task side by side, and the best is kept; each is begun again up to `retries`
    times when it was lost, hung or failed in passing. `check` judges what an attempt left: a function `module:name`, or
    else a command. `checkpoint` is `none`, `bundle`, `origin` (the repository that a workspace came from) or the address
    of a repository. `paths` are added to where Python looks for modules, and `results` are where records go as well.
    """

    name: str
    assembly: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    attempts: int = 1
    retries: int = 2
    limits: Limits = Limits(seconds=3600.0, idle=900.0)
    batch_limits: Limits = Limits()
    prices: Prices = Prices()
    rates: Rates = Rates()
    check: str = ""
    check_seconds: float = 600.0
    checkpoint: str = BUNDLE
    keep_records: bool = True
    cache: str = ""
    paths: tuple[str, ...] = ()
    results: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError(f"attempts is {self.attempts}; at least one attempt is made")
        if self.retries < 0:
            raise ValueError(f"retries is {self.retries}; it cannot be negative")
        for limits in (self.limits, self.batch_limits):
            for one in fields(limits):
                value = getattr(limits, one.name)
                if value is not None and not value > 0:
                    raise ValueError(f"the limit of {one.name} is {value}; it is a number above zero")

    @property
    def is_metered(self) -> bool:
        """Whether requests have to be asked for: what limits the batch as a whole has to be counted in one place."""
        batch = self.batch_limits
        return any(one is not None for one in (self.rates.requests, self.rates.tokens, batch.tokens, batch.cost))

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        from wink.serde import dump

        return dump(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The reverse; raises `ParseError`."""
        from wink.serde import parse

        if values.get("assembly") in _OLD:  # of a batch that was begun before its command moved
            values = {**values, "assembly": "wink_batch:assemble"}
        return parse(cls, values, extra="ignore")

    def with_limits(self, limits: Limits, batch_limits: Limits) -> Self:
        """The same with other limits, where any are given."""
        return replace(self, limits=_over(self.limits, limits), batch_limits=_over(self.batch_limits, batch_limits))


def _over(old: Limits, new: Limits) -> Limits:
    given = {one.name: getattr(new, one.name) for one in fields(new) if getattr(new, one.name) is not None}
    return replace(old, **given)
