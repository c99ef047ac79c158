"""The filesystems that programs make: one in memory, one over a directory of the host."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, Concatenate, Final, Literal, ParamSpec, Self, TypeVar, cast

from wink.errors import HandleRevoked, ReadOnlyFilesystem
from wink.filesystem._access import Direct, Seen, Tree, guarded
from wink.filesystem._commits import CommitHistory
from wink.filesystem._facts import FactCache
from wink.filesystem._filesystem import Filesystem
from wink.filesystem._memory import MemoryStore
from wink.filesystem._part import FilePart
from wink.filesystem._past import DiskPast, History, committed_mark, past_of, restore
from wink.filesystem._snapshot import FilesystemSnapshot
from wink.filesystem._stamps import Stamp
from wink.filesystem._store import Store
from wink.filesystem._turns import Turns

if TYPE_CHECKING:
    from wink.filesystem._change import FileChange, FileVersion
    from wink.filesystem._journal_report import Conflict, Recovered
    from wink.filesystem._versions import Places

P = ParamSpec("P")
T = TypeVar("T")

_snapshot: Final = cast(
    "Callable[[type[FilesystemSnapshot], tuple[object, ...]], FilesystemSnapshot]", cast("Any", tuple).__new__
)

PATIENCE: Final = 30.0
"""How long an operation on a root waits for its turn, in seconds."""


class RootAccess:
    """Direct use of a root: each change is a transaction of its own, and none is possible inside a call."""

    __slots__ = ("_tree",)

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    @property
    def tree(self) -> Tree:
        """What is shared with the handles."""
        return self._tree

    @property
    def refusal(self) -> str | None:
        """Why nothing can be changed, if so."""
        return "this filesystem was opened for reading only" if self._tree.read_only else None

    def reading(self) -> Store:
        """The store, outside of calls."""
        if self._tree in guarded.get():
            raise HandleRevoked("inside a call files are used through context.filesystem, which can be rolled back")
        return self._tree.store

    def run(self, operation: Callable[Concatenate[FilePart, P], T], *args: P.args, **options: P.kwargs) -> T:
        """Wait for the turn, change, and commit."""
        self.reading()
        if self.refusal is not None:
            raise ReadOnlyFilesystem(str(args[0]) if args else ".", self.refusal)
        tree = self._tree
        tree.turns.acquire(tree.patience)
        try:
            part = FilePart(tree, recorded=tree.direct is not None)
            try:
                result = operation(part, *args, **options)
                part.prepare()
                if tree.direct is not None and part.dirty:
                    tree.direct.commit(part, operation.__name__, args)
                part.publish()
            except BaseException:
                part.undo()
                raise
        finally:
            tree.turns.release()
        return result

    def note(self, path: str, stamp: Stamp | None) -> None:
        """Nobody asks what was seen outside of calls."""

    def seen(self, path: str) -> Stamp | None:  # noqa: ARG002 - a session would be asked
        """Nothing."""
        return None

    def begin(self, *, writable: bool, seen: Seen | None, transaction_id: str | None) -> FilePart:
        """A transaction's part."""
        self.reading()
        return FilePart(self._tree, writable=writable, seen=seen, transaction_id=transaction_id)

    def snapshot(self, tag: str | None) -> FilesystemSnapshot:
        """What has been committed."""
        tree = self._tree
        if tree in guarded.get():
            self.reading()
        mark = (tree.past or past_of(tree)).mark()
        # By the short way: this is to be cheap enough to be done before everything.
        return _snapshot(FilesystemSnapshot, (tree, next(tree.numbers), tree.clock(), tag, mark))

    def restore(self, snapshot: FilesystemSnapshot) -> None:
        """Come back to a snapshot, in a transaction of its own."""
        self.reading()
        committed_mark(self._tree, snapshot)
        if self.refusal is not None:
            raise ReadOnlyFilesystem(".", self.refusal)
        self.run(restore, snapshot)

    def diff(self, snapshot: FilesystemSnapshot, until: FilesystemSnapshot | None) -> tuple[FileChange, ...]:
        """What is not the same at two snapshots, or now."""
        self.reading()
        tree = self._tree
        since, to = committed_mark(tree, snapshot), None if until is None else committed_mark(tree, until)
        return past_of(tree).between(None, since, to)


class InMemoryFilesystem(Filesystem):
    """Files that live as long as this object, and nowhere else.

    >>> files = InMemoryFilesystem()
    >>> before = files.snapshot()
    >>> files.write("notes/a.txt", "one\\n").created
    True
    >>> files.read("notes/a.txt").content
    'one\\n'
    >>> files.restore(before)
    >>> files.exists("notes")
    False
    """

    __slots__ = ()

    def __init__(
        self, *, read_only: bool = False, portable_names: bool = True, clock: Callable[[], int] = time.time_ns
    ) -> None:
        facts = FactCache(trusted=True)
        turns = Turns("the in-memory filesystem")
        tree = Tree(
            MemoryStore(clock=clock),
            facts,
            turns,
            read_only=read_only,
            portable_names=portable_names,
            patience=PATIENCE,
        )
        super().__init__(RootAccess(tree))


class HostFilesystem(Filesystem):
    """Files beneath a directory of the host, which nothing reaches beyond.

    `state` is where the journal is kept, in `<root>/.wink` unless given; raises `StateNotKnown` where somebody else's lies. With `durability="process"` a commit survives the
    death of this process, with `"power"` that of the machine. Close it, or use it in a `with` block. What commits
    replaced is kept while a snapshot from before is, and dropped after a while, unless a `recorder` was set: then it is
    kept until `discard_preimages`. Names that no Windows could check out are not made, unless `portable_names` is false.
    """

    __slots__ = ("_commits", "_recovered", "_store")

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        state: str | os.PathLike[str] | None = None,
        durability: Literal["process", "power"] = "process",
        read_only: bool = False,
        portable_names: bool = True,
    ) -> None:
        from wink.filesystem._disk import DiskStore

        where = None if state is None else os.fspath(state)
        self._store: Final = DiskStore(os.fspath(root), state=where, durability=durability, read_only=read_only)
        self._recovered: tuple[Recovered, ...] = ()
        self._commits: Final = CommitHistory(self._store)
        turns = Turns(f"workspace {self._store.root!r}", locked=self._lock, unlocked=self._store.unlease)
        facts = FactCache(trusted=False)
        tree = Tree(self._store, facts, turns, read_only=read_only, portable_names=portable_names, patience=PATIENCE)
        tree.commits, tree.past = self._commits, DiskPast(tree, self._commits)
        super().__init__(RootAccess(tree))

    @property
    def recovered(self) -> tuple[Recovered, ...]:
        """What was done about transactions of processes that had died, when the turn was last taken."""
        return self._recovered

    @property
    def level(self) -> str:
        """What keeps paths beneath the root: `openat2` (the kernel), or `walk`."""
        return self._store.level

    def version(self, path: str) -> FileVersion | None:
        """What is at this very path now, with neither itself nor a directory above it being followed as a link."""
        self._access.reading()
        return self._store.version(path)

    def open_preimage(self, staged: str) -> BinaryIO | None:
        """A stream over what a recorded transaction replaced, by its name in the record; None when it is gone."""
        self._access.reading()
        return self._store.open_preimage(staged)

    def record_directly(self, direct: Direct, history: History) -> None:
        """Let `direct` store what is changed outside of calls, and snapshots be positions in `history`."""
        tree = self._access.tree
        tree.direct, tree.past = direct, DiskPast(tree, history)

    @property
    def places(self) -> Places:
        """Where `Versions` looks for what files were."""
        return cast("Places", self._access.tree.store)

    @property
    def archive(self) -> Callable[[str], BinaryIO | None] | None:
        """What is asked for the pre-images that are not in staging any more, by their name."""
        return self._store.archive

    @archive.setter
    def archive(self, archive: Callable[[str], BinaryIO | None] | None) -> None:
        self._store.archive = archive

    def preimages(self) -> Mapping[str, int]:
        """How many bytes are kept of what each ended transaction replaced."""
        self._access.reading()
        return self._store.preimages()

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """The last versions that somebody else had saved where files were put back, or into files that were replaced.

        They are kept in the state directory; nothing ever removes them.
        """
        return self._store.conflicts

    def discard_preimages(self, *transaction_ids: str) -> tuple[Conflict, ...]:
        """Free what committed transactions replaced; their changes cannot be shown or taken back afterwards.

        What a program that had it open has written to since is not freed, but kept as a conflict and told.
        """
        return self._store.discard_preimages(*transaction_ids)

    def close(self) -> None:
        """Let go of the directory; nothing can be done with these files afterwards. Closing twice does nothing."""
        if not isinstance(self._access.tree.store, _Closed):
            self._commits.close()
            self._access.tree.store = cast("Store", _Closed(self._store.root))
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _lock(self, timeout: float) -> None:
        """Take the lease that other processes see, and mend what a dead holder left."""
        if isinstance(self._access.tree.store, _Closed):
            raise _closed(self.root)
        self._store.lease(timeout)
        try:
            self._recovered = ()
            if self._store.pending():
                committed: Callable[[str], bool] = getattr(self.recorder, "committed", self._commits.knows)
                self._recovered = self._store.recover(committed)
        except BaseException:
            self._store.unlease()
            raise


class _Closed:
    """Stands for a store that was closed: its descriptors may be somebody else's by now."""

    def __init__(self, root: str) -> None:
        self.root = root

    def __getattr__(self, name: str) -> Any:
        del name
        raise _closed(self.root)


def _closed(root: str) -> ValueError:
    return ValueError(f"the filesystem of {root!r} has been closed")
