"""What calls did, kept in SQLite: the one place that decides whether a call happened."""

from wink.record._approvals import ApprovalRow, ApprovalState, ApprovalTable
from wink.record._calls import CallRow, microseconds, moment
from wink.record._checkpoints import Checkpoint, Listed
from wink.record._database import Durability, create_imported
from wink.record._events import Noted, Place
from wink.record._folds import Folds, Stored, Unfolded
from wink.record._masking import MASK, Masking
from wink.record._past import Past
from wink.record._prompts import PromptRow
from wink.record._queries import CallFilter, Facets, Queries, SessionRow
from wink.record._record import Loader, Record
from wink.record._results import KEPT_BYTES, KEPT_RESULTS, Results
from wink.record._run_lock import RunLock, is_locked
from wink.record._runs import RunRow, RunTable, Started, TurnRow

__all__ = [
    "KEPT_BYTES",
    "KEPT_RESULTS",
    "ApprovalRow",
    "ApprovalState",
    "ApprovalTable",
    "CallFilter",
    "CallRow",
    "Checkpoint",
    "Durability",
    "Facets",
    "Folds",
    "MASK",
    "Listed",
    "Loader",
    "Masking",
    "Noted",
    "Past",
    "Place",
    "PromptRow",
    "Queries",
    "Record",
    "Results",
    "RunLock",
    "RunRow",
    "RunTable",
    "SessionRow",
    "Started",
    "Stored",
    "TurnRow",
    "Unfolded",
    "create_imported",
    "is_locked",
    "microseconds",
    "moment",
]
