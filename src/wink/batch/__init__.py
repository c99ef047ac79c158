"""Batches: the same work over thousands of workspaces, on this machine or on a cluster."""

from typing import TYPE_CHECKING

from wink.batch._task import Task

if TYPE_CHECKING:
    from wink.batch._assembling import Assembling, Assembly, named
    from wink.batch._attempt import Attempt, Key
    from wink.batch._checking import Attempted, Checker, is_function
    from wink.batch._compare import Comparison, Pair, compare
    from wink.batch._driver import Driver, Ending, Sink, Watcher
    from wink.batch._engine import Engine, LocalEngine
    from wink.batch._git import masked, resolve
    from wink.batch._journal import Batch, Journal
    from wink.batch._merge import Conflict, Merged, merge
    from wink.batch._meter import Bucket, Meter
    from wink.batch._outcome import Outcome, Usage, Verdict
    from wink.batch._page import facts, page
    from wink.batch._plan import Limits, Plan, Prices, Rates
    from wink.batch._ray import RayEngine
    from wink.batch._sinks import sink
    from wink.batch._source import Source, source
    from wink.batch._statistics import Rate, rate, sign_test
    from wink.batch._summary import Group, Summary, lines, summary
    from wink.batch._table import checked_tasks, read_tasks

__all__ = [
    "Assembling",
    "Assembly",
    "Attempt",
    "Attempted",
    "Batch",
    "Bucket",
    "Checker",
    "Comparison",
    "Conflict",
    "Driver",
    "Ending",
    "Engine",
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
    "Summary",
    "Task",
    "Usage",
    "Verdict",
    "Watcher",
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
    "Assembling": "_assembling",
    "Assembly": "_assembling",
    "Attempt": "_attempt",
    "Attempted": "_checking",
    "Batch": "_journal",
    "Bucket": "_meter",
    "Checker": "_checking",
    "Comparison": "_compare",
    "Conflict": "_merge",
    "Driver": "_driver",
    "Ending": "_driver",
    "Engine": "_engine",
    "Group": "_summary",
    "Journal": "_journal",
    "Key": "_attempt",
    "Limits": "_plan",
    "LocalEngine": "_engine",
    "Merged": "_merge",
    "Meter": "_meter",
    "Outcome": "_outcome",
    "Pair": "_compare",
    "Plan": "_plan",
    "Prices": "_plan",
    "Rate": "_statistics",
    "Rates": "_plan",
    "RayEngine": "_ray",
    "Sink": "_driver",
    "Source": "_source",
    "Summary": "_summary",
    "Usage": "_outcome",
    "Verdict": "_outcome",
    "Watcher": "_driver",
    "checked_tasks": "_table",
    "compare": "_compare",
    "facts": "_page",
    "is_function": "_checking",
    "lines": "_summary",
    "masked": "_git",
    "merge": "_merge",
    "named": "_assembling",
    "page": "_page",
    "rate": "_statistics",
    "read_tasks": "_table",
    "resolve": "_git",
    "sign_test": "_statistics",
    "sink": "_sinks",
    "source": "_source",
    "summary": "_summary",
}


def __getattr__(name: str) -> object:
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = found
    return found
