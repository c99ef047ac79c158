"""The filesystem that a program makes to let tools change what it must not change.

All that an overlay knows is in its upper layer, whose own past is the overlay's: so it comes back to what it was.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, Self, cast

from wink.filesystem import MAX_FILE_BYTES, Filesystem, HostFilesystem, InMemoryFilesystem, StoreFilesystem
from wink_overlay._lower import Lower, TreeLower
from wink_overlay._marks import GONE, TREE
from wink_overlay._store import OverlayPast, OverlayStore

if TYPE_CHECKING:
    from wink.filesystem import FileChange, FilesystemSnapshot, Recovered


class OverlayFilesystem(StoreFilesystem):
    """Files over a lower layer that stays as it is, until `commit` is told to write to it.

    `lower` is any fsspec filesystem or one of wink's own, and `path` a directory in it; nothing is read from it before it
    is needed. What changes is kept in memory, or in the directory `upper`, where it survives this process, with the journal
    and the recovery of `HostFilesystem`; only one overlay over one lower layer should use a directory.

    >>> lower = InMemoryFilesystem()
    >>> lower.write("notes/a.txt", "one\\n").created
    True
    >>> files = OverlayFilesystem(lower)
    >>> files.append("notes/a.txt", "two\\n").size
    8
    >>> lower.read("notes/a.txt").content, [change.path for change in files.diff()]
    ('one\\n', ['notes/a.txt'])
    >>> [change.path for change in files.commit()], lower.read("notes/a.txt").content
    (['notes/a.txt'], 'one\\ntwo\\n')
    """

    __slots__ = ("_lower", "_upper")

    store: OverlayStore

    def __init__(
        self,
        lower: object,
        path: str = "",
        *,
        upper: str | os.PathLike[str] | None = None,
        read_only: bool = False,
        portable_names: bool = True,
        max_file_bytes: int = MAX_FILE_BYTES,
    ) -> None:
        self._upper: Final = _upper_of(upper)
        try:
            self._lower: Final = _lower_of(lower, path, self._upper)
        except BaseException:
            _close(self._upper)
            raise
        store = OverlayStore(self._lower, self._upper)
        super().__init__(
            store,
            read_only=read_only,
            portable_names=portable_names,
            max_file_bytes=max_file_bytes,
            write_lock=self._upper.write_lock,
            past=OverlayPast(store),
        )

    def diff(
        self, snapshot: FilesystemSnapshot | None = None, until: FilesystemSnapshot | None = None
    ) -> tuple[FileChange, ...]:
        """What differs from the lower layer, sorted by path; or between a snapshot and another, or now."""
        if snapshot is not None:
            return cast("tuple[FileChange, ...]", cast("Any", super()).diff(snapshot, until))
        from wink_overlay._changes import changes_below

        return changes_below(cast("OverlayStore", self.begin(writable=False).reading()))

    def commit(self, *paths: str) -> tuple[FileChange, ...]:
        """Write changes to the lower layer: those at `paths` and beneath them, or all; gives what was written.

        Each file of the lower layer must still be what it was when it was first changed here, or else nothing is written
        and `CommitFailed` names those that are not. Into one of wink's own filesystems all is written in one transaction;
        elsewhere one after the other, and a failure puts back what was written before it. Raises `ReadOnlyFilesystem`
        where the lower layer cannot be written. What was written is no longer in the upper layer.
        """
        from wink_overlay._commit import commit

        named = tuple(self.normalize(path) for path in paths)
        with self.transaction("commit", *(named or (".",))) as part:
            done = commit(part, self.store, named)
        if isinstance(done, Exception):
            raise done
        return done

    def discard(self, *paths: str) -> tuple[FileChange, ...]:
        """Drop changes: those at `paths` and beneath them, or all; the lower layer is seen there again.

        Gives what was dropped. Nothing within a directory that was deleted can be had back without the directory.
        """
        from wink_overlay._commit import discard

        named = tuple(self.normalize(path) for path in paths)
        with self.transaction("discard", *(named or (".",))) as part:
            return discard(part, self.store, named)

    def refresh(self) -> None:
        """Have the lower layer forget listings that it keeps, so that what others changed there is seen."""
        self.begin(writable=False)  # refused within a call
        self._lower.refresh()

    @property
    def recovered(self) -> tuple[Recovered, ...]:
        """What was done about transactions of processes that had died, when the turn was last taken."""
        return self._upper.recovered if isinstance(self._upper, HostFilesystem) else ()

    def close(self) -> None:
        """Let go of the directory of the upper layer; a lower layer is its owner's. Closing twice does nothing."""
        self._lower.close()
        _close(self._upper)
        self.store.upper.store = self._upper.begin(writable=False).reading()  # which says that it has been closed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _upper_of(upper: str | os.PathLike[str] | None) -> Filesystem:
    if upper is None:
        return InMemoryFilesystem(portable_names=False)
    where = os.fspath(upper)
    os.makedirs(where, exist_ok=True)
    strange = sorted(set(os.listdir(where)) - {TREE, GONE, ".wink"})
    if strange:
        raise ValueError(
            f"{where!r} has {strange[0]!r} in it and so is not the upper layer of an overlay; name an empty directory"
        )
    return HostFilesystem(where, portable_names=False)


def _lower_of(lower: object, path: str, upper: Filesystem) -> Lower:
    if isinstance(lower, Filesystem):
        found: Lower = TreeLower(lower, path)
    else:
        found = _foreign(lower, path)
    if isinstance(found, TreeLower) and isinstance(upper, HostFilesystem):
        root = getattr(found.files, "root", "")
        if isinstance(found.files, HostFilesystem) and (upper.root + "/").startswith(root + "/"):
            found.close()
            raise ValueError(f"the upper layer {upper.root!r} lies in the lower layer {root!r}; name another directory")
    return found


def _foreign(lower: object, path: str) -> Lower:
    from fsspec import AbstractFileSystem  # pyright: ignore[reportMissingTypeStubs]
    from fsspec.implementations.dirfs import DirFileSystem  # pyright: ignore[reportMissingTypeStubs]
    from fsspec.implementations.local import LocalFileSystem  # pyright: ignore[reportMissingTypeStubs]

    from wink_overlay._foreign import ForeignLower

    if not isinstance(lower, AbstractFileSystem):
        raise TypeError(f"the lower layer is an fsspec filesystem or one of wink's, not {type(lower).__name__}")
    fs: Any = lower
    files = getattr(fs, "files", None)
    if isinstance(files, Filesystem):
        return TreeLower(files, path)  # our own view of it, which fsspec was given
    inside: Any = getattr(fs, "fs", None)
    if type(lower) is DirFileSystem and type(inside) is LocalFileSystem:
        fs, path = inside, f"{fs.path}/{path}" if path else str(fs.path)
    if isinstance(fs, LocalFileSystem) and type(cast("object", fs)) is LocalFileSystem:
        # Names on the disk can be swapped for links while they are looked at; our own way in cannot be led astray.
        root = str(cast("Any", LocalFileSystem)._strip_protocol(path)) if path else "/"
        return TreeLower(HostFilesystem(root, portable_names=False), owned=True)
    return ForeignLower(fs, path)


def _close(files: Filesystem) -> None:
    if isinstance(files, HostFilesystem):
        files.close()
