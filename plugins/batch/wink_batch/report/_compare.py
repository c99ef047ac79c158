"""Hold two batches against each other, task by task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wink.dataclass import dataclass
from wink_batch._results import Row
from wink_batch.report._statistics import Rate, rate, sign_test


@dataclass(frozen=True, slots=True)
class Pair:
    """One task in both batches; `before` and `after` are how it ended: passed, or else done."""

    task: str
    before: bool
    after: bool
    score: float
    tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two batches over the tasks that are over in both. Differences are of the second to the first.

    `p_value` says how probable at least such a difference is where there is none.
    """

    pairs: tuple[Pair, ...]
    before: Rate | None
    after: Rate | None
    better: tuple[str, ...]
    worse: tuple[str, ...]
    p_value: float
    tokens: int
    cost: float
    seconds: float
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    unjudged: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        from wink.serde import dump

        return dump(self)


def success(row: Row) -> bool | None:
    """Whether a task was solved: its checker's word if it has one, None where that could not judge."""
    if row["status"] != "done":
        return False
    if row.get("passed") is None:
        return None if row.get("verdict") else True
    return bool(row["passed"])


def compare(first: Mapping[str, Row], second: Mapping[str, Row]) -> Comparison:
    """Compare the records of two batches."""
    both = [task for task in first if task in second]
    known = {task: (success(first[task]), success(second[task])) for task in both}
    unjudged = tuple(task for task, pair in known.items() if None in pair)
    pairs: list[Pair] = []
    for task, (before, after) in known.items():
        if before is None or after is None:
            continue
        one, two = first[task], second[task]
        score = (two.get("score") or 0.0) - (one.get("score") or 0.0)
        pairs.append(
            Pair(task, before, after, score, two["tokens"] - one["tokens"], round(two["seconds"] - one["seconds"], 3))
        )
    better = tuple(pair.task for pair in pairs if pair.after and not pair.before)
    worse = tuple(pair.task for pair in pairs if pair.before and not pair.after)
    return Comparison(
        pairs=tuple(pairs),
        before=rate(sum(pair.before for pair in pairs), len(pairs)) if pairs else None,
        after=rate(sum(pair.after for pair in pairs), len(pairs)) if pairs else None,
        better=better,
        worse=worse,
        p_value=sign_test(len(better), len(worse)),
        tokens=sum(pair.tokens for pair in pairs),
        cost=round(sum(second[pair.task]["cost"] - first[pair.task]["cost"] for pair in pairs), 9),
        seconds=round(sum(pair.seconds for pair in pairs), 3),
        only_before=tuple(task for task in first if task not in second),
        only_after=tuple(task for task in second if task not in first),
        unjudged=unjudged,
    )
