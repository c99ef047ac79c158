"""State of an agent's run that rolls back with the call that wrote it.

Reducers are functions `reducer(view, event)` that return `Append`, `Extend`, `Replace`, `Clear` or `Upsert`; `view` has
`all`, `latest`, `where`, `get` and `len`.
"""

from typing import TYPE_CHECKING, Any

from wink.errors import (
    ReducerError,
    SessionError,
    SliceTypeError,
    SnapshotRestoreError,
    SnapshotSerializationError,
    SubscriberErrors,
)
from wink.session._accessor import SliceAccessor
from wink.session._approvals import ApprovalRow, ApprovalRows, ApprovalState, ApprovalStore
from wink.session._dispatcher import Dispatcher, DispatchResult, InProcessDispatcher, SubscriberFailure
from wink.session._ops import Append, Clear, ClearSlice, Extend, InitializeSlice, Replace, SliceOp, SlicePolicy, Upsert
from wink.session._part import SessionPart
from wink.session._recorder import Recorder
from wink.session._reducers import append_all, reducer, replace_latest, replace_latest_by, upsert_by
from wink.session._session import Session
from wink.session._slice import Reducer
from wink.session._snapshot import Snapshot
from wink.session._stage import SliceDelta
from wink.session._state import Loader, State
from wink.session._view import SliceView

if TYPE_CHECKING:
    from wink.limits import TokenUsage
    from wink.runtime import PromptExecuted, PromptRendered, RenderedTools, ToolInvoked

__all__ = [
    "Append",
    "ApprovalRow",
    "ApprovalState",
    "ApprovalRows",
    "ApprovalStore",
    "Clear",
    "ClearSlice",
    "Dispatcher",
    "DispatchResult",
    "Extend",
    "InProcessDispatcher",
    "InitializeSlice",
    "Loader",
    "PromptExecuted",
    "PromptRendered",
    "Reducer",
    "ReducerError",
    "RenderedTools",
    "Recorder",
    "Replace",
    "Session",
    "SessionError",
    "SessionPart",
    "SliceAccessor",
    "SliceDelta",
    "SliceOp",
    "SlicePolicy",
    "SliceTypeError",
    "SliceView",
    "Snapshot",
    "SnapshotRestoreError",
    "SnapshotSerializationError",
    "State",
    "SubscriberErrors",
    "SubscriberFailure",
    "TokenUsage",
    "ToolInvoked",
    "Upsert",
    "append_all",
    "reducer",
    "replace_latest",
    "replace_latest_by",
    "upsert_by",
]

# What a session's subscribers hear of most; whoever says it lives above the session, which knows none of them itself.
_EVENTS = {
    "PromptExecuted": "wink.runtime",
    "PromptRendered": "wink.runtime",
    "RenderedTools": "wink.runtime",
    "TokenUsage": "wink.limits",
    "ToolInvoked": "wink.runtime",
}

if not TYPE_CHECKING:  # a checker that saw this would take any name for granted

    def __getattr__(name: str) -> Any:
        """The events of the specification, imported when they are asked for."""
        if name not in _EVENTS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_EVENTS[name]), name)
