"""Intervals and tests against other ways to compute them; buckets and budgets against a clock that we turn."""

from __future__ import annotations

from fractions import Fraction
from math import comb, isclose
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wink_batch import Bucket, Limits, Meter, Prices, Rates, Usage, compare, rate, sign_test, summary


@pytest.mark.parametrize(
    ("passed", "total", "low", "high"),
    [
        # Newcombe, "Two-sided confidence intervals for the single proportion" (1998), table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilsons_interval_is_that_of_the_literature(passed: int, total: int, low: float, high: float) -> None:
    """To the four places that are printed there."""
    found = rate(passed, total)
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


@given(st.integers(1, 500), st.data())
def test_an_interval_holds_its_rate_and_mirrors(total: int, data: Any) -> None:
    """What passed and what failed are the same question."""
    passed = data.draw(st.integers(0, total))
    found, other = rate(passed, total), rate(total - passed, total)
    assert 0 <= found.low <= found.share <= found.high <= 1
    assert isclose(found.low, 1 - other.high, abs_tol=1e-12)


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_sign_test_is_the_sum_of_what_is_as_far_off(better: int, worse: int) -> None:
    """By fractions, term by term."""
    number = better + worse
    tail = sum(Fraction(comb(number, k), 2**number) for k in range(min(better, worse) + 1))
    assert isclose(sign_test(better, worse), float(min(Fraction(1), 2 * tail)))


def test_the_sign_test_knows_large_numbers() -> None:
    """Ten thousand tasks that differ are no reason to overflow."""
    assert isclose(sign_test(1000, 1001), 1.0, abs_tol=0.03)
    assert 0 < sign_test(4800, 5200) < 0.0001


@given(st.integers(1, 1000), st.lists(st.tuples(st.integers(0, 90), st.integers(1, 50)), max_size=60))
def test_no_minute_has_more_than_the_rate_and_what_was_saved_up(per_minute: int, asked: list[tuple[int, int]]) -> None:
    """Whoever waits as long as is said never asks for more than two minutes' worth within one."""
    now = [0.0]
    bucket = Bucket(per_minute, clock=lambda: now[0])
    times: list[tuple[float, int]] = []
    for pause, number in asked:
        now[0] += pause
        times.append((now[0] + bucket.take(number), number))
    for start, _ in times:
        within = sum(number for at, number in times if start <= at < start + 60)
        largest = max(number for _, number in asked)
        assert within <= 2 * per_minute + largest


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 50)), max_size=30))
def test_what_is_told_twice_counts_once(told: list[tuple[str, int]]) -> None:
    """Attempts tell their sums so far."""
    meter = Meter(Rates(), Limits())
    sums: dict[str, int] = {}
    for name, more in told:
        sums[name] = sums.get(name, 0) + more
        for _ in range(2):
            meter.ask(name, (sums[name], 0, 0, 0.0, 1))
    assert meter.spent.tokens == sum(sums.values())


def test_a_provider_that_wants_to_be_left_alone_is_left_alone_by_all() -> None:
    """One attempt is told; the others wait as well."""
    now = [0.0]
    meter = Meter(Rates(), Limits(), clock=lambda: now[0])
    assert meter.ask("a", (0, 0, 0, 0.0, 0)) == (0.0, "")
    meter.slow(20)
    now[0] = 5
    assert meter.ask("b", (0, 0, 0, 0.0, 0)) == (15.0, "")


def test_prices_are_for_a_million() -> None:
    """Cached input has a price of its own where there is one."""
    assert Prices(2.0, 8.0).cost(1_000_000, 1_000_000, 500_000) == 10.0
    assert Usage(cost=0.1) + Usage(cost=0.2) == Usage(cost=0.3)


def row(task: str, passed: bool | None, *, status: str = "done", message: str = "", tokens: int = 10) -> dict[str, Any]:
    """A record, as far as numbers need it."""
    return {
        "id": task, "status": status, "passed": passed, "score": float(bool(passed)), "verdict": "" if passed is not None else "?",
        "cause": "" if status == "done" else "time", "message": message, "tokens": tokens, "input_tokens": tokens,
        "output_tokens": 0, "cost": 0.0, "seconds": 1.0, "tries": 1, "node": "n", "changed": [],
    }  # fmt: skip


def test_batches_are_compared_over_the_tasks_of_both() -> None:
    """What one of them lacks, or nobody could judge, is named and does not count."""
    first = {
        name: row(name, passed) for name, passed in {"a": False, "b": True, "c": True, "d": None, "e": True}.items()
    }
    second = {
        name: row(name, passed, tokens=15)
        for name, passed in {"a": True, "b": False, "c": True, "d": True, "f": True}.items()
    }
    found = compare(first, second)
    assert (found.better, found.worse, found.unjudged) == (("a",), ("b",), ("d",))
    assert (found.only_before, found.only_after) == (("e",), ("f",))
    assert (found.p_value, found.tokens) == (1.0, 15)


def test_failures_are_grouped_where_only_particulars_differ() -> None:
    """A person wants to know what is wrong, not how often it said so in other words."""
    rows = {
        f"t{one}": row(f"t{one}", None, status="failed", message=f"it was not done after {one} s in '/x/{one}'")
        for one in range(3)
    }
    rows["t9"] = row("t9", True)
    found = summary([*rows, "t10"], rows, judged=True)
    assert [(group.cause, group.tasks) for group in found.groups] == [("time", ("t0", "t1", "t2"))]
    assert (found.done, found.failed, found.left) == (1, 3, 1)
    assert found.pass_rate is not None
    assert (found.pass_rate.passed, found.pass_rate.total) == (1, 4)
