"""Reach the files of a prompt from wherever it is evaluated."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wink.filesystem import Filesystem

__all__ = ["reachable"]


def reachable(filesystem: "Filesystem | None") -> "Filesystem | None":
    """The filesystem, or the handle on it of the call that is under way: files refuse to be used beside that."""
    if filesystem is None:
        return None
    from wink.transactions import current_transaction

    transaction = current_transaction()
    while transaction is not None:
        handle = transaction.filesystem
        if handle is not None and handle.write_lock is filesystem.write_lock:
            return handle
        transaction = transaction.around
    return filesystem
