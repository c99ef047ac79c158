"""Batches: the same work over thousands of workspaces, on this machine or on a cluster; the command `wink batch`."""

from typing import TYPE_CHECKING

from wink.spellings import lazily
from wink_batch._task import Task

if TYPE_CHECKING:
    from wink_batch._assembling import Assembling, Assembly, named
    from wink_batch._assembly import assemble
    from wink_batch._attempt import Attempt, Key
    from wink_batch._checking import Attempted, Checker, is_function
    from wink_batch._errors import (
        BatchBusy,
        BatchDamaged,
        BatchError,
        EngineFailed,
        SourceUnavailable,
        TableError,
        UnknownTask,
    )
    from wink_batch._git import masked, resolve
    from wink_batch._journal import Batch, Journal
    from wink_batch._merge import Conflict, Merged, merge
    from wink_batch._meter import Bucket, Meter
    from wink_batch._outcome import Outcome, Usage, Verdict
    from wink_batch._plan import Limits, Plan, Prices, Rates
    from wink_batch._sinks import sink
    from wink_batch._source import Source, source
    from wink_batch._table import checked_tasks, read_tasks
    from wink_batch.engines import Driver, Ending, Engine, LocalEngine, RayEngine, Sink, Watcher
    from wink_batch.report import (
        Comparison,
        Group,
        Pair,
        Rate,
        Summary,
        compare,
        facts,
        lines,
        page,
        rate,
        sign_test,
        summary,
    )

__all__ = [
    "Assembling",
    "Assembly",
    "Attempt",
    "Attempted",
    "Batch",
    "BatchBusy",
    "BatchDamaged",
    "BatchError",
    "Bucket",
    "Checker",
    "Comparison",
    "Conflict",
    "Driver",
    "Ending",
    "Engine",
    "EngineFailed",
    "Group",
    "Journal",
    "Key",
    "Limits",
    "LocalEngine",
    "Merged",
    "Meter",
    "Outcome",
    "Pair",
    "Plan",
    "Prices",
    "Rate",
    "Rates",
    "RayEngine",
    "Sink",
    "Source",
    "SourceUnavailable",
    "Summary",
    "TableError",
    "Task",
    "UnknownTask",
    "Usage",
    "Verdict",
    "Watcher",
    "assemble",
    "checked_tasks",
    "compare",
    "facts",
    "is_function",
    "lines",
    "masked",
    "merge",
    "named",
    "page",
    "rate",
    "read_tasks",
    "resolve",
    "sign_test",
    "sink",
    "source",
    "summary",
]

# An attempt's process imports what it needs, and nothing of the driver's (PEP 562).
_LATER = {
    "Assembling Assembly named": "_assembling",
    "Attempt Key": "_attempt",
    "Attempted Checker is_function": "_checking",
    "Batch Journal": "_journal",
    "BatchBusy BatchDamaged BatchError EngineFailed SourceUnavailable TableError UnknownTask": "_errors",
    "Bucket Meter": "_meter",
    "Comparison Group Pair Rate Summary compare facts lines page rate sign_test summary": "report",
    "Conflict Merged merge": "_merge",
    "Driver Ending Engine LocalEngine RayEngine Sink Watcher": "engines",
    "Limits Plan Prices Rates": "_plan",
    "Outcome Usage Verdict": "_outcome",
    "Source source": "_source",
    "assemble": "_assembly",
    "checked_tasks read_tasks": "_table",
    "masked resolve": "_git",
    "sink": "_sinks",
}


if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, _LATER)
