"""The filesystems that programs make: in memory, over a directory of the host, over anybody's store."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal, Self, cast

from wink.filesystem._commits import CommitHistory
from wink.filesystem._facts import FactCache
from wink.filesystem._filesystem import Filesystem
from wink.filesystem._past import DiskPast, History
from wink.filesystem._store import Store
from wink.filesystem._transaction import FileTransaction
from wink.filesystem._tree import MAX_FILE_BYTES, Direct, Tree
from wink.filesystem._write_lock import WriteLock
from wink.filesystem.memory import MemoryStore

if TYPE_CHECKING:
    from wink.filesystem._change import FileVersion
    from wink.filesystem._past import Past
    from wink.filesystem.disk import Conflict, Recovered
    from wink.filesystem.undo import Places


class InMemoryFilesystem(Filesystem):
    """Files that live as long as this object, and nowhere else.

    >>> files = InMemoryFilesystem()
    >>> before = files.snapshot()
    >>> files.write("notes/a.txt", "one\\n").created
    True
    >>> files.read("notes/a.txt").content
    'one\\n'
    >>> files.restore(before)
    ()
    >>> files.exists("notes")
    False
    """

    __slots__ = ()

    def __init__(
        self,
        *,
        read_only: bool = False,
        portable_names: bool = True,
        max_file_bytes: int = MAX_FILE_BYTES,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        tree = Tree(
            MemoryStore(clock=clock),
            FactCache(trusted=True),
            WriteLock("the in-memory filesystem"),
            Filesystem,
            read_only=read_only,
            portable_names=portable_names,
            max_file_bytes=max_file_bytes,
        )
        super().__init__(FileTransaction(tree, autocommit=True))


class HostFilesystem(Filesystem):
    """Files beneath a directory of the host, which nothing reaches beyond.

    `state` is where the journal is kept, in `<root>/.wink` unless given; raises `StateNotKnown` where somebody else's lies. With `durability="process"` a commit survives the
    death of this process, with `"power"` that of the machine. Close it, or use it in a `with` block. What commits
    replaced is kept while a snapshot from before is, and dropped after a while, unless a `recorder` was set: then it is
    kept until `discard_preimages`. Names that no Windows could check out are not made, unless `portable_names` is false, and no
    files of more than `max_file_bytes`.
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
        max_file_bytes: int = MAX_FILE_BYTES,
    ) -> None:
        from wink.filesystem.disk import DiskStore

        where = None if state is None else os.fspath(state)
        self._store: Final = DiskStore(os.fspath(root), state=where, durability=durability, read_only=read_only)
        self._recovered: tuple[Recovered, ...] = ()
        self._commits: Final = CommitHistory(self._store)
        tree = Tree(
            self._store,
            FactCache(trusted=False),
            WriteLock(f"workspace {self._store.root!r}", locked=self._lock, unlocked=self._store.unlease),
            Filesystem,
            read_only=read_only,
            portable_names=portable_names,
            max_file_bytes=max_file_bytes,
        )
        tree.commits, tree.past = self._commits, DiskPast(tree, self._commits)
        super().__init__(FileTransaction(tree, autocommit=True))

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
        self._transaction.reading()
        return self._store.version(path)

    def open_preimage(self, staged: str) -> BinaryIO | None:
        """A stream over what a recorded transaction replaced, by its name in the record; None when it is gone."""
        self._transaction.reading()
        return self._store.open_preimage(staged)

    def record_directly(self, direct: Direct, history: History) -> None:
        """Let `direct` store what is changed outside of calls, and snapshots be positions in `history`."""
        tree = self._transaction.tree
        tree.direct, tree.past = direct, DiskPast(tree, history)

    @property
    def places(self) -> Places:
        """Where `Versions` looks for what files were."""
        return cast("Places", self._transaction.tree.store)

    @property
    def archive(self) -> Callable[[str], BinaryIO | None] | None:
        """What is asked for the pre-images that are not in staging any more, by their name."""
        return self._store.archive

    @archive.setter
    def archive(self, archive: Callable[[str], BinaryIO | None] | None) -> None:
        self._store.archive = archive

    def preimages(self) -> Mapping[str, int]:
        """How many bytes are kept of what each ended transaction replaced."""
        self._transaction.reading()
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
        if not isinstance(self._transaction.tree.store, _Closed):
            self._commits.close()
            self._transaction.tree.store = cast("Store", _Closed(self._store.root))
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _lock(self, timeout: float) -> None:
        """Take the lease that other processes see, and fix what a dead holder left."""
        if isinstance(self._transaction.tree.store, _Closed):
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


class StoreFilesystem(Filesystem):
    """Files of a store that you made: it keeps them, and everything else is as with the stores that wink has.

    A store that is a `MarkingStore` can take snapshots. `immutable` promises that content never changes in place, so that
    two equal `Node.identity` always mean the same content. A store that keeps its files in another filesystem gives that one's
    `write_lock`, and as `past` its own way back by that one's. `wink.testing.FilesystemContract` holds the store to what is
    expected of it.
    """

    __slots__ = ("store",)

    def __init__(
        self,
        store: Store,
        *,
        read_only: bool = False,
        portable_names: bool = True,
        max_file_bytes: int = MAX_FILE_BYTES,
        immutable: bool = False,
        write_lock: WriteLock | None = None,
        past: Past | None = None,
    ) -> None:
        self.store = store
        tree = Tree(
            store,
            FactCache(trusted=immutable),
            write_lock or WriteLock(f"the filesystem {store.root!r}"),
            Filesystem,
            read_only=read_only,
            portable_names=portable_names,
            max_file_bytes=max_file_bytes,
        )
        tree.past = past or tree.past
        super().__init__(FileTransaction(tree, autocommit=True))
