"""What calls did, kept in SQLite: the one place that decides whether a call happened."""

from wink.record._calls import CallRow
from wink.record._checkpoints import Checkpoint, Listed
from wink.record._database import Durability
from wink.record._folds import Folds, Stored, Unfolded
from wink.record._past import Past
from wink.record._record import Loader, Record

__all__ = ["CallRow", "Checkpoint", "Durability", "Folds", "Listed", "Loader", "Past", "Record", "Stored", "Unfolded"]
