"""What calls did, kept in SQLite: the one place that decides whether a call happened."""

from wink.record._approvals import ApprovalTable
from wink.record._binding import as_text, execute
from wink.record._calls import CALL_FACTS, FROM_CALLS, HASH, SALT, chained, commitment, entry_hash, microseconds, moment
from wink.record._checkpoints import Checkpoint, Listed
from wink.record._database import Durability, create_imported
from wink.record._events import Noted, Place, Turn
from wink.record._folds import Folds, Stored, Unfolded
from wink.record._forgetting import KEEP, Keep
from wink.record._past import Past
from wink.record._queries import CallFilter, Queries, SessionRow, StoryTurn
from wink.record._record import Loader, Record
from wink.record._results import KEPT_BYTES, KEPT_RESULTS, Results
from wink.record._texts import text_of
from wink.record._view import WORDS, CallView, Role, role_of, values_of, word_of
from wink.record.masking import MASK, Masking
from wink.record.runs import Fork, PromptRow, RunLock, RunRow, RunTable, Said, Started, TurnRow, is_locked, task_of
from wink.session import ApprovalRow, ApprovalState

CallRow = CallView  # what programs call it that knew it before the page did

__all__ = [
    "CALL_FACTS",
    "FROM_CALLS",
    "HASH",
    "SALT",
    "KEEP",
    "KEPT_BYTES",
    "KEPT_RESULTS",
    "ApprovalRow",
    "ApprovalState",
    "ApprovalTable",
    "CallFilter",
    "CallRow",
    "CallView",
    "Checkpoint",
    "Durability",
    "Folds",
    "Fork",
    "Keep",
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
    "Role",
    "RunLock",
    "RunRow",
    "RunTable",
    "Said",
    "SessionRow",
    "Started",
    "Stored",
    "StoryTurn",
    "Turn",
    "TurnRow",
    "Unfolded",
    "WORDS",
    "as_text",
    "chained",
    "commitment",
    "create_imported",
    "entry_hash",
    "execute",
    "is_locked",
    "microseconds",
    "moment",
    "role_of",
    "task_of",
    "text_of",
    "values_of",
    "word_of",
]
