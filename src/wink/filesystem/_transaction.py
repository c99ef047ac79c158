"""Changes to a tree's files that commit together or never happened; every operation on files goes through one.

Rules of this module:

* Beginning touches nothing; the change set is made by the first change.
* The check for revocation and the change itself run under one lock, the gate. So once `revoke` has returned, nothing that
  the call left running can change a file.
* Savepoints share the change set of the outermost transaction, whose steps are a stack; so only the innermost one that has
  changed something may change more, and each takes back what lies above its own beginning.
* A root is used through a transaction that is `autocommit`: it holds no changes, each operation is a transaction of its own,
  and none is possible inside a call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import Token
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar, cast
from weakref import WeakSet

from wink.errors import HandleRevoked, ReadOnlyFilesystem, SnapshotMismatch, TransactionError
from wink.filesystem._change import FileChange
from wink.filesystem._facts import identify
from wink.filesystem._past import FilesystemSnapshot, Position, past_of
from wink.filesystem._stamps import Stamp
from wink.filesystem._store import ChangeSet, Store
from wink.filesystem._tree import Seen, Tree, guarded

if TYPE_CHECKING:
    from wink.filesystem._filesystem import Filesystem
    from wink.filesystem.disk import Conflict

PATIENCE: Final = 30.0
"""How long an operation on a root waits for its turn, in seconds."""

P = ParamSpec("P")
T = TypeVar("T")

# By the short way: a snapshot of a root is to be cheap enough to be taken before everything.
_snapshot: Final = cast(
    "Callable[[type[FilesystemSnapshot], tuple[object, ...]], FilesystemSnapshot]", cast("Any", tuple).__new__
)


class _Shared:
    """What a transaction and its savepoints share."""

    __slots__ = (
        "change_set",
        "changes",
        "conflicts",
        "cuts",
        "gate",
        "is_recorded",
        "snapshots",
        "transaction_id",
        "writers",
    )

    def __init__(self, transaction_id: str | None, *, is_recorded: bool) -> None:
        self.gate = threading.RLock()
        self.change_set: ChangeSet | None = None
        self.writers: list[FileTransaction] = []
        self.transaction_id, self.is_recorded = transaction_id, is_recorded
        self.changes: tuple[FileChange, ...] = ()
        self.conflicts: tuple[Conflict, ...] = ()
        # Down to which positions changes were taken back: snapshots of later ones mean nothing any more.
        self.cuts: list[int] = []
        self.snapshots: WeakSet[Position] | None = None


class FileTransaction:
    """The files' part of one transaction, or of a savepoint in it.

    After `revoke` exactly one of `prepare` with `publish`, and `undo`.
    """

    __slots__ = (
        "_handle",
        "_is_cut_off",
        "_observed",
        "_outer",
        "_revoked",
        "_seen",
        "_shared",
        "_since",
        "autocommit",
        "before_first_change",
        "refusal",
        "tree",
    )

    def __init__(
        self,
        tree: Tree,
        *,
        writable: bool = True,
        seen: Seen | None = None,
        transaction_id: str | None = None,
        outer: FileTransaction | None = None,
        recorded: bool | None = None,
        autocommit: bool = False,
    ) -> None:
        self.tree = tree
        """What is shared with every other transaction on the same files."""
        self.refusal: str | None = None
        """Why nothing can be changed, if so."""
        if tree.read_only:
            self.refusal = "this filesystem was opened for reading only"
        elif not writable:
            self.refusal = "this call may only read, as its tool declares"
        self.autocommit = autocommit
        """Whether each operation is a transaction of its own."""
        self._seen, self._outer = seen, outer
        recorded = tree.recorder is not None if recorded is None else recorded
        self._shared = _Shared(transaction_id, is_recorded=recorded) if outer is None else outer._shared
        self._since: int | None = None
        self._revoked = self._is_cut_off = False
        self.before_first_change: Callable[[], None] | None = None if outer is None else outer.before_first_change
        """What has to happen before anything is changed, for calls that have not done it when they begin."""
        self._observed: dict[str, Stamp | None] = {}
        self._handle: Filesystem | None = None

    # -- its life

    @property
    def handle(self) -> Filesystem:
        """The filesystem that the call works with; every change through it belongs to this transaction."""
        if self._handle is None:
            self._handle = self.tree.handle(self)
        return self._handle

    def begin(
        self, *, writable: bool = True, seen: Seen | None = None, transaction_id: str | None = None
    ) -> FileTransaction:
        """A savepoint, which goes by the transaction's own id; of a root's, a transaction."""
        if not self.autocommit:
            return self.savepoint(writable, seen)
        self._check()
        return FileTransaction(self.tree, writable=writable, seen=seen, transaction_id=transaction_id)

    def savepoint(self, writable: bool = True, seen: Seen | None = None) -> FileTransaction:
        """A transaction within this one, which can be undone alone and otherwise becomes a part of it."""
        return FileTransaction(self.tree, writable=writable and self.refusal is None, seen=seen, outer=self)

    @contextmanager
    def transaction(self, verb: str, *arguments: object) -> Generator[FileTransaction]:
        """A savepoint for the block, which is undone when the block raises; of a root's, a transaction.

        That waits for the write lock, and is recorded by verb and arguments, the first of which is the path.
        """
        self._check()
        if self.refusal is not None:
            path = arguments[0] if arguments and isinstance(arguments[0], str) else "."
            raise ReadOnlyFilesystem(path, self.refusal)
        tree, is_root = self.tree, self.autocommit
        if is_root:
            tree.write_lock.acquire(PATIENCE)
        try:
            inner = FileTransaction(tree, recorded=tree.direct is not None) if is_root else self.savepoint()
            try:
                yield inner
                inner.prepare()
                if is_root and tree.direct is not None and inner.dirty:
                    tree.direct.commit(inner, verb, arguments)
                inner.publish()
            except BaseException:
                inner.undo()
                raise
        finally:
            if is_root:
                tree.write_lock.release()

    def guard(self) -> Token[tuple[Tree, ...]]:
        """Refuse direct use of the root in this context, and in contexts copied from it, until `unguard`."""
        return guarded.set((*guarded.get(), self.tree))

    def unguard(self, token: Token[tuple[Tree, ...]]) -> None:
        """Take back a `guard`, in the same context."""
        guarded.reset(token)

    def revoke(self) -> None:
        """From here on the handle changes and reads nothing; waits for a change that is under way."""
        if self._is_cut_off:
            return
        self._revoked = True
        with self._shared.gate:
            # Whoever holds the handle keeps it; both would hold each other until the garbage collector comes.
            self._handle = None
            self._is_cut_off = True

    @property
    def transaction_id(self) -> str | None:
        """The transaction's name in the journal; None when it was given none and has changed nothing."""
        return self._shared.transaction_id

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """What somebody else had saved where this transaction's changes were taken back; to be asked when it has ended."""
        return self._shared.conflicts

    @property
    def dirty(self) -> bool:
        """Whether anything was changed and not yet taken back."""
        change_set = self._shared.change_set
        return change_set is not None and self._since is not None and change_set.position > self._since

    def changes(self, since: int | None = None) -> tuple[FileChange, ...]:
        """The net change of each path, in the order of first change; to be asked before `publish` or `undo`.

        `since` is a position of the change set, by default where this transaction began.
        """
        change_set, since = self._shared.change_set, self._since if since is None else since
        if change_set is None or since is None:
            return ()
        changes = change_set.changes(since)
        for change in changes:
            after = change.after
            if after is not None and after.kept is not None and after.kind == "file":
                identify(self.tree.store, change.path, after, after.kept, self._observed.get(change.path))
        return changes

    def prepare(self) -> None:
        """Do all that can fail before the commit point."""
        self.revoke()
        shared, commits = self._shared, self.tree.commits
        if self._outer is None and shared.change_set is not None:
            if commits is not None and commits.is_wanted and not shared.is_recorded:
                shared.changes = self.changes()
            shared.change_set.prepare()

    def publish(self) -> None:
        """The commit point has passed. A savepoint's changes and stamps become those of the transaction around it."""
        self.revoke()
        shared, outer = self._shared, self._outer
        if outer is None and shared.change_set is None:
            return  # nothing was changed, and what is revoked changes nothing any more
        with shared.gate:
            if outer is None:
                if shared.change_set is not None:
                    # Operations that found nothing to change are no commits.
                    commits = self.tree.commits if shared.change_set.position else None
                    if commits is not None:
                        commits.begin()
                    shared.change_set.publish()
                    shared.conflicts = _conflicts_of(shared.change_set)
                    if commits is not None and shared.transaction_id is not None:
                        commits.end(shared.transaction_id, shared.changes, is_recorded=shared.is_recorded)
                shared.change_set = None
                shared.writers.clear()
                return
            outer._observed.update(self._observed)
            if self in shared.writers:
                shared.writers.remove(self)
                if outer not in shared.writers:
                    outer._since = self._since
                    shared.writers.append(outer)

    def leave(self) -> None:
        """Leave the changes as they are, when it cannot be told whether they were committed; recovery will judge."""
        self.revoke()
        with self._shared.gate:
            change_set, self._shared.change_set = self._shared.change_set, None
            self._shared.writers.clear()
            if change_set is not None:
                change_set.leave()

    def undo(self) -> None:
        """Take back this transaction's changes, newest first; raises `RollbackFailed` with the paths that it could not."""
        self.revoke()
        shared = self._shared
        with shared.gate:
            change_set, since = shared.change_set, self._since
            if self._outer is None:
                shared.change_set = None
                shared.writers.clear()
                if change_set is not None:
                    try:
                        change_set.undo(0)
                    finally:
                        shared.conflicts = _conflicts_of(change_set)
            elif self in shared.writers:
                # Also when there is no change set: its first operation failed, and nobody else could change anything then.
                del shared.writers[shared.writers.index(self) :]
                if change_set is not None and since is not None:
                    self._cut(change_set, since)
            self._since = None

    # -- what operations do with it

    def reading(self) -> Store:
        """The store, as long as the call lasts; a root's, outside of calls."""
        self._check()
        return self.tree.store

    def run(
        self, verb: str, operation: Callable[Concatenate[FileTransaction, P], T], *args: P.args, **options: P.kwargs
    ) -> T:
        """Let an operation change files as a part of this transaction; of a root's, in one of its own."""
        if not self.autocommit:
            return operation(self, *args, **options)
        with self.transaction(verb, *args) as own:
            return operation(own, *args, **options)

    @contextmanager
    def changing(self, path: str) -> Generator[ChangeSet]:
        """The change set that one operation changes, under the gate; what it did is undone when the block raises."""
        if self.before_first_change is not None:
            self.before_first_change()
        shared = self._shared
        with shared.gate:
            change_set = self._enter(path)
            position = change_set.position
            try:
                yield change_set
            except BaseException:
                # Not the change set that it began with, if that was undone to its beginning meanwhile.
                left = shared.change_set
                if left is not None and left.position > position:
                    if position == 0:
                        shared.change_set = None  # undoing everything ends a change set
                    left.undo(position)
                raise

    def observe(self, path: str, stamp: Stamp | None) -> None:
        """Remember which content was read or written, or with None that what was known no longer is."""
        if not self.autocommit:  # nobody asks what was seen outside of calls
            self._observed[path] = stamp

    def observed(self, path: str) -> Stamp | None:
        """The stamp of what this call has seen of a file, else the calls around it, else the session before."""
        transaction: FileTransaction | None = self
        lookup: Seen | None = None
        while transaction is not None:
            if path in transaction._observed:
                return transaction._observed[path]
            lookup = lookup or transaction._seen
            transaction = transaction._outer
        return None if lookup is None else lookup(path)

    def stamps(self) -> Mapping[str, Stamp | None]:
        """What was read and written here; None for what is no longer known."""
        return dict(self._observed)

    def snapshot(self, tag: str | None) -> FilesystemSnapshot:
        """What the call sees now, which ends with it; of a root's, what has been committed."""
        self._check()
        tree = self.tree
        mark = (tree.past or past_of(tree)).mark() if self.autocommit else self._position()
        return _snapshot(FilesystemSnapshot, (tree, next(tree.numbers), tree.clock(), tag, mark))

    def restore(self, snapshot: FilesystemSnapshot) -> tuple[str, ...]:
        """Come back to a snapshot of the call, or to one of the files from before it; gives what does not come back."""
        to, past = self._moment(snapshot), past_of(self.tree)
        if self.autocommit:
            with self.transaction("restore", snapshot) as own:
                return past.restore(own, to)
        lost: tuple[str, ...] = ()
        with self.changing(".") as change_set:
            start = change_set.position
            if isinstance(to, int) and self._since is not None and self._since <= to and self._is_last(to):
                # Nobody can want what has been done since: taking it back leaves the very files that there were.
                past.check(self, to)
                changed = change_set.between(to)
                self._cut(change_set, to)
            else:
                lost = past.restore(self, to)
                changed = change_set.between(start)
            for change in changed:
                # What was known before is judged by what is there now.
                self._observed.pop(change.path, None)
        return lost

    def diff(self, snapshot: FilesystemSnapshot, until: FilesystemSnapshot | None) -> tuple[FileChange, ...]:
        """What is not the same at two snapshots, or now."""
        since, to = self._moment(snapshot), None if until is None else self._moment(until)
        with self._shared.gate:
            return past_of(self.tree).between(self._shared.change_set, since, to)

    def _check(self) -> None:
        if self.autocommit:
            if self.tree in guarded.get():
                raise HandleRevoked("inside a call files are used through context.filesystem, which can be rolled back")
            return
        transaction: FileTransaction | None = self
        while transaction is not None:
            if transaction._revoked:
                raise HandleRevoked("the call that this filesystem was handed to has ended; nothing was changed")
            transaction = transaction._outer

    def _position(self) -> Position:
        past_of(self.tree)
        shared = self._shared
        with shared.gate:
            position = Position(shared.cuts, 0 if shared.change_set is None else shared.change_set.position)
            if shared.snapshots is None:
                shared.snapshots = WeakSet()
            shared.snapshots.add(position)
        return position

    def _moment(self, snapshot: FilesystemSnapshot) -> object:
        """The position of a snapshot of this call, or the mark of one from outside; raises `SnapshotMismatch`."""
        self._check()
        if snapshot.tree is not self.tree:
            raise SnapshotMismatch(snapshot.snapshot_id)
        mark = snapshot.mark
        if type(mark) is not Position:
            return mark
        if self.autocommit:
            reason = "was taken inside a call, and ended with it; take it of the filesystem itself"
            raise SnapshotMismatch(snapshot.snapshot_id, reason)
        if mark.cuts is not self._shared.cuts:
            raise SnapshotMismatch(snapshot.snapshot_id, "was taken inside another call, and ended with it")
        if mark.is_lost:
            raise SnapshotMismatch(snapshot.snapshot_id, "is of a state inside a call that was rolled back")
        return mark.at

    def _is_last(self, at: int) -> bool:
        """Whether there is no later snapshot that somebody could still want."""
        return all(later.at <= at or later.is_lost for later in self._shared.snapshots or ())

    def _cut(self, change_set: ChangeSet, to: int) -> None:
        """Take back all changes after a position."""
        self._shared.cuts.append(to)
        if to == 0:
            self._shared.change_set = None  # undoing everything ends a change set
        change_set.undo(to)

    def _enter(self, path: str) -> ChangeSet:
        """The change set, once it is sure that this transaction may change it; the gate is held."""
        self._check()
        if self.refusal is not None:
            raise ReadOnlyFilesystem(path, self.refusal)
        shared = self._shared
        if shared.change_set is None:
            assert not self.autocommit, "what changes files on a root begins a transaction"
            if shared.transaction_id is None:
                from uuid import uuid4

                shared.transaction_id = uuid4().hex
            shared.change_set = self.tree.store.begin(shared.transaction_id)
        if not shared.writers or shared.writers[-1] is not self:
            if shared.writers and not self._is_within(shared.writers[-1]):
                raise TransactionError("a nested call is still changing files; wait for it to end")
            shared.writers.append(self)
            self._since = shared.change_set.position
        return shared.change_set

    def _is_within(self, other: FileTransaction) -> bool:
        transaction = self._outer
        while transaction is not None and transaction is not other:
            transaction = transaction._outer
        return transaction is other


def _conflicts_of(change_set: ChangeSet) -> tuple[Conflict, ...]:
    """What a change set found that nobody expected; only where files are on a disk can somebody else save them."""
    return getattr(change_set, "conflicts", ())
