"""Execute tool calls: each one a transaction, each one answered."""

from wink.errors import SnapshotRestoreError, SnapshotSerializationError
from wink.limits import Budget, BudgetTracker, Deadline, Heartbeat, RunContext, TokenUsage
from wink.runtime._approval_answers import answer_approval, edited_arguments, pending_approvals, request_to_answer
from wink.runtime._approvals import Answer, ApprovalRequest, Approvals, SuspendRun
from wink.runtime._call import READ_RESULT, RESULT_LIMIT, PolicyVerdict, ToolCall, ToolReply
from wink.runtime._events import (
    ApprovalAnswered,
    ApprovalRequested,
    PromptExecuted,
    PromptRendered,
    RenderedTools,
    ToolInvoked,
)
from wink.runtime._executor import ToolExecutor
from wink.runtime._order import Place, ReadWriteQueue
from wink.runtime._outcomes import OUTCOMES, Ending
from wink.runtime._policing import ask_now
from wink.runtime._snapshots import CompositeSnapshot, create_snapshot, restore_snapshot, tool_transaction
from wink.runtime._spill import ResultKept, with_read_result
from wink.runtime._threads import in_thread
from wink.runtime._waiting import drive, in_own_loop
from wink.session import (
    Append,
    Clear,
    ClearSlice,
    Dispatcher,
    DispatchResult,
    Extend,
    InitializeSlice,
    InProcessDispatcher,
    Replace,
    Session,
    SliceAccessor,
    SlicePolicy,
    SliceView,
    Snapshot,
    Upsert,
    append_all,
    reducer,
    replace_latest,
    replace_latest_by,
    upsert_by,
)

__all__ = [
    "Answer",
    "ApprovalAnswered",
    "ApprovalRequest",
    "ApprovalRequested",
    "Approvals",
    "SuspendRun",
    "answer_approval",
    "pending_approvals",
    "Append",
    "Budget",
    "BudgetTracker",
    "Clear",
    "ClearSlice",
    "CompositeSnapshot",
    "Deadline",
    "DispatchResult",
    "Dispatcher",
    "Ending",
    "Extend",
    "Heartbeat",
    "InProcessDispatcher",
    "InitializeSlice",
    "OUTCOMES",
    "Place",
    "PolicyVerdict",
    "PromptExecuted",
    "PromptRendered",
    "READ_RESULT",
    "RESULT_LIMIT",
    "ReadWriteQueue",
    "RenderedTools",
    "Replace",
    "ResultKept",
    "RunContext",
    "Session",
    "SliceAccessor",
    "SlicePolicy",
    "SliceView",
    "Snapshot",
    "SnapshotRestoreError",
    "SnapshotSerializationError",
    "TokenUsage",
    "ToolCall",
    "ToolExecutor",
    "ToolInvoked",
    "ToolReply",
    "Upsert",
    "append_all",
    "ask_now",
    "create_snapshot",
    "drive",
    "edited_arguments",
    "in_own_loop",
    "in_thread",
    "reducer",
    "replace_latest",
    "replace_latest_by",
    "request_to_answer",
    "restore_snapshot",
    "tool_transaction",
    "upsert_by",
    "with_read_result",
]
