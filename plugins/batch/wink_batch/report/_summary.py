"""Say how a batch stands, in numbers, with what failed grouped by its cause."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from wink.dataclass import dataclass
from wink_batch._results import Row
from wink_batch.report._statistics import Rate, rate

_NUMBERS: Final = re.compile(r"0x[0-9a-f]+|\d[\d.,]*|'[^']*'|\"[^\"]*\"|/[^\s:,;]+")
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Group:
    """Tasks that failed alike: the cause, what the first of them said, and which they are."""

    cause: str
    message: str
    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """A batch in numbers; `pass_rate` is of the tasks that are over and could be judged, None where there is no checker."""

    tasks: int
    done: int
    failed: int
    left: int
    tokens: int
    input_tokens: int
    output_tokens: int
    cost: float
    seconds: float
    tries: int
    pass_rate: Rate | None
    unjudged: int
    groups: tuple[Group, ...]
    nodes: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        from wink.serde import dump

        return dump(self)


def summary(tasks: Sequence[str], results: Mapping[str, Row], *, judged: bool) -> Summary:
    """How the tasks stand, of which some have a record."""
    rows = [results[task] for task in tasks if task in results]
    passed = [row for row in rows if row.get("passed") is True]
    unjudged = [row for row in rows if judged and row["status"] == "done" and row.get("passed") is None]
    return Summary(
        tasks=len(tasks),
        done=sum(row["status"] == "done" for row in rows),
        failed=sum(row["status"] != "done" for row in rows),
        left=len(tasks) - len(rows),
        tokens=sum(row["tokens"] for row in rows),
        input_tokens=sum(row["input_tokens"] for row in rows),
        output_tokens=sum(row["output_tokens"] for row in rows),
        cost=round(sum(row["cost"] for row in rows), 6),
        seconds=round(sum(row["seconds"] for row in rows), 3),
        tries=sum(row["tries"] for row in rows),
        pass_rate=rate(len(passed), len(rows) - len(unjudged)) if judged and len(rows) > len(unjudged) else None,
        unjudged=len(unjudged),
        groups=groups(rows),
        nodes=dict(Counter(row["node"] for row in rows if row["node"])),
    )


def groups(rows: Iterable[Row]) -> tuple[Group, ...]:
    """What failed, put together where only numbers, names in quotes and paths differ; the largest group first.

    >>> groups([{"id": "a", "status": "failed", "cause": "time", "message": "3 s"},
    ...         {"id": "b", "status": "failed", "cause": "time", "message": "4 s"}])
    (Group(cause='time', message='3 s', tasks=('a', 'b')),)
    """
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row["status"] != "done":
            line = (row["message"].strip().splitlines() or [""])[0]
            found.setdefault((row["cause"], _NUMBERS.sub("…", line)), []).append(row)
    made = [
        Group(cause, (alike[0]["message"].strip().splitlines() or [""])[0], tuple(row["id"] for row in alike))
        for (cause, _), alike in found.items()
    ]
    return tuple(sorted(made, key=lambda group: -len(group.tasks)))


def lines(found: Summary) -> list[str]:
    """The summary for a person."""
    said = [f"{found.done} done, {found.failed} failed, {found.left} left of {found.tasks} tasks"]
    if found.pass_rate is not None:
        said.append(f"passed {found.pass_rate}")
    if found.unjudged:
        said.append(f"{found.unjudged} could not be judged")
    used = f"{found.tokens} tokens ({found.input_tokens} in, {found.output_tokens} out)"
    if found.cost:
        used += f", cost {found.cost:.4f}"
    said.append(f"{used}, {found.seconds:.1f} s of work, {found.tries} attempt{'' if found.tries == 1 else 's'}")
    for group in found.groups:
        names = ", ".join(group.tasks[:_SHOWN]) + (
            f" and {len(group.tasks) - _SHOWN} more" if len(group.tasks) > _SHOWN else ""
        )
        said.append(f"  {len(group.tasks)} x {group.cause}: {group.message or 'no word'} ({names})")
    return said
