"""One call's part in the changes to a tree: the handle that its tools hold, and the way back.

Rules of this module:

* Beginning touches nothing; the frame is made by the first change.
* The check for revocation and the change itself run under one lock, the gate. So once `revoke` has returned, nothing that
  the call left running can change a file.
* Savepoints share the frame of the outermost part, whose steps are a stack; so only the innermost part that has changed
  something may change more, and each takes back what lies above its own beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import Token
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar
from weakref import WeakSet

from wink.errors import HandleRevoked, PathRefused, ReadOnlyFilesystem, SnapshotMismatch, TransactionError
from wink.filesystem._access import Seen, Tree, guarded
from wink.filesystem._change import FileChange, FileVersion, Kept
from wink.filesystem._past import mark_of, past_of
from wink.filesystem._snapshot import FilesystemSnapshot, Position
from wink.filesystem._stack import Changing, Stack, conflicts_of
from wink.filesystem._stamps import Stamp
from wink.filesystem._store import Frame, Store

if TYPE_CHECKING:
    from wink.filesystem._filesystem import Filesystem
    from wink.filesystem._journal_report import Conflict


P = ParamSpec("P")
T = TypeVar("T")


class FilePart:
    """The files' part of one transaction, or of a savepoint in it.

    After `revoke` exactly one of `prepare` with `publish`, and `undo`.
    """

    __slots__ = (
        "_handle",
        "_notes",
        "_outer",
        "_revoked",
        "_seen",
        "_since",
        "_stack",
        "_tree",
        "_writable",
        "before_first_change",
    )

    def __init__(
        self,
        tree: Tree,
        *,
        writable: bool = True,
        seen: Seen | None = None,
        transaction_id: str | None = None,
        outer: FilePart | None = None,
        recorded: bool | None = None,
    ) -> None:
        self._tree, self._writable, self._seen, self._outer = tree, writable, seen, outer
        recorded = tree.recorder is not None if recorded is None else recorded
        self._stack = Stack(transaction_id, is_recorded=recorded) if outer is None else outer._stack
        self._since: int | None = None
        self._revoked = False
        self.before_first_change: Callable[[], None] | None = None if outer is None else outer.before_first_change
        """What has to happen before anything is changed, for calls that have not done it when they begin."""
        self._notes: dict[str, Stamp | None] = {}
        self._handle: Filesystem | None = None

    # -- what the transaction does with it

    @property
    def handle(self) -> Filesystem:
        """The filesystem that the call works with; every change through it belongs to this part."""
        if self._handle is None:
            from wink.filesystem._filesystem import Filesystem

            self._handle = Filesystem(self)
        return self._handle

    def savepoint(self, writable: bool = True, seen: Seen | None = None) -> FilePart:
        """A part within this one, which can be undone alone and otherwise becomes a part of it."""
        return FilePart(self._tree, writable=writable and self._writable, seen=seen, outer=self)

    def guard(self) -> Token[tuple[Tree, ...]]:
        """Refuse direct use of the root in this context, and in contexts copied from it, until `unguard`."""
        return guarded.set((*guarded.get(), self._tree))

    def unguard(self, token: Token[tuple[Tree, ...]]) -> None:
        """Take back a `guard`, in the same context."""
        guarded.reset(token)

    def revoke(self) -> None:
        """From here on the handle changes and reads nothing; waits for a change that is under way."""
        self._revoked = True
        with self._stack.gate:
            # Whoever holds the handle keeps it; part and handle would hold each other until the garbage collector comes.
            self._handle = None

    @property
    def transaction_id(self) -> str | None:
        """The transaction's name in the journal; None when it was given none and has changed nothing."""
        return self._stack.transaction_id

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """What somebody else had saved where this transaction's changes were taken back; to be asked when it has ended."""
        return self._stack.conflicts

    @property
    def dirty(self) -> bool:
        """Whether anything was changed and not yet taken back."""
        frame = self._stack.frame
        return frame is not None and self._since is not None and frame.position > self._since

    def changes(self, since: int | None = None) -> tuple[FileChange, ...]:
        """The net change of each path, in the order of first change; to be asked before `publish` or `undo`.

        `since` is a position of the frame, by default where this part began.
        """
        frame, since = self._stack.frame, self._since if since is None else since
        if frame is None or since is None:
            return ()
        changes = frame.changes(since)
        for change in changes:
            after = change.after
            if after is not None and after.kept is not None and after.kind == "file":
                after.kept.digest = self._digest(change.path, after)
                if change.path.endswith("/index"):
                    self._note_meaning(change.path, after, after.kept)
        return changes

    def _note_meaning(self, path: str, version: FileVersion, kept: Kept) -> None:
        """Keep what a git index says: git writes it anew all the time, and then nobody has what the call left."""
        from wink.filesystem._git_index import MOST, git_index_meaning, is_git_index

        if is_git_index(path):
            with suppress(OSError, PathRefused):
                content, now = self._tree.store.read(path, MOST)
                if content is not None and (now.size, now.modified_ns) == (version.size, kept.modified_ns):
                    kept.meaning = git_index_meaning(content)

    def _digest(self, path: str, version: FileVersion) -> str | None:
        """The digest of what this part left at a path, as far as it is known or cheap to know."""
        noted = self._notes.get(path)
        if noted is not None and noted.size == version.size:
            return noted.digest
        content = version.content()
        if content is None:
            return None
        from wink.filesystem._facts import digest

        return digest(content)

    def prepare(self) -> None:
        """Do all that can fail before the commit point."""
        self.revoke()
        stack, commits = self._stack, self._tree.commits
        if self._outer is None and stack.frame is not None:
            if commits is not None and commits.is_wanted and not stack.is_recorded:
                stack.changes = self.changes()
            stack.frame.prepare()

    def publish(self) -> None:
        """The commit point has passed. A savepoint's changes and notes become those of the part around it."""
        self.revoke()
        stack, outer = self._stack, self._outer
        if outer is None and stack.frame is None:
            return  # nothing was changed, and what is revoked changes nothing any more
        with stack.gate:
            if outer is None:
                if stack.frame is not None:
                    # Operations that found nothing to change are no commits.
                    commits = self._tree.commits if stack.frame.position else None
                    if commits is not None:
                        commits.begin()
                    stack.frame.publish()
                    stack.conflicts = conflicts_of(stack.frame)
                    if commits is not None and stack.transaction_id is not None:
                        commits.end(stack.transaction_id, stack.changes, is_recorded=stack.is_recorded)
                stack.frame = None
                stack.writers.clear()
                return
            outer._notes.update(self._notes)
            if self in stack.writers:
                stack.writers.remove(self)
                if outer not in stack.writers:
                    outer._since = self._since
                    stack.writers.append(outer)

    def leave(self) -> None:
        """Leave the changes as they are, when it cannot be told whether they were committed; recovery will judge."""
        self.revoke()
        with self._stack.gate:
            frame, self._stack.frame = self._stack.frame, None
            self._stack.writers.clear()
            if frame is not None:
                frame.leave()

    def undo(self) -> None:
        """Take back this part's changes, newest first; raises `RollbackFailed` with the paths that it could not."""
        self.revoke()
        stack = self._stack
        with stack.gate:
            frame, since = stack.frame, self._since
            if self._outer is None:
                stack.frame = None
                stack.writers.clear()
                if frame is not None:
                    try:
                        frame.undo(0)
                    finally:
                        stack.conflicts = conflicts_of(frame)
            elif self in stack.writers:
                # Also when there is no frame: its first operation failed, and nobody else could change anything then.
                del stack.writers[stack.writers.index(self) :]
                if frame is not None and since is not None:
                    self._cut(frame, since)
            self._since = None

    # -- what the handle does with it

    @property
    def tree(self) -> Tree:
        """What is shared with every other access to the same files."""
        return self._tree

    @property
    def refusal(self) -> str | None:
        """Why nothing can be changed, if so."""
        if self._tree.read_only:
            return "this filesystem was opened for reading only"
        return None if self._writable else "this call may only read, as its tool declares"

    def reading(self) -> Store:
        """The store, as long as the call lasts."""
        self._check()
        return self._tree.store

    def run(self, operation: Callable[Concatenate[FilePart, P], T], *args: P.args, **options: P.kwargs) -> T:
        """Let an operation change files as a part of this call."""
        return operation(self, *args, **options)

    def changing(self, path: str) -> Changing:
        """The frame that one operation changes, under the gate; what it did is undone when the block raises."""
        if self.before_first_change is not None:
            self.before_first_change()
        return Changing(self._stack, self._enter, path)

    def note(self, path: str, stamp: Stamp | None) -> None:
        """Remember what was read or written."""
        self._notes[path] = stamp

    def seen(self, path: str) -> Stamp | None:
        """What this call noted, else the calls around it, else what the session knew before."""
        part: FilePart | None = self
        lookup: Seen | None = None
        while part is not None:
            if path in part._notes:
                return part._notes[path]
            lookup = lookup or part._seen
            part = part._outer
        return None if lookup is None else lookup(path)

    def noted(self) -> Mapping[str, Stamp | None]:
        """What was read and written; None for what is no longer known."""
        return dict(self._notes)

    def snapshot(self, tag: str | None) -> FilesystemSnapshot:
        """What the call sees now; it ends with the call."""
        self._check()
        stack, tree = self._stack, self._tree
        past_of(tree)
        with stack.gate:
            frame = stack.frame
            position = Position(stack, 0 if frame is None else frame.position, len(stack.cuts))
            if stack.snapshots is None:
                stack.snapshots = WeakSet()
            stack.snapshots.add(position)
        return FilesystemSnapshot(tree, next(tree.numbers), tree.clock(), tag, position)

    def restore(self, snapshot: FilesystemSnapshot) -> None:
        """Come back to a snapshot of the call, or to one of the files from before it."""
        to, past = self._moment(snapshot), past_of(self._tree)
        with self.changing(".") as frame:
            start = frame.position
            if isinstance(to, int) and self._since is not None and self._since <= to and self._stack.is_last(to):
                # Nobody can want what has been done since: taking it back leaves the very files that there were.
                past.check(self, to)
                changed = frame.between(to)
                self._cut(frame, to)
            else:
                past.restore(self, to)
                changed = frame.between(start)
            for change in changed:
                # What was known before is judged by what is there now.
                self._notes.pop(change.path, None)

    def diff(self, snapshot: FilesystemSnapshot, until: FilesystemSnapshot | None) -> tuple[FileChange, ...]:
        """What is not the same at two snapshots of the call, or of the files from before it."""
        since, to = self._moment(snapshot), None if until is None else self._moment(until)
        with self._stack.gate:
            return past_of(self._tree).between(self._stack.frame, since, to)

    def begin(self, *, writable: bool, seen: Seen | None, transaction_id: str | None) -> FilePart:
        """A savepoint; it goes by the transaction's own id."""
        del transaction_id
        return self.savepoint(writable=writable, seen=seen)

    def _check(self) -> None:
        part: FilePart | None = self
        while part is not None:
            if part._revoked:
                raise HandleRevoked("the call that this filesystem was handed to has ended; nothing was changed")
            part = part._outer

    def _moment(self, snapshot: FilesystemSnapshot) -> object:
        """The position of a snapshot of this call, or the mark of one from before it; raises `SnapshotMismatch`."""
        self._check()
        mark = mark_of(self._tree, snapshot)
        if type(mark) is not Position:
            return mark
        if mark.stack is not self._stack:
            raise SnapshotMismatch(snapshot.snapshot_id, "was taken inside another call, and ended with it")
        if self._stack.is_lost(mark):
            raise SnapshotMismatch(snapshot.snapshot_id, "is of a state inside a call that was rolled back")
        return mark.at

    def _cut(self, frame: Frame, to: int) -> None:
        """Take back all changes after a position."""
        self._stack.cuts.append(to)
        if to == 0:
            self._stack.frame = None  # undoing everything ends a frame
        frame.undo(to)

    def _enter(self, path: str) -> Frame:
        """The frame, once it is sure that this part may change it; the gate is held."""
        self._check()
        refusal = self.refusal
        if refusal is not None:
            raise ReadOnlyFilesystem(path, refusal)
        stack = self._stack
        if stack.frame is None:
            if stack.transaction_id is None:
                from uuid import uuid4

                stack.transaction_id = uuid4().hex
            stack.frame = self._tree.store.begin(stack.transaction_id)
        if not stack.writers or stack.writers[-1] is not self:
            if stack.writers and not self._is_within(stack.writers[-1]):
                raise TransactionError("a nested call is still changing files; wait for it to end")
            stack.writers.append(self)
            self._since = stack.frame.position
        return stack.frame

    def _is_within(self, other: FilePart) -> bool:
        part = self._outer
        while part is not None and part is not other:
            part = part._outer
        return part is other
