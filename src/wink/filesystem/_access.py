"""How a filesystem gets at its tree: through a root, or through one call's part of a transaction."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, Protocol, TypeVar, cast

from wink.filesystem._facts import FactCache
from wink.filesystem._past import Past, StorePast
from wink.filesystem._siblings import Siblings
from wink.filesystem._snapshot import FilesystemSnapshot
from wink.filesystem._stamps import Stamp
from wink.filesystem._store import Store
from wink.filesystem._turns import Turns

if TYPE_CHECKING:
    from wink.filesystem._change import FileChange
    from wink.filesystem._part import FilePart
    from wink.filesystem._store import MarkingStore

P = ParamSpec("P")
T = TypeVar("T")

Seen = Callable[[str], "Stamp | None"]
"""What a session knew of a path before the call."""

guarded: Final[ContextVar[tuple[Tree, ...]]] = ContextVar("wink_guarded_trees", default=())
"""Trees whose roots may not be used directly in this context, because a call works on them through its handle."""


class Direct(Protocol):
    """Records what is changed on a root outside of calls."""

    def commit(self, part: FilePart, operation: str, arguments: tuple[object, ...]) -> None:
        """Store what a prepared part has changed; raises when it was not stored, or when that cannot be told."""
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

    `patience` is how long a root's operation waits for its turn, in seconds. `past` is the way back to snapshots, `numbers`
    counts them and `clock` dates them.
    """

    __slots__ = (
        "__weakref__",
        "clock",
        "commits",
        "direct",
        "facts",
        "numbers",
        "past",
        "patience",
        "portable_names",
        "read_only",
        "recorder",
        "siblings",
        "store",
        "turns",
    )

    def __init__(
        self, store: Store, facts: FactCache, turns: Turns, *, read_only: bool, portable_names: bool, patience: float
    ) -> None:
        self.store, self.facts, self.turns = store, facts, turns
        self.read_only, self.portable_names, self.patience = read_only, portable_names, patience
        self.siblings = Siblings()
        self.recorder: object | None = None
        self.direct: Direct | None = None
        self.commits: Commits | None = None
        self.past: Past | None = StorePast(cast("MarkingStore", store)) if hasattr(store, "mark") else None
        self.numbers: Iterator[int] = itertools.count(1)
        self.clock: Callable[[], int] = getattr(store, "clock", time.time_ns)


class Access(Protocol):
    """What the operations on files need."""

    @property
    def tree(self) -> Tree:
        """What is shared with every other access to the same files."""
        ...

    @property
    def refusal(self) -> str | None:
        """Why nothing can be changed through this access, or None when it can."""
        ...

    def reading(self) -> Store:
        """The store, or `HandleRevoked`."""
        ...

    def run(self, operation: Callable[Concatenate[FilePart, P], T], *args: P.args, **options: P.kwargs) -> T:
        """Let an operation change files: as a part of the call, or in a transaction of its own."""
        ...

    def note(self, path: str, stamp: Stamp | None) -> None:
        """Remember that a file's content was read or written, or with None that what was known no longer is."""
        ...

    def seen(self, path: str) -> Stamp | None:
        """What was last noted of a path, here or before."""
        ...

    def begin(self, *, writable: bool, seen: Seen | None, transaction_id: str | None) -> FilePart:
        """A transaction, or a savepoint of the one that this access belongs to."""
        ...

    def snapshot(self, tag: str | None) -> FilesystemSnapshot:
        """The state now."""
        ...

    def restore(self, snapshot: FilesystemSnapshot) -> None:
        """Come back to a snapshot."""
        ...

    def diff(self, snapshot: FilesystemSnapshot, until: FilesystemSnapshot | None) -> tuple[FileChange, ...]:
        """What is not the same at two snapshots."""
        ...
