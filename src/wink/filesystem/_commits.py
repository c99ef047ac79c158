"""Keep what is committed through one object, and what that replaced, as long as somebody holds a snapshot from before.

Nothing but this object's memory knows of it: other processes may commit to the same files, and neither tell what they
change nor keep what it replaces. They are counted, though, beside the lease that everybody holds who commits; a snapshot
with somebody else's commit after it is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Final, Protocol, cast
from weakref import ref

from wink.errors import UndoConflict
from wink.filesystem._change import FileChange

_RETIRED: Final = 64
"""How many ended transactions may wait for being freed: it takes time, and who looks at a change sees it whole."""

_STRANGERS: Final = (
    "may have been changed since by another process or object, which left no record; open it as a Workspace"
)


class Segment:
    """What was committed between two snapshots.

    It knows the next one, and the history only its last, weakly; so the history reaches back exactly as far as the oldest
    snapshot that somebody still holds.
    """

    __slots__ = ("__weakref__", "changes", "next", "owner", "strangers", "transactions")

    def __init__(self, owner: CommitHistory, strangers: int) -> None:
        self.owner, self.strangers = owner, strangers
        self.changes: list[tuple[int, FileChange]] = []
        self.transactions: list[str] = []
        self.next: Segment | None = None

    def __del__(self) -> None:
        self.owner.retire(self.transactions)


class Keeping(Protocol):
    """What of a store is needed here."""

    def count_commit(self) -> int:
        """Note for everybody that something is committed; how often that has happened, -1 if it cannot be noted."""
        ...

    def counted_commits(self) -> int:
        """How often anybody has committed, -1 if it cannot be known."""
        ...

    def discard_preimages(self, *transaction_ids: str) -> object:
        """Free what transactions replaced."""
        ...


class CommitHistory:
    """Implements `Commits` and `History` for a tree that nobody records."""

    __slots__ = ("_count", "_kept", "_lock", "_position", "_retired", "_store", "_strangers", "_tail")

    def __init__(self, store: Keeping) -> None:
        self._store = store
        self._lock = threading.RLock()
        self._tail: ref[Segment] | None = None
        # Of these somebody may still want what they replaced; of the others nobody will.
        self._kept: dict[str, None] = {}
        self._retired: list[str] = []
        self._position = 0
        self._count: int | None = None
        self._strangers = 0

    # -- commits

    @property
    def is_wanted(self) -> bool:
        """Whether there is a snapshot."""
        return self._tail is not None and self._tail() is not None

    def begin(self) -> None:
        """Count a commit, for other processes too."""
        with self._lock:
            count = self._store.count_commit()
            if count < 0 or (self._count is not None and count != self._count + 1):
                self._strangers += 1
            self._count = count

    def end(self, transaction_id: str, changes: tuple[FileChange, ...], *, is_recorded: bool) -> None:
        """Keep what was changed if there is a snapshot; free what was replaced if there is none, and no record."""
        with self._lock:
            tail = None if self._tail is None else self._tail()
            if tail is not None and not is_recorded:
                self._position += 1
                tail.changes += [(self._position, change) for change in changes]
                tail.transactions.append(transaction_id)
                self._kept[transaction_id] = None
            elif not is_recorded:
                self._kept[transaction_id] = None
                self._retired.append(transaction_id)
        if len(self._retired) >= _RETIRED:
            self._drop_retired()

    def knows(self, transaction_id: str) -> bool:
        """Whether a transaction was committed here, and what it replaced is still kept."""
        return transaction_id in self._kept

    def retire(self, transaction_ids: list[str]) -> None:
        """Nobody wants what these replaced any more. Comes from the garbage collector, so it only takes note."""
        self._retired += transaction_ids

    def close(self) -> None:
        """Free everything."""
        self._retired += self._kept
        self._drop_retired()

    def _drop_retired(self) -> None:
        retired, self._retired = self._retired, []
        if retired:
            for transaction_id in retired:
                self._kept.pop(transaction_id, None)
            self._store.discard_preimages(*retired)

    # -- history

    def mark(self) -> Segment:
        """Begin a new segment."""
        with self._lock:
            self._look()
            tail = None if self._tail is None else self._tail()
            if tail is not None and not tail.transactions and tail.strangers == self._strangers:
                return tail
            segment = Segment(self, self._strangers)
            if tail is not None:
                tail.next = segment
            self._tail = ref(segment)
            return segment

    def changes(self, since: object, until: object = None) -> list[tuple[int, FileChange]]:
        """What was committed from one segment up to another."""
        first = cast("Segment", since)
        with self._lock:
            self._look()
            if first.strangers != self._strangers:
                raise UndoConflict([(".", _STRANGERS)])
            found: list[tuple[int, FileChange]] = []
            for segment in _chain(first):
                if segment is until:
                    break
                found += segment.changes
            return found

    def commit_of(self, mark: object) -> None:
        """Nobody records what was committed."""

    def is_before(self, one: object, other: object) -> bool:
        """Whether the one leads to the other."""
        return any(segment is other for segment in _chain(cast("Segment", one)))

    def _look(self) -> None:
        count = self._store.counted_commits()
        if count < 0 or (self._count is not None and count != self._count):
            self._strangers += 1
        self._count = count


def _chain(segment: Segment | None) -> Iterator[Segment]:
    while segment is not None:
        yield segment
        segment = segment.next
