"""The changes of one transaction in a `MemoryStore`, and how they are taken back."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

from wink.errors import FileConflict, PathRefused
from wink.filesystem._change import FileChange
from wink.filesystem._facts import digest
from wink.filesystem._paths import check_link
from wink.filesystem._store import Node, Staging, failure
from wink.filesystem.memory._changes import first_steps, net_changes
from wink.filesystem.memory._entries import Directory, Entry, File, Link, Place, Segment, Step, check_place

if TYPE_CHECKING:
    from wink.filesystem.memory._store import MemoryStore

_step: Final = cast("Callable[[type[Step], tuple[object, ...]], Step]", cast("Any", tuple).__new__)


class MemoryStaging:
    """Chunks of new content."""

    __slots__ = ("_chunks",)

    def __init__(self) -> None:
        self._chunks: list[bytes] = []

    def write(self, data: bytes, /) -> int:
        """Append `data`."""
        self._chunks.append(bytes(data))
        return len(data)

    def discard(self) -> None:
        """Forget the content."""
        self._chunks.clear()

    def take(self) -> bytes:
        """All that was written, leaving nothing."""
        content = b"".join(self._chunks)
        self._chunks.clear()
        return content


class MemoryChangeSet:
    """Implements `ChangeSet`: changes take effect at once, and `_steps` knows the way back."""

    __slots__ = ("_back", "_moves", "_steps", "_store")

    def __init__(self, store: MemoryStore) -> None:
        self._store: Final = store
        self._steps: list[Step] = []
        self._moves: list[tuple[int, str, str]] = []
        # The mark that it came back to, and its position then, if it has done nothing else.
        self._back: tuple[Segment, int] | None = None

    @property
    def position(self) -> int:
        """How many entries were changed."""
        return len(self._steps)

    def stage(self) -> MemoryStaging:
        """Start new content."""
        return MemoryStaging()

    def put(
        self,
        path: str,
        content: bytes | Staging,
        *,
        exclusive: bool = False,
        existing: bool = False,
        mode: int | None = None,
        replacing: bytes | str | None = None,
    ) -> Node:
        """Make `path` a file with this content."""
        place = self._store.find(path, follow=not exclusive)
        directory = check_place(place, path)
        old = place.entry
        if existing and old is None:
            raise failure(errno.ENOENT, path)
        if replacing is not None and (type(old) is not File or not _has_content(old, replacing)):
            raise FileConflict(path)
        if old is not None and exclusive:
            raise failure(errno.EEXIST, path)
        if old is None and place.ends_in_link:
            raise PathRefused(path, "is a link that leads to nothing")
        if type(old) is Directory:
            raise failure(errno.EISDIR, path)
        if mode is None:
            mode = 0o644 if old is None else old.node.mode
        if not isinstance(content, bytes):
            assert isinstance(content, MemoryStaging), "content that another store has staged"
            content = content.take()
        file = File(content, mode, self._store.clock())
        self._set(directory, place.name, file, place.path)
        return file.node

    def delete(self, path: str, *, recursive: bool = False) -> None:
        """Remove an entry."""
        place = self._store.find(path, follow=False)
        directory = check_place(place, path)
        if place.entry is None:
            raise failure(errno.ENOENT, path)
        if type(place.entry) is Directory and place.entry.entries and not recursive:
            raise failure(errno.ENOTEMPTY, path)
        self._set(directory, place.name, None, place.path)

    def move(self, source: str, target: str, *, overwrite: bool = False) -> None:
        """Give an entry another name."""
        here, there = self._store.find(source, follow=False), self._store.find(target, follow=False)
        from_directory, to_directory = check_place(here, source), check_place(there, target)
        moved = here.entry
        if moved is None:
            raise failure(errno.ENOENT, source)
        self._check_target(here, there, source, target, overwrite)
        if here.path == there.path:
            return
        self._moves.append((len(self._steps), here.path, there.path))
        self._set(from_directory, here.name, None, here.path)
        self._set(to_directory, there.name, moved, there.path)

    def mkdir(self, path: str) -> None:
        """Make one directory."""
        place = self._store.find(path, follow=False)
        if place.directory is None:
            raise failure(errno.EEXIST, path)
        directory = check_place(place, path)
        if place.entry is not None:
            raise failure(errno.EEXIST, path)
        self._set(directory, place.name, Directory(self._store.clock()), place.path)

    def chmod(self, path: str, mode: int) -> None:
        """Set the permission bits."""
        place = self._store.find(path, follow=True)
        directory = check_place(place, path)
        entry = place.entry
        if entry is None:
            raise failure(errno.ENOENT, path)
        if type(entry) is Directory:
            self._steps.append(Step(entry, None, None, entry.mode, entry.modified_ns, place.path))
            entry.mode = mode
        elif type(entry) is File:
            self._set(directory, place.name, File(entry.content, mode, entry.node.modified_ns), place.path)

    def symlink(self, path: str, target: str) -> None:
        """Make a relative link."""
        place = self._store.find(path, follow=False)
        directory = check_place(place, path)
        if place.entry is not None:
            raise failure(errno.EEXIST, path)
        check_link(place.path, target, path)
        self._set(directory, place.name, Link(target, self._store.clock()), place.path)

    def changes(self, since: int = 0) -> tuple[FileChange, ...]:
        """The net change of each path."""
        return self.between(since)

    def between(self, since: object, until: object | None = None) -> tuple[FileChange, ...]:
        """The net change of each path between two positions or marks."""
        return net_changes(self._store.top, self._steps, self._moves, since, until)

    def prepare(self) -> None:
        """Nothing in memory can fail later."""

    def publish(self) -> None:
        """Let the changes stand."""
        back = self._back
        if back is not None and len(self._steps) == back[1] and self._store.is_last(back[0]):
            # All is as it was at the last mark: nothing has happened since.
            back[0].first, back[0].moves = {}, []
        else:
            self._store.remember(self._steps, [(source, target) for _, source, target in self._moves])
        self._steps, self._moves, self._back = [], [], None

    def leave(self) -> None:
        """Let the changes stand: there is no recovery in memory."""
        self.publish()

    def undo(self, to: int = 0) -> None:
        """Take back everything after a position, newest first."""
        self._back, steps = None, self._steps
        while len(steps) > to:
            _take_back(steps.pop())
        while self._moves and self._moves[-1][0] >= to:
            self._moves.pop()

    def rewind(self, to: object) -> None:
        """Bring everything back to a position of this change set, or to where a mark was taken, as changes of this change set."""
        steps, has_changed = self._steps, bool(self._steps)
        # Newest first, so that a directory ends with the time that it had before its first change.
        for directory, name, before, mode, modified_ns, path in reversed(first_steps(steps, to)):
            if name is None:
                steps.append(Step(directory, None, None, directory.mode, directory.modified_ns, path))
                directory.mode = mode
            else:
                entries = directory.entries
                now = entries.get(name)
                # The short way to make a `Step`: there may be very many.
                steps.append(_step(Step, (directory, name, now, directory.mode, directory.modified_ns, path)))
                if before is not None:
                    entries[name] = before
                elif now is not None:
                    del entries[name]
            directory.modified_ns = modified_ns
        if isinstance(to, Segment) and not has_changed:
            self._back = to, len(steps)

    def _set(self, directory: Directory, name: str, entry: Entry | None, path: str) -> None:
        entries = directory.entries
        self._steps.append(Step(directory, name, entries.get(name), directory.mode, directory.modified_ns, path))
        if entry is None:
            del entries[name]
        else:
            entries[name] = entry
        directory.modified_ns = self._store.clock()

    def _check_target(self, here: Place, there: Place, source: str, target: str, overwrite: bool) -> None:
        """Raise what renaming raises, except that a directory is never replaced."""
        if (there.path + "/").startswith(here.path + "/") and here.path != there.path:
            raise failure(errno.EINVAL, source)
        if there.entry is None or (overwrite and here.path == there.path):
            return
        if not overwrite:
            raise failure(errno.EEXIST, target)
        if type(there.entry) is Directory:
            raise failure(errno.EEXIST if type(here.entry) is Directory else errno.EISDIR, target)
        if type(here.entry) is Directory:
            raise failure(errno.ENOTDIR, target)


def _has_content(file: File, expected: bytes | str) -> bool:
    return (digest(file.content) if isinstance(expected, str) else file.content) == expected


def _take_back(step: Step) -> None:
    directory = step.directory
    directory.modified_ns = step.modified_ns
    if step.name is None:
        directory.mode = step.mode
    elif step.before is None:
        directory.entries.pop(step.name, None)
    else:
        directory.entries[step.name] = step.before
