"""What a person wants to know at a glance: how far the plan is, what it took, and what waits."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, cast

from wink.dataclass import dataclass
from wink_ui._asked import Asked
from wink_ui._sums import tokens_of


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan as an agent keeps it: what for, and its steps with how far each is."""

    session: str
    objective: str
    status: str
    steps: tuple[tuple[str, str, str], ...]

    @property
    def done(self) -> int:
        """How many steps are done."""
        return sum(status == "done" for _, _, status in self.steps)

    @property
    def current(self) -> str:
        """What is being worked on."""
        return next((title for _, title, status in self.steps if status == "in_progress"), "")


def glance(asked: Asked) -> dict[str, object]:
    """Plans, calls, time and tokens: of one session where only that is looked at."""
    session = asked.wanted.session
    rows = [one for one in asked.sums.rows() if session in (None, one.session)]
    runs = [row for row in asked.workspace.record.runs.rows() if session in (None, row.session)]
    return {
        "plans": [plan for plan in plans(asked) if session in (None, plan.session)],
        "calls": sum(one.calls for one in rows),
        "failed": sum(one.calls for one in rows if one.word != "ok"),
        "took": sum((one.duration for one in rows), timedelta()),
        "tokens": tokens_of(runs),
        "marks": asked.queries.marks(),
    }


def plans(asked: Asked) -> list[Plan]:
    """The plan of each session that has one, read from the record as whatever plugin keeps it."""
    found = (plan_of(session, text) for session, _, text in asked.queries.latest("Plan"))
    return [plan for plan in found if plan is not None]


def plan_of(session: str, text: str) -> Plan | None:
    """A plan out of JSON; None where that is none."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    known = cast("dict[str, Any]", value)
    steps: Any = known.get("steps", [])
    if not isinstance(known.get("objective"), str) or not isinstance(steps, list):
        return None
    listed = [cast("dict[str, Any]", step) for step in cast("list[Any]", steps) if isinstance(step, dict)]
    return Plan(
        session,
        known["objective"],
        str(known.get("status", "active")),
        tuple(
            (str(one.get("step_id", "")), str(one.get("title", "")), str(one.get("status", "pending")))
            for one in listed
        ),
    )
