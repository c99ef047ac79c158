"""How much a pass rate says, and whether two of them differ: Wilson's interval and McNemar's exact test.

E. B. Wilson, "Probable inference, the law of succession, and statistical inference" (1927); Q. McNemar, "Note on the sampling
error of the difference between correlated proportions or percentages" (1947), in its exact form, which is a sign test.
"""

from __future__ import annotations

import math
from typing import Final

from wink.dataclass import dataclass

Z95: Final = 1.959963984540054
"""The normal distribution's quantile for 95 % on both sides."""


@dataclass(frozen=True, slots=True)
class Rate:
    """So many of so many, and between which rates the true one lies with 95 % confidence."""

    passed: int
    total: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """The rate itself."""
        return self.passed / self.total

    def __str__(self) -> str:
        return f"{self.passed} of {self.total}: {self.share:.1%} (95 % interval {self.low:.1%} to {self.high:.1%})"


def rate(passed: int, total: int) -> Rate:
    """A pass rate with Wilson's interval; raises `ValueError` for what is no rate.

    >>> str(rate(8, 10))
    '8 of 10: 80.0% (95 % interval 49.0% to 94.3%)'
    """
    if not 0 <= passed <= total or total == 0:
        raise ValueError(f"{passed} of {total} is no rate")
    share, square = passed / total, Z95 * Z95
    middle = (share + square / (2 * total)) / (1 + square / total)
    reach = Z95 / (1 + square / total) * math.sqrt(share * (1 - share) / total + square / (4 * total * total))
    low = 0.0 if passed == 0 else max(0.0, middle - reach)
    high = 1.0 if passed == total else min(1.0, middle + reach)
    return Rate(passed, total, low, high)


def sign_test(better: int, worse: int) -> float:
    """How probable a difference at least as large is if neither is better: McNemar's exact test, on both sides.

    >>> sign_test(0, 0), sign_test(9, 1), sign_test(1, 9)
    (1.0, 0.021484375, 0.021484375)
    """
    if better < 0 or worse < 0:
        raise ValueError(f"{better} and {worse} are no counts")
    number, few = better + worse, min(better, worse)
    if number == 0:
        return 1.0
    # In logarithms: the powers of a half leave floating point at about a thousand.
    tail = math.fsum(
        math.exp(math.lgamma(number + 1) - math.lgamma(k + 1) - math.lgamma(number - k + 1) - number * math.log(2))
        for k in range(few + 1)
    )
    if number <= 1000:
        tail = sum(math.comb(number, k) for k in range(few + 1)) / 2**number
    return min(1.0, 2 * tail)
