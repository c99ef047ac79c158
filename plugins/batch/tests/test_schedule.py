"""What is begun, and begun again, against every way in which attempts can come back, twice, late or never."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wink_batch import Attempt, BatchBusy, BatchDamaged, Driver, Journal, Key, Outcome, Plan, Task, Usage, Verdict
from wink_batch._lines import Lines, read_lines
from wink_batch.engines._schedule import Schedule

FATES = ("done", "done", "fails", "lost")


class Killed(BaseException):
    """The driver was killed here."""


class FakeEngine:
    """Runs nothing: `fates` decide what becomes of each attempt, and `chance` what comes back next, also twice."""

    name = "fake"

    def __init__(self, chance: Random, width: int, fates: tuple[str, ...] = FATES) -> None:
        self.chance, self.width, self.fates = chance, width, fates
        self.running: list[Attempt] = []
        self.over: list[tuple[Key, Outcome]] = []
        self.is_stopped = False

    def slots(self) -> int:
        return self.width

    def submit(self, attempt: Attempt) -> None:
        assert attempt.key not in [one.key for one in self.running]
        self.running.append(attempt)

    def wait(self, seconds: float) -> list[tuple[Key, Outcome]]:
        if self.over and self.chance.random() < 0.2:
            return [self.chance.choice(self.over)]  # it comes twice
        if not self.running:
            return []
        attempt = self.running.pop(self.chance.randrange(len(self.running)))
        if self.is_stopped:
            return [(attempt.key, Outcome("stopped", "interrupted"))]
        fate = self.chance.choice(self.fates)
        usage = Usage(1, 1, 0, 0.5, 1)
        outcome = {
            "done": Outcome("done", text=f"{attempt.key}", usage=usage, patch=b"p", verdict=Verdict(True, 1.0)),
            "fails": Outcome("failed", "answer", "no", usage=usage),
            "lost": Outcome("failed", "node", "gone"),
        }[fate]
        self.over.append((attempt.key, outcome))
        return [(attempt.key, outcome)]

    def stop(self) -> None:
        self.is_stopped = True

    def close(self) -> None:
        pass


class Killing:
    """Kills the driver at one of the moments at which it tells of something."""

    def __init__(self, at: int) -> None:
        self.left = at

    def _maybe(self, *about: object) -> None:
        self.left -= 1
        if self.left == 0:
            raise Killed

    began = came_back = finished = turn = _maybe


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 6), st.integers(1, 3), st.integers(0, 2), st.integers(0, 2**32))
def test_every_task_ends_exactly_once_however_often_the_driver_is_killed(
    tmp_path_factory: Any, number: int, attempts: int, retries: int, seed: int
) -> None:
    """At most so many tries, one record a task, and every token that came back counted once."""
    chance = Random(seed)
    place = tmp_path_factory.mktemp("batch") / "out"
    plan = Plan("b", "m:f", attempts=attempts, retries=retries)
    tasks = [Task(f"t{one}", "x") for one in range(number)]
    Journal.begin(str(place), plan, tasks).close()
    while True:
        engine = FakeEngine(chance, chance.randint(1, 4))
        with Journal(str(place)) as journal:
            driver = Driver(journal, engine, watchers=(Killing(chance.randint(0, 12)),))  # type: ignore[arg-type]
            if chance.random() < 0.2:
                driver.interrupt()
            try:
                if driver.run() == "over":
                    break
            except Killed:
                continue

    results = read_lines(str(place / "results.jsonl"))
    rows = read_lines(str(place / "attempts.jsonl"))
    assert sorted(row["id"] for row in results) == sorted(task.id for task in tasks)
    counted = [row for row in rows if row["status"] != "stopped"]
    tries = Counter((row["task"], row["attempt"]) for row in counted)
    assert set(tries) == {(task.id, one) for task in tasks for one in range(1, attempts + 1)}
    assert max(tries.values()) <= retries + 1
    ends = Counter((row["task"], row["attempt"]) for row in counted if row["cause"] != "node")
    assert all(times == 1 for times in ends.values()), "nothing is done twice that came to its end"
    for row in results:
        mine = [one for one in counted if one["task"] == row["id"]]
        assert row["tries"] == len(mine)
        assert row["tokens"] == sum(one["usage"]["input_tokens"] + one["usage"]["output_tokens"] for one in mine)
        assert (row["status"] == "done") == any(one["status"] == "done" for one in mine)


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=40), st.integers(0, 2))
def test_an_outcome_counts_only_while_its_attempt_is_under_way(came: list[tuple[int, bool]], retries: int) -> None:
    """What comes twice, late, or was never begun, is nothing."""
    schedule = Schedule([f"t{one}" for one in range(3)], retries=retries)
    known: list[Key] = []
    over: list[str] = []
    for which, passing in came:
        key = schedule.next()
        if key is not None:
            known.append(key)
        if known:
            chosen = known[which % len(known)]
            was_running = chosen in schedule.running
            meaning = schedule.ended(chosen, passing=passing)
            assert (meaning == "nothing") == (not was_running)
            if meaning == "task over":
                over.append(chosen.task)
    assert len(over) == len(set(over))
    assert len(known) == len(set(known)), "no try is begun twice"


@settings(deadline=None, max_examples=25)
@given(st.lists(st.dictionaries(st.text(max_size=3), st.text(max_size=9), max_size=2), max_size=5), st.integers(0, 400))
def test_a_line_that_was_cut_off_never_was(tmp_path_factory: Any, made: list[dict[str, str]], cut: int) -> None:
    """Wherever a crash cuts the file, what is before the last whole line is there, and more can be added."""
    path = tmp_path_factory.mktemp("lines") / "x.jsonl"
    lines = Lines(str(path))
    lines.add(made)
    lines.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])
    kept = whole[:cut].count(b"\n")
    assert read_lines(str(path)) == made[:kept]
    again = Lines(str(path))
    assert again.rows == made[:kept]
    again.add([{"more": "x"}])
    again.close()
    assert read_lines(str(path)) == [*made[:kept], {"more": "x"}]


def test_a_batch_is_one_processs_at_a_time_and_says_when_it_is_damaged(tmp_path: Path) -> None:
    """Two drivers would count twice; and nothing is guessed from a file that somebody changed."""
    place = str(tmp_path / "out")
    with Journal.begin(place, Plan("b", "m:f"), [Task("a", "x")]), pytest.raises(BatchBusy):
        Journal(place)
    (tmp_path / "out" / "attempts.jsonl").write_text("no\n{}\n")
    with pytest.raises(BatchDamaged, match="line 1 is not JSON"):
        Journal(place)
    with pytest.raises(BatchDamaged, match=r"there is no batch\.json"):
        Journal(str(tmp_path))


def test_what_the_meter_has_stopped_is_left_for_later(tmp_path: Path) -> None:
    """It knows before the journal does that nothing is left to spend; the tasks that it stopped did nothing wrong."""

    class Stopping(FakeEngine):
        def wait(self, seconds: float) -> list[tuple[Key, Outcome]]:
            return [(self.running.pop().key, Outcome("failed", "budget", "all is spent", usage=Usage(1, 1)))]

    with Journal.begin(str(tmp_path / "out"), Plan("b", "m:f"), [Task("a", "x"), Task("b", "x")]) as journal:
        assert Driver(journal, Stopping(Random(1), 2)).run() == "budget"
        assert journal.results == {}
        assert journal.failures() == {}


def test_limits_of_the_batch_end_it_and_can_be_raised(tmp_path: Path) -> None:
    """What was not begun is begun when there is more to spend."""
    from wink_batch import Limits

    place = str(tmp_path / "out")
    plan = Plan("b", "m:f", batch_limits=Limits(tokens=4))
    with Journal.begin(place, plan, [Task(f"t{one}", "x") for one in range(5)]) as journal:
        assert Driver(journal, FakeEngine(Random(1), 1, ("done",))).run() == "budget"
        assert len(journal.results) == 2
        journal.replan(plan.with_limits(Limits(), Limits(tokens=100)))
    with Journal(place) as journal:
        assert Driver(journal, FakeEngine(Random(1), 1, ("done",))).run() == "over"
        assert len(journal.results) == 5
        assert journal.spent == Usage(5, 5, 0, 2.5, 5)
