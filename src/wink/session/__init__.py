"""State of an agent's run that rolls back with the call that wrote it.

Reducers are functions `reducer(view, event)` that return `Append`, `Extend`, `Replace`, `Clear` or `Upsert`; `view` has
`all`, `latest`, `where`, `get` and `len`.
"""

from wink.session._accessor import SliceAccessor
from wink.session._dispatcher import Dispatcher, DispatchResult, InProcessDispatcher, SubscriberFailure
from wink.session._ops import (
    Append,
    Clear,
    ClearSlice,
    Extend,
    InitializeSlice,
    Replace,
    SliceOp,
    SlicePolicy,
    Upsert,
)
from wink.session._part import SessionPart
from wink.session._reducers import append_all, reducer, replace_latest, replace_latest_by, upsert_by
from wink.session._session import Session
from wink.session._slice import Reducer
from wink.session._snapshot import Snapshot
from wink.session._stage import SliceDelta
from wink.session._state import Loader
from wink.session._view import SliceView

__all__ = [
    "Append",
    "Clear",
    "ClearSlice",
    "Dispatcher",
    "DispatchResult",
    "Extend",
    "InProcessDispatcher",
    "InitializeSlice",
    "Loader",
    "Reducer",
    "Replace",
    "Session",
    "SessionPart",
    "SliceAccessor",
    "SliceDelta",
    "SliceOp",
    "SlicePolicy",
    "SliceView",
    "Snapshot",
    "SubscriberFailure",
    "Upsert",
    "append_all",
    "reducer",
    "replace_latest",
    "replace_latest_by",
    "upsert_by",
]
