"""Execute tool calls: each one a transaction, each one answered."""

from wink.limits import Budget, BudgetTracker, Deadline, Heartbeat, RunContext, TokenUsage
from wink.runtime._call import PolicyVerdict, ToolCall, ToolReply
from wink.runtime._events import PromptExecuted, PromptRendered, RenderedTools, ToolInvoked
from wink.runtime._executor import ToolExecutor
from wink.runtime._outcomes import OUTCOMES, Ending
from wink.runtime._snapshots import CompositeSnapshot, create_snapshot, restore_snapshot, tool_transaction
from wink.session import InProcessDispatcher, Session

__all__ = [
    "OUTCOMES",
    "Budget",
    "BudgetTracker",
    "CompositeSnapshot",
    "Deadline",
    "Ending",
    "Heartbeat",
    "InProcessDispatcher",
    "PolicyVerdict",
    "PromptExecuted",
    "PromptRendered",
    "RenderedTools",
    "RunContext",
    "Session",
    "TokenUsage",
    "ToolCall",
    "ToolExecutor",
    "ToolInvoked",
    "ToolReply",
    "create_snapshot",
    "restore_snapshot",
    "tool_transaction",
]
