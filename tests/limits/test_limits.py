"""Clocks, deadlines, budgets and heartbeats."""

import logging
import pickle
import threading
from datetime import UTC, datetime, timedelta, timezone

import pytest

from wink.errors import BudgetExceededError, DeadlineExceededError
from wink.limits import Budget, BudgetTracker, Deadline, Heartbeat, RunContext, TokenUsage, utc_now

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def test_now_is_in_utc() -> None:
    """Timestamps of several machines must compare."""
    assert utc_now().utcoffset() == timedelta(0)


def test_deadline_counts_down_on_the_clock_that_it_was_given() -> None:
    """A test stops the clock instead of sleeping."""
    now = [NOON]
    deadline = Deadline.after(60, clock=lambda: now[0])

    assert deadline.remaining() == timedelta(seconds=60)
    assert not deadline.expired
    deadline.check()

    now[0] += timedelta(seconds=61)
    assert deadline.remaining() == timedelta(seconds=-1)
    assert deadline.expired
    with pytest.raises(DeadlineExceededError, match="2030-01-01T12:01:00"):
        deadline.check()


def test_deadline_is_kept_in_utc() -> None:
    """Two deadlines are equal when their moments are, whoever wrote them down."""
    eastern = datetime(2030, 1, 1, 7, tzinfo=timezone(timedelta(hours=-5)))

    assert Deadline(eastern) == Deadline(NOON)
    assert Deadline(eastern).expires_at.utcoffset() == timedelta(0)


def test_deadline_without_a_timezone_is_refused() -> None:
    """A naive time means another moment on each machine."""
    with pytest.raises(ValueError, match="has no timezone"):
        Deadline(datetime(2030, 1, 1))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("budget", "kind", "used"),
    [
        (Budget(max_total_tokens=10), "total", 12),
        (Budget(max_input_tokens=6), "input", 7),
        (Budget(max_output_tokens=4), "output", 5),
    ],
)
def test_budget_names_the_limit_that_was_passed(budget: Budget, kind: str, used: int) -> None:
    """Whoever reads the error must know what to raise."""
    tracker = BudgetTracker(budget)
    tracker.record(TokenUsage(input_tokens=7, output_tokens=5, cached_tokens=3))

    with pytest.raises(BudgetExceededError) as caught:
        tracker.check()

    assert (caught.value.kind, caught.value.used) == (kind, used)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_using_exactly_the_budget_is_allowed() -> None:
    """A limit is what may be used, not what may not."""
    tracker = BudgetTracker(Budget(max_total_tokens=10))
    tracker.record(TokenUsage(10))
    tracker.check()
    assert tracker.used == TokenUsage(10)


def test_budget_brings_its_deadline() -> None:
    """One check covers tokens and time."""
    late = Deadline(NOON, clock=lambda: NOON)
    with pytest.raises(DeadlineExceededError):
        BudgetTracker(Budget(deadline=late)).check()


def test_tracker_counts_what_threads_record_at_once() -> None:
    """Prompts that run side by side share one budget."""
    tracker = BudgetTracker(Budget())
    threads = [
        threading.Thread(target=lambda: [tracker.record(TokenUsage(1, 2)) for _ in range(500)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tracker.used == TokenUsage(4000, 8000)


@pytest.mark.parametrize("make", [lambda: Budget(max_total_tokens=0), lambda: TokenUsage(-1)])
def test_senseless_numbers_are_refused(make: object) -> None:
    """A budget of nothing, or a negative use, is a mistake of the caller."""
    with pytest.raises(ValueError, match="tokens is"):
        make()  # type: ignore[operator]


def test_heartbeat_says_how_long_ago_the_last_beat_was() -> None:
    """A watcher ends what has stopped to beat."""
    now = [5.0]
    heart = Heartbeat(clock=lambda: now[0])
    now[0] = 8.0
    assert heart.elapsed() == 3.0
    heart.beat()
    assert heart.elapsed() == 0.0


def test_heartbeat_calls_back_whatever_a_callback_does(caplog: pytest.LogCaptureFixture) -> None:
    """A broken watcher must not disturb the work."""
    heart, heard = Heartbeat(), []

    def broken() -> None:
        raise RuntimeError("oops")

    heart.add_callback(broken)
    heart.add_callback(lambda: heard.append(1))
    with caplog.at_level(logging.ERROR, "wink.limits"):
        heart.beat()

    assert heard == [1]
    assert "oops" in caplog.text
    assert heart.remove_callback(broken)
    assert not heart.remove_callback(broken)


@pytest.mark.parametrize(("run_id", "attempt"), [("", 1), ("run", 0)])
def test_run_context_is_checked(run_id: str, attempt: int) -> None:
    """Logs that name no run help nobody."""
    with pytest.raises(ValueError, match=r"run_id|attempt"):
        RunContext(run_id, attempt)
