"""What the root of a store shares with every handle on it, and who is told of what is changed there."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Protocol, cast

from wink.filesystem._facts import FactCache
from wink.filesystem._past import Past, StorePast
from wink.filesystem._siblings import Siblings
from wink.filesystem._stamps import Stamp
from wink.filesystem._store import Store
from wink.filesystem._write_lock import WriteLock

if TYPE_CHECKING:
    from wink.filesystem._change import FileChange
    from wink.filesystem._filesystem import Filesystem
    from wink.filesystem._store import MarkingStore
    from wink.filesystem._transaction import FileTransaction

MAX_FILE_BYTES: Final = 1 << 30
"""The largest file that one write may make, in bytes, unless a filesystem is made with another bound."""

Seen = Callable[[str], "Stamp | None"]
"""What a session knew of a path before the call."""

guarded: Final[ContextVar[tuple[Tree, ...]]] = ContextVar("wink_guarded_trees", default=())
"""Trees whose roots may not be used directly in this context, because a call works on them through its handle."""


class Direct(Protocol):
    """Records what is changed on a root outside of calls."""

    def commit(self, transaction: FileTransaction, verb: str, arguments: tuple[object, ...], /) -> None:
        """Store what a prepared transaction has changed; raises when it was not stored, or when that cannot be told."""
        ...


class Commits(Protocol):
    """Is told of what was committed to a tree, by calls and otherwise."""

    @property
    def is_wanted(self) -> bool:
        """Whether somebody will want to know what was changed."""
        ...

    def begin(self) -> None:
        """Something is about to be committed."""
        ...

    def end(self, transaction_id: str, changes: tuple[FileChange, ...], *, is_recorded: bool) -> None:
        """It was committed; where nobody recorded it, nobody else will ask for what it replaced."""
        ...


class Tree:
    """What the root of a store shares with every handle on it.

    `handle` makes what tools hold from a transaction, and `max_file_bytes` is the size of the largest file that a write may
    make. `past` is the way back to snapshots, `numbers` counts them and `clock` dates them.
    """

    __slots__ = (
        "__weakref__",
        "clock",
        "commits",
        "direct",
        "facts",
        "handle",
        "max_file_bytes",
        "numbers",
        "past",
        "portable_names",
        "read_only",
        "recorder",
        "siblings",
        "store",
        "write_lock",
    )

    def __init__(
        self,
        store: Store,
        facts: FactCache,
        write_lock: WriteLock,
        handle: Callable[[FileTransaction], Filesystem],
        *,
        read_only: bool,
        portable_names: bool,
        max_file_bytes: int = MAX_FILE_BYTES,
    ) -> None:
        if max_file_bytes < 1:
            raise ValueError(f"max_file_bytes is {max_file_bytes}; give the size of the largest file, in bytes")
        self.store, self.facts, self.write_lock, self.handle = store, facts, write_lock, handle
        self.read_only, self.portable_names = read_only, portable_names
        self.max_file_bytes = max_file_bytes
        self.siblings = Siblings()
        self.recorder: object | None = None
        self.direct: Direct | None = None
        self.commits: Commits | None = None
        self.past: Past | None = StorePast(cast("MarkingStore", store)) if hasattr(store, "mark") else None
        self.numbers: Iterator[int] = itertools.count(1)
        self.clock: Callable[[], int] = getattr(store, "clock", time.time_ns)
