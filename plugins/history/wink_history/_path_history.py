"""Give what a path held before and after each call that changed it, as far as that is kept somewhere."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Self

from wink.filesystem import FileChange, FileVersion, Versions
from wink.filesystem.diffs import file_diffs
from wink_history._archive import Archive
from wink_history._arguments import written_by

if TYPE_CHECKING:
    from collections.abc import Callable

    from wink.record import CallView, Past
    from wink.workspace import Workspace

NOTHING: Final = b""
"""What is at a path at which there is no file."""
_BACK: Final = ("undo-", "redo-", "restore-")
"""How transactions begin that bring back what there was."""


class PathHistory:
    """The changes of one path by calls, numbered from 0; the content after the last of them is what is there now.

    `found(n)` is what the change `n` found, and with the number of changes what is there now; `left(n)` is what it left. Both
    are `NOTHING` where no file was, and None for a content that is not kept.
    """

    def __init__(
        self, workspace: Workspace, path: str, archive: Archive, call: Callable[[int], CallView | None]
    ) -> None:
        self.path = path
        self._record, self._archive, self._call = workspace.record, archive, call
        made = self._record.queries.changes_around((path,), 0)
        self._made = made
        self._versions = Versions(workspace.filesystem.places, lambda: made)
        self._changes = [(tx, change) for tx, change in made if change.path == path]
        self._is_elsewhere = self._record.imported is not None
        self._read: dict[int, bytes | None] = {}

    def __len__(self) -> int:
        return len(self._changes)

    @cached_property
    def present(self) -> FileVersion | None:
        """What is at the path now; raises `OSError` and `PathRefused`."""
        return None if self._is_elsewhere else self._versions.present(self.path)

    def number(self, at: int) -> int:
        """The number of the call that made a change; 0 where the record has none."""
        past = self._pasts.get(self._changes[at][0])
        return (past.call if past is not None else None) or 0

    def last_until(self, transaction: int) -> int:
        """The last change up to a transaction, by its position; -1 for none."""
        return bisect_right(self._changes, transaction, key=lambda one: one[0]) - 1

    def of(self, transaction: int) -> int | None:
        """The change that a transaction made."""
        at = bisect_left(self._changes, transaction, key=lambda one: one[0])
        return at if at < len(self._changes) and self._changes[at][0] == transaction else None

    def version(self, at: int, *, is_left: bool) -> FileVersion | None:
        """What a change left at the path, or found there."""
        if at == len(self._changes):
            return self.present
        change = self._changes[at][1]
        return change.after if is_left else change.before

    def is_of_size(self, at: int, size: int) -> bool:
        """Whether what a change found was a file of so many bytes."""
        version = self.version(at, is_left=False)
        return version is not None and (version.kind, version.size) == ("file", size)

    def found(self, at: int) -> bytes | None:
        """See the class."""
        if at not in self._read:
            version = self.version(at, is_left=False)
            self._read = {at: self._content(version, at), **dict(list(self._read.items())[-1:])}
        return self._read[at]

    def left(self, at: int, later: bytes | None = None) -> bytes | None:
        """See the class; `later` is a later content, which may be the same."""
        tx, change = self._changes[at]
        after = change.after
        if after is None or after.kind != "file":
            return NOTHING
        following = None if self._is_elsewhere and at + 1 == len(self) else self.version(at + 1, is_left=False)
        if following is not None and following.kind == "file" and following.size == after.size:
            content = self.found(at + 1)
            if content is not None and _is_same(after, following, content):
                return content
        digest = after.kept.digest if after.kept is not None else None
        if later is not None and len(later) == after.size and digest == sha256(later).hexdigest():
            return later
        return self._elsewhere(at, tx, after, digest)

    def before(self, at: int) -> tuple[str, int]:
        """Where what a change found came from: a path, and the transaction that found it there.

        That is another one where the change was an undo, which has brought back what there was, and another path where the
        file was moved.
        """
        tx, change = self._changes[at]
        back = self._reverted(at)
        if back is not None:
            return self.path, self._changes[back][0]
        if change.after is not None and change.after.kind == "file":
            return self._origin(tx, change, change.after), tx
        return self.path, tx

    # -- parts

    @cached_property
    def _pasts(self) -> Mapping[int, Past]:
        return {past.position: past for past in self._record.past_of(among={tx for tx, _ in self._changes})}

    def _content(self, version: FileVersion | None, at: int) -> bytes | None:
        if version is None or version.kind != "file":
            return NOTHING
        position = self._changes[min(at, len(self) - 1)][0] if self else 0
        return self._versions.loading(self.path, version, position).content()

    def _elsewhere(self, at: int, tx: int, after: FileVersion, digest: str | None) -> bytes | None:
        """What a change left and nobody has found there: it may be in another place, in the history, or in the call's arguments."""

        def is_it(content: bytes | None) -> bool:
            if content is None or len(content) != after.size:
                return False
            return digest is None or sha256(content).hexdigest() == digest

        content = self._versions.loading(self.path, after, tx).content()
        if is_it(content):
            return content
        back = self._reverted(at)
        if back is not None and is_it(content := self.found(back)):
            return content
        if digest is None:
            return None
        commit = self._record.folds.commit_of(tx)
        content = None if commit is None else self._archive.left(commit, self.path, digest)
        if content is not None:
            return content
        call, found = self._call(self.number(at)), self.found(at)
        return None if call is None else written_by(call.values, found or b"", after.size, is_it)

    def _reverted(self, at: int) -> int | None:
        """The change before which everything was as this one made it again."""
        past = self._pasts.get(self._changes[at][0])
        if past is None or not past.transaction_id.startswith(_BACK):
            return None
        among = set(past.reverts)
        first = next((one for one, (tx, _) in enumerate(self._changes[:at]) if tx in among), None)
        if first is not None or past.reverts:
            return first
        # A restore of some paths does not say what it took back: it is the last time that the file was like that.
        after = self._changes[at][1].after
        digest = after.kept.digest if after is not None and after.kept is not None else None
        if after is None or digest is None:
            return None
        for one in range(at - 1, -1, -1):
            if self.is_of_size(one, after.size) and self._digest_found(one) == digest:
                return one
        return None

    def _digest_found(self, at: int) -> str | None:
        """The SHA-256 of what a change found, as what came before has it where that is not kept."""
        content = self.found(at)
        if content is not None:
            return sha256(content).hexdigest()
        left = self._changes[at - 1][1].after if at else None
        return left.kept.digest if left is not None and left.kept is not None else None

    def _origin(self, tx: int, change: FileChange, after: FileVersion) -> str:
        """From which path a transaction has moved a file here, this one for none.

        It has said so, or the very file was there before, or `wink diff` shows it as moved.
        """
        beside = [one for at, one in self._made if at == tx and one.before is not None and one.path != self.path]
        if change.moved_from is not None:
            return change.moved_from if any(one.path == change.moved_from for one in beside) else self.path
        mark = _mark(after)
        there = next((one.path for one in beside if mark is not None and mark == _mark(one.before)), None)
        if there is not None or change.before is not None or not any(_is_of(one, after.size) for one in beside):
            return there or self.path
        shown = file_diffs(self._versions.with_content(tx, one) for at, one in self._made if at == tx)
        return next((one.old_path for one in shown if one.new_path == self.path), self.path)


class PathHistories:
    """Those of one workspace, each read once; a `with` block closes what was opened for it."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._archive = Archive(workspace.state, workspace.record)
        self._known: dict[str, PathHistory] = {}
        self._calls: dict[int, CallView | None] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._archive.close()

    def of(self, path: str) -> PathHistory:
        """The history of a path."""
        if path not in self._known:
            self._known[path] = PathHistory(self._workspace, path, self._archive, self.call)
        return self._known[path]

    def call(self, number: int) -> CallView | None:
        """A call by its number, if the record has it."""
        if number not in self._calls:
            self._calls[number] = self._workspace.record.call(number) if number else None
        return self._calls[number]

    def before(self, one: PathHistory, at: int) -> tuple[PathHistory, int]:
        """The history and the number of the change that found what a change found, as `PathHistory.before` says."""
        path, transaction = one.before(at)
        if path == one.path:
            there = one.of(transaction)
            return one, at if there is None else there
        other = self.of(path)
        there = other.of(transaction)
        return (one, at) if there is None else (other, there)


def _is_same(left: FileVersion, found: FileVersion, content: bytes) -> bool:
    """Whether a content that was found is what had been left, of the same size."""
    mine, theirs = left.kept, found.kept
    if mine is not None and mine.digest is not None:
        known = theirs.digest if theirs is not None else None
        return mine.digest == (known or sha256(content).hexdigest())
    if mine is None or theirs is None or _mark(left) != _mark(found):
        return False
    return not (mine.left_ns and theirs.changed_ns) or mine.left_ns == theirs.changed_ns


def _mark(version: FileVersion | None) -> tuple[int, int, int] | None:
    """By what a file is the very one, to which nobody has written."""
    if version is None or version.kind != "file" or version.kept is None or not version.kept.inode:
        return None
    return version.kept.inode, version.kept.modified_ns, version.size


def _is_of(gone: FileChange, size: int) -> bool:
    return gone.after is None and gone.before is not None and gone.before.size == size
