"""How long and how much a run may take: clocks, deadlines, token budgets, signs of life, interruptions, and the end of a server.

>>> from datetime import UTC, datetime, timedelta
>>> noon = datetime(2030, 1, 1, 12, tzinfo=UTC)
>>> Deadline(noon, clock=lambda: noon - timedelta(seconds=5)).remaining()
datetime.timedelta(seconds=5)
"""

from wink.limits._budget import Budget, BudgetTracker, TokenUsage
from wink.limits._clock import Clock, utc_now
from wink.limits._deadline import Deadline
from wink.limits._heartbeat import Heartbeat, ProgressReport
from wink.limits._interruption import is_interruption, said_by
from wink.limits._run import RunContext
from wink.limits._stopping import Stopping, end_now

__all__ = [
    "Budget",
    "BudgetTracker",
    "Clock",
    "Deadline",
    "Heartbeat",
    "ProgressReport",
    "RunContext",
    "Stopping",
    "TokenUsage",
    "end_now",
    "is_interruption",
    "said_by",
    "utc_now",
]
