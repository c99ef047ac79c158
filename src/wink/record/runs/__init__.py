"""Runs of agents in the record: what they were sent and asked, which of their calls have begun, and who holds one."""

from wink.record.runs._prompts import PromptRow
from wink.record.runs._run_lock import RunLock, is_locked
from wink.record.runs._runs import Fork, RunRow, RunTable, TurnRow, task_of
from wink.record.runs._said import Said, read_said
from wink.record.runs._started import Started, write_start

__all__ = [
    "Fork",
    "PromptRow",
    "RunLock",
    "RunRow",
    "RunTable",
    "Said",
    "Started",
    "TurnRow",
    "is_locked",
    "read_said",
    "task_of",
    "write_start",
]
