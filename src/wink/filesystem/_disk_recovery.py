"""End what a dead process began: keep a transaction that was committed, undo one that was not."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from functools import lru_cache

from wink.errors import RollbackFailed
from wink.filesystem._disk_ground import Ground
from wink.filesystem._disk_kept import release
from wink.filesystem._disk_log import Log
from wink.filesystem._disk_trees import below, remove
from wink.filesystem._journal import left_behind
from wink.filesystem._journal_report import Conflict, Recovered


def is_anything_left(ground: Ground) -> bool:
    """Whether there is a journal of a transaction that is not under way in this store."""
    if not ground.state.open():
        return False
    left = os.listdir(ground.state.wal)
    return bool(left) and not ground.active.issuperset(left)


def recover(ground: Ground, committed: Callable[[str], bool]) -> tuple[Recovered, ...]:
    """Deal with every journal, the newest first, and drop from staging what belongs to nobody.

    May die at any moment and be called again. Raises `RollbackFailed`, leaving the journal where it is.
    """
    if not ground.state.open():
        return ()
    is_committed = lru_cache(maxsize=None)(committed)
    done: list[Recovered] = []
    for transaction_id in left_behind(ground.state):
        if transaction_id not in ground.active:
            ended = end(ground, transaction_id, keep=is_committed(transaction_id))
            if ended.paths:  # otherwise it had not changed anything yet
                done.append(ended)
    left: dict[str, list[Conflict]] = {}
    for name in os.listdir(ground.state.staged):
        transaction_id = name.rpartition(".")[0]
        if transaction_id not in ground.active and not is_committed(transaction_id):
            for conflict in release(ground, name):
                left.setdefault(transaction_id, []).append(conflict)
    done += [Recovered(transaction_id, "kept", (), tuple(kept)) for transaction_id, kept in left.items()]
    return tuple(done)


def discard(ground: Ground, transaction_ids: frozenset[str]) -> tuple[Conflict, ...]:
    """Drop what committed transactions left in staging; tells what somebody has written to since, which is kept."""
    kept: list[Conflict] = []
    if transaction_ids and ground.state.open():
        for name in os.listdir(ground.state.staged):
            if name.rpartition(".")[0] in transaction_ids:
                kept += release(ground, name)
    return tuple(kept)


def sizes(ground: Ground) -> dict[str, int]:
    """How many bytes each transaction has in staging, of those that are not under way."""
    found: dict[str, int] = {}
    if ground.state.open():
        staged = ground.state.staged
        for name in os.listdir(staged):
            transaction_id = name.rpartition(".")[0]
            at = ground.status(staged, name)
            if at is not None and transaction_id not in ground.active:
                inside = below(staged, name) if stat.S_ISDIR(at.st_mode) else ()
                size = at.st_size + sum(child.st_size for _, child, _ in inside)
                found[transaction_id] = found.get(transaction_id, 0) + size
    return found


def end(ground: Ground, transaction_id: str, *, keep: bool) -> Recovered:
    """End one transaction by its journal."""
    log = Log.resume(ground, transaction_id)
    paths = dict.fromkeys(path for record in log.records for path in _paths(record.kind, record.path, record.note))
    try:
        lost: list[Conflict] = []
        if not keep:
            try:
                log.take_back_to(0)
            except RollbackFailed as failed:
                if log.records:
                    raise
                # Nothing is left to be tried again, and nobody is helped by a workspace that stays closed for it.
                lost = [Conflict(path, None, failed.reason) for path in failed.paths]
            # As long as there is a journal somebody will come for these: new content that never got its name.
            for name in os.listdir(ground.state.staged):
                if name.rpartition(".")[0] == transaction_id:
                    remove(ground.state.staged, name)
        log.end()
    finally:
        log.leave()
    return Recovered(transaction_id, "kept" if keep else "undone", tuple(paths), (*log.conflicts, *lost))


def _paths(kind: str, path: str, note: str) -> tuple[str, ...]:
    return (path, note) if kind == "N" else (path,)
