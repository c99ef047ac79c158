"""Take a run back to the end of one of its turns: its later calls, and its conversation with the model, in one transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from wink.dataclass import dataclass
from wink.errors import NothingToUndo, UnknownRun
from wink.record import CallFilter, Fork, Past, Record, RunRow, RunTable, TurnRow
from wink.workspace._undo import PERSONS, Reverted, Reverting

if TYPE_CHECKING:
    import sqlite3

_ANCESTORS: Final = 100
"""So many forks of forks are followed."""
_LAST: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Rewound:
    """What went back: the numbers of the `turns` that are gone, what was done to files, and the run that goes on, such as `r2`.

    For a dry run, and where no copy was wanted, `run` is the run itself.
    """

    run: str
    turns: tuple[int, ...]
    reverted: Reverted


def rewind(
    record: Record,
    reverting: Reverting,
    number: int,
    to: int,
    *,
    fork: bool,
    dry_run: bool,
    confirm: Callable[[Reverted], object] | None,
) -> Rewound:
    """See `Workspace.rewind`."""
    runs = record.runs
    row = runs.find(number)
    if row is None or not row.is_ours:
        raise UnknownRun(f"r{number}", "is not known", None)
    lock = None if dry_run else runs.lock(number)
    try:
        gone = tuple(turn for turn in runs.turns(number) if turn.number > to)
        if to < 0 or not gone:
            raise NothingToUndo(_nothing_after(runs, number, to))
        oldest = record.forgetting.first()
        if oldest is not None and oldest[0] > gone[0].position + 1:
            raise NothingToUndo(f"what turn {to + 1} of r{number} did is not kept any more")
        kept = runs.turns(number, exact=True, last=to)
        source = Fork(number, to, gone[0].position) if fork else None
        done = list[int]()

        def go_back(connection: sqlite3.Connection) -> None:
            done.append(runs.go_back(connection, row, kept, source))

        reverted = reverting.revert(
            "undo",
            _calls_after(record, row, gone[0]),
            {"run": f"r{number}", "to": to, **({"fork": True} if fork else {})},
            dry_run=dry_run,
            confirm=confirm,
            alone=True,
            run="" if fork else f"r{number}",
            also=go_back,
        )
        return Rewound(f"r{(done or [number])[-1]}", tuple(turn.number for turn in gone), reverted)
    finally:
        if lock is not None:
            lock.release()


def _nothing_after(runs: RunTable, number: int, to: int) -> str:
    standing = runs.turns(number)
    if not standing:
        return f"the turns of r{number} are not kept any more"
    return f"r{number} has no turn after turn {to}; its last is turn {standing[-1].number}"


def _calls_after(record: Record, row: RunRow, gone: TurnRow) -> tuple[Past, ...]:
    """What stands of what the run did from a turn on, newest first: its calls, and what it wrote to its session between them."""
    undone = record.undone()
    first = record.call(gone.position)
    found = [past for past in record.past(1 if first is None else first.transaction + 1) if past.call is None]
    theirs = [past for past in found if past.session == row.session]
    before: int = _LAST
    for _ in range(_ANCESTORS):
        calls = record.past_of(CallFilter(run=f"r{row.number}"))
        theirs += [past for past in calls if past.call is not None and gone.position < past.call <= before]
        source = row.fork
        parent = None if source is None else record.runs.find(source.run)
        if source is None or parent is None or parent.number >= row.number:
            break
        row, before = parent, min(before, source.position)
    standing = {past.position: past for past in theirs if past.position not in undone}
    changed = (past for past in standing.values() if past.changes or past.inverse is not None)
    return tuple(
        sorted(
            (past for past in changed if not past.transaction_id.startswith(PERSONS)),
            key=lambda past: past.position,
            reverse=True,
        )
    )
