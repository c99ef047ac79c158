"""Make files what a plan wants, as one transaction's part that can be taken back itself."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from io import BufferedReader, FileIO
from typing import TYPE_CHECKING, cast

from wink.errors import UndoConflict
from wink.filesystem._change import COPIED_BYTES, DIFFABLE_BYTES, FileChange, FileVersion, with_load
from wink.filesystem._git_data import restoring
from wink.filesystem._store import Staging
from wink.filesystem._transaction import FileTransaction
from wink.filesystem.disk import Attributes, attributes_of
from wink.filesystem.undo._plan import CHANGED, IN_USE, Target, has_same_content
from wink.filesystem.undo._versions import Archived, Versions, has_mark_of

if TYPE_CHECKING:
    from wink.filesystem.disk import DiskChangeSet

_CHUNK = 1 << 20
_NOT_EMPTY = frozenset((errno.ENOTEMPTY, errno.EEXIST))


class PuttingBack:
    """Carries out a plan; whatever raises leaves everything to the part's `undo`. Directories that are in use stay."""

    def __init__(self, transaction: FileTransaction, versions: Versions, targets: Mapping[str, Target]) -> None:
        self._transaction, self._versions, self._targets = transaction, versions, targets
        self._digests: dict[str, str] = {}
        self._attributes: dict[str, Attributes] = {}
        self._staged: dict[str, Staging] = {}
        self._stored: dict[str, str] = {}
        self._writes: set[str] = set()
        self._done: set[str] = set()
        self.kept: list[str] = []

    def run(self) -> tuple[FileChange, ...]:
        """Do all steps; gives what they changed, of what was looked at before and of nothing else."""
        token = restoring.set(True)
        try:
            return self._run()
        finally:
            restoring.reset(token)
            for staging in self._staged.values():
                staging.discard()

    def _run(self) -> tuple[FileChange, ...]:
        with self._transaction.changing(".") as change_set:
            start = change_set.position
            above = {path.rpartition("/")[0] for path in self._targets}
            closed = cast("DiskChangeSet", change_set).open_directories(above)
        for path, target in self._targets.items():
            wanted = target.wanted
            if wanted is not None and self._needs_content(target):
                self._writes.add(path)
                stored = self._stored_name(target, wanted)
                if wanted.size > COPIED_BYTES and stored is not None and stored not in self._stored.values():
                    self._stored[path] = stored
                elif wanted.size > COPIED_BYTES or stored is None:
                    # It is at some other path, where it may be gone when its turn comes.
                    self._staged[path] = self._stage(target, wanted)
        targets = [self._targets[path] for path in sorted(self._targets)]
        moving = {target.origin for target in targets}
        for target in targets:
            if _kind(target.now) not in (None, "directory") and _must_leave(target) and target.path not in moving:
                self._do(target.path, "delete")
        made: set[str] = set()
        for target in targets:
            if _kind(target.wanted) == "directory" and _kind(target.now) != "directory":
                self._do(target.path, "mkdir")
                made.add(target.path)
        for target in targets:
            if target.origin is not None:
                self._do(target.origin, "move", target.path)
        for target in reversed(targets):
            if _kind(target.now) == "directory" and _must_leave(target):
                self._remove_directory(target)
        for target in targets:
            self._make(target)
        for path in sorted({*self._targets, *closed}, reverse=True):
            # Last, and the deepest first: a mode may close a directory.
            if path in self._targets:
                self._give_mode(self._targets[path], is_made=path in made)
            else:
                self._do(path, "give_directory", closed[path], None)
        return self._checked(self._transaction.changes(start))

    def _give_mode(self, target: Target, *, is_made: bool) -> None:
        wanted = target.wanted
        if wanted is None or wanted.kind == "link" or target.path in self._done:
            return
        now = self._versions.present(target.path)
        if now is None:  # its directory is not there any more, or another link
            raise UndoConflict([(target.path, CHANGED)])
        if now.kind == "directory":
            like = self._versions.attributes(wanted) if is_made else None
            if like is not None or now.mode != wanted.mode:
                self._do(target.path, "give_directory", wanted.mode, like)
        elif now.mode != wanted.mode:
            self._do(target.path, "chmod", wanted.mode)

    def _make(self, target: Target) -> None:
        wanted = target.wanted
        if wanted is None or target.origin is not None:
            return
        if wanted.kind == "link":
            self._do(target.path, "symlink", wanted.target or "")
        elif target.path in self._writes:
            self._write(target, wanted)

    def _stored_name(self, target: Target, wanted: FileVersion) -> str | None:
        """The name in staging of a file; what is too large to be copied may have been moved from there since."""
        if wanted.size > COPIED_BYTES:
            return self._versions.stored(target.path, wanted, target.position)
        return None if wanted.kept is None else wanted.kept.staged

    def _write(self, target: Target, wanted: FileVersion) -> None:
        stored = self._stored.get(target.path)
        if stored is not None:
            with self._transaction.changing(target.path) as change_set:
                if cast("DiskChangeSet", change_set).put_stored(target.path, stored):
                    return
        staging = self._staged.pop(target.path, None) or self._stage(target, wanted)
        try:
            with self._transaction.changing(target.path) as change_set:
                exclusive, like = _kind(target.now) != "file", self._attributes.get(target.path)
                node = cast("DiskChangeSet", change_set).put(
                    target.path, staging, exclusive=exclusive, mode=wanted.mode, like=like
                )
                if node.mode == wanted.mode:
                    self._done.add(target.path)
        except BaseException:
            staging.discard()
            raise

    def _stage(self, target: Target, wanted: FileVersion) -> Staging:
        stream = self._versions.open(target.path, wanted, target.position)
        if stream is None:
            raise UndoConflict([(target.path, "is not kept any more as it was before")])
        from hashlib import sha256  # 4 ms to import, for OpenSSL

        hasher = sha256()
        if isinstance(stream, FileIO | BufferedReader):
            self._attributes[target.path] = attributes_of(stream.fileno())
        elif isinstance(stream, Archived) and stream.attributes is not None:
            self._attributes[target.path] = stream.attributes
        with stream, self._transaction.changing(target.path) as change_set:
            staging = change_set.stage()
            try:
                while chunk := stream.read(_CHUNK):
                    hasher.update(chunk)
                    staging.write(chunk)
            except BaseException:
                staging.discard()
                raise
        self._digests[target.path] = hasher.hexdigest()
        return staging

    def _needs_content(self, target: Target) -> bool:
        if target.origin is not None or _kind(target.wanted) != "file":
            return False
        return not has_same_content(self._versions, target)

    def _remove_directory(self, target: Target) -> None:
        try:
            self._do(target.path, "delete")
        except OSError as error:
            if error.errno not in _NOT_EMPTY:
                raise
            if target.wanted is not None:
                raise UndoConflict([(target.path, IN_USE)]) from None
            self.kept.append(target.path)

    def _do(self, path: str, step: str, *more: object) -> None:
        with self._transaction.changing(path) as change_set:
            getattr(change_set, step)(path, *more)

    def _checked(self, changes: tuple[FileChange, ...]) -> tuple[FileChange, ...]:
        """The changes, if none of them replaced anything that was saved after the plan was made."""
        for change in changes:
            target, before, after = self._targets.get(change.path), change.before, change.after
            now = None if target is None else target.now
            if before is not None and before.kind in ("file", "link") and (now is None or not has_mark_of(before, now)):
                raise UndoConflict([(change.path, CHANGED)])
            if after is not None and after.kept is not None and change.path in self._digests:
                after.kept.digest = self._digests[change.path]
        return changes


def preview(versions: Versions, targets: Mapping[str, Target]) -> tuple[FileChange, ...]:
    """What carrying out a plan changes, with content to show, which is read now, before the files change."""
    return tuple(
        FileChange(
            path,
            target.now and _loaded(versions.loading(path, target.now, target.position)),
            target.wanted and _loaded(versions.loading(path, target.wanted, target.position)),
        )
        for path, target in sorted(targets.items())
    )


def _loaded(version: FileVersion) -> FileVersion:
    content = version.content(DIFFABLE_BYTES)
    # Larger ones are looked for when they are shown, so that an undo need not hold them: in a dry run nothing moves meanwhile.
    return version if content is None else with_load(version, lambda: content)


def _must_leave(target: Target) -> bool:
    now, wanted = cast("FileVersion", target.now), target.wanted
    return wanted is None or wanted.kind != now.kind or now.kind == "link"


def _kind(version: FileVersion | None) -> str | None:
    return None if version is None else version.kind
