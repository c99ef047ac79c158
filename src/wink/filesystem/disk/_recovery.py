"""End what a dead process began: keep a transaction that was committed, undo one that was not."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from functools import lru_cache

from wink.filesystem.disk._journal import left_behind
from wink.filesystem.disk._log import end_by_journal
from wink.filesystem.disk._preimages import release
from wink.filesystem.disk._report import Conflict, Recovered
from wink.filesystem.disk._root import DiskRoot
from wink.filesystem.disk._trees import below


def recover(root: DiskRoot, committed: Callable[[str], bool]) -> tuple[Recovered, ...]:
    """Deal with every journal, the newest first, and drop from staging what belongs to nobody.

    May die at any moment and be called again. Raises `RollbackFailed`, leaving the journal where it is.
    """
    if not root.state.open():
        return ()
    is_committed = lru_cache(maxsize=None)(committed)
    done: list[Recovered] = []
    for transaction_id in left_behind(root.state):
        if transaction_id not in root.active:
            ended = end_by_journal(root, transaction_id, keep=is_committed(transaction_id))
            if ended.paths:  # otherwise it had not changed anything yet
                done.append(ended)
    left: dict[str, list[Conflict]] = {}
    for name in os.listdir(root.state.staged):
        transaction_id = name.rpartition(".")[0]
        if transaction_id not in root.active and not is_committed(transaction_id):
            for conflict in release(root, name):
                left.setdefault(transaction_id, []).append(conflict)
    done += [Recovered(transaction_id, "kept", (), tuple(kept)) for transaction_id, kept in left.items()]
    return tuple(done)


def discard(root: DiskRoot, transaction_ids: frozenset[str]) -> tuple[Conflict, ...]:
    """Drop what committed transactions left in staging; tells what somebody has written to since, which is kept."""
    kept: list[Conflict] = []
    if transaction_ids and root.state.open():
        for name in os.listdir(root.state.staged):
            if name.rpartition(".")[0] in transaction_ids:
                kept += release(root, name)
    return tuple(kept)


def sizes(root: DiskRoot) -> dict[str, int]:
    """How many bytes each transaction has in staging, of those that are not under way."""
    found: dict[str, int] = {}
    if root.state.open():
        staged = root.state.staged
        for name in os.listdir(staged):
            transaction_id = name.rpartition(".")[0]
            at = root.status(staged, name)
            if at is not None and transaction_id not in root.active:
                inside = below(staged, name) if stat.S_ISDIR(at.st_mode) else ()
                size = at.st_size + sum(child.st_size for _, child, _ in inside)
                found[transaction_id] = found.get(transaction_id, 0) + size
    return found
