"""Make one record of all that was tried at a task: the best attempt, and what the others came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wink_batch._outcome import Outcome, Usage
from wink_batch._task import Task

Row = dict[str, Any]


def best(outcomes: Mapping[int, Outcome]) -> int:
    """The number of the best attempt: done before failed, then by the checker's word, then the cheapest.

    >>> from wink_batch._outcome import Verdict
    >>> best({1: Outcome("done"), 2: Outcome("done", verdict=Verdict(True, 1.0)), 3: Outcome("failed", "crash")})
    2
    """

    def worth(number: int) -> tuple[bool, bool, float, int, int]:
        one = outcomes[number]
        judged = one.verdict
        passed = judged is not None and bool(judged.passed)
        return (one.status == "done", passed, judged.score if judged else 0.0, -one.usage.tokens, -number)

    return max(outcomes, key=worth)


def attempt_row(task: str, number: int, trial: int, outcome: Outcome, files: Mapping[str, str]) -> Row:
    """One line of the journal: an attempt that came back."""
    return {"task": task, "attempt": number, "try": trial, **outcome.to_row(), "files": dict(files)}


def result_row(task: Task, rows: Sequence[Row]) -> Row:
    """The record of a task, of the journal's lines about it, of which the last one about each attempt is its end."""
    last = {row["attempt"]: row for row in rows}
    outcomes = {number: Outcome.from_row(row) for number, row in last.items()}
    number = best(outcomes)
    kept, row = outcomes[number], last[number]
    used = sum((Outcome.from_row(one).usage for one in rows), Usage())
    files: Mapping[str, str] = row.get("files", {})
    return {
        "id": task.id,
        "status": kept.status,
        "passed": None if kept.verdict is None else kept.verdict.passed,
        "score": None if kept.verdict is None else kept.verdict.score,
        "verdict": "" if kept.verdict is None else kept.verdict.message,
        "cause": kept.cause,
        "message": kept.message,
        "text": kept.text,
        "output": kept.output,
        "input_tokens": used.input_tokens,
        "output_tokens": used.output_tokens,
        "cached_tokens": used.cached_tokens,
        "tokens": used.tokens,
        "cost": used.cost,
        "seconds": kept.seconds,
        "calls": kept.calls,
        "changed": list(kept.changed),
        "attempt": number,
        "tries": len(rows),
        "attempts": [_short(row) for row in rows],
        "workspace": str(task.workspace) if task.workspace.kind != "empty" else "",
        "base": kept.base,
        "commit": kept.commit,
        "checkpoint": kept.checkpoint or files.get("bundle", ""),
        "patch": files.get("patch", ""),
        "record": files.get("record", ""),
        "node": kept.node,
        "started_at": kept.started_at,
        "disk_bytes": kept.disk_bytes,
    }


def _short(row: Row) -> Row:
    judged: Row = row.get("verdict") or {}
    return {
        "attempt": row["attempt"],
        "try": row["try"],
        "status": row["status"],
        "cause": row["cause"],
        "message": row["message"],
        "passed": judged.get("passed"),
        "score": judged.get("score"),
        "tokens": row["usage"]["input_tokens"] + row["usage"]["output_tokens"],
        "seconds": row["seconds"],
        "node": row["node"],
    }
