"""Write an overlay's changes to an fsspec filesystem, one path after the other, and take them back when one fails."""

from __future__ import annotations

import errno
from collections.abc import Callable
from shutil import copyfileobj
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Final

from wink.errors import ReadOnlyFilesystem
from wink_overlay._errors import OverlayCommitFailed
from wink_overlay._foreign import ForeignLower, is_fixed_archive
from wink_overlay._lower import told
from wink_overlay._order import Order, Write, above

if TYPE_CHECKING:
    from wink_overlay._store import OverlayStore

_PIECE: Final = 4 << 20
_IN_MEMORY: Final = 8 << 20
_CANNOT: Final = frozenset((errno.EROFS, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP))

Spool = IO[bytes]


def write(lower: ForeignLower, store: OverlayStore, order: Order) -> None:
    """Make every path as the overlay shows it; after a failure everything is put back that can be."""
    links = [each.path for each in order.makes if each.change.after is not None and each.change.after.kind == "link"]
    if links:
        raise OverlayCommitFailed(lower.name, "are links, which cannot be written there", links)
    if is_fixed_archive(lower.fs):
        raise ReadOnlyFilesystem(order.writes[0].path, _cannot(lower))
    transfer = _Transfer(lower, store)
    try:
        transfer.run(order)
    except Exception as failed:  # foreign code
        at = transfer.at
        left = transfer.put_back()
        if not left and _says_that_it_cannot(failed):
            raise ReadOnlyFilesystem(at, _cannot(lower)) from failed
        said = f"could not be written there ({told(failed, at, lower.name)})"
        raise OverlayCommitFailed(lower.name, said, [at], left) from failed
    except BaseException:
        transfer.put_back()
        raise
    finally:
        transfer.close()


class _Transfer:
    """Keeps what it replaces or deletes in temporary files, for the way back."""

    __slots__ = ("_back", "_lower", "_spools", "_store", "at")

    def __init__(self, lower: ForeignLower, store: OverlayStore) -> None:
        self._lower, self._store = lower, store
        self._spools: list[Spool] = []
        self._back: list[tuple[str, Callable[[], object]]] = []
        self.at = ""

    def run(self, order: Order) -> None:
        fetched = {each.path: self._fetched(each.origin or each.path) for each in order.fetches}
        for each in order.early:
            self._remove(each)
        for each in order.makes:
            self._make(each, fetched.get(each.path))
        # A rename would have taken the sources of moves away; a copy has not.
        late = [*order.late, *(each for each in order.writes if each.path in order.moves)]
        for each in sorted(late, key=lambda each: each.path, reverse=True):
            self._remove(each)

    def put_back(self) -> list[str]:
        """Undo, newest first; the paths with which that failed."""
        left: list[str] = []
        for path, undo in reversed(self._back):
            try:
                undo()
            except Exception:  # foreign code, perhaps out of reach by now
                left.append(path)
        self._back.clear()
        return left

    def close(self) -> None:
        """Drop what was kept."""
        for spool in self._spools:
            spool.close()

    def _make(self, each: Write, fetched: Spool | None) -> None:
        self.at = path = each.path
        after = each.change.after
        assert after is not None
        before = None if each.turns else each.change.before
        full, fs = self._lower.full(path), self._lower.fs
        self._make_above(path)
        if after.kind == "directory":
            if before is None:
                fs.makedirs(full, exist_ok=True)
                self._done(path, lambda: self._drop_directory(full))
            return
        if before is not None and each.origin == path:
            return  # only its mode is another, which cannot be written here
        if before is None:
            self._done(path, lambda: self._drop(full))
        else:
            kept = self._fetched(path)
            self._done(path, lambda: self._put(full, kept))
        if each.origin is not None and fetched is None:
            fs.cp_file(self._lower.full(each.origin), full)
        else:
            self._put(full, fetched or self._fetched_upper(path))

    def _remove(self, each: Write) -> None:
        self.at = path = each.path
        before, fs, full = each.change.before, self._lower.fs, self._lower.full(path)
        assert before is not None
        if before.kind != "directory":
            kept = self._fetched(path)
            self._done(path, lambda: self._put(full, kept))
            fs.rm_file(full)
            return
        # In a bucket it has gone with its last file; elsewhere what somebody else has put there keeps it.
        self._lower.refresh()
        if self._lower.node(path) is not None:
            fs.rmdir(full)
            self._done(path, lambda: fs.makedirs(full, exist_ok=True))

    def _make_above(self, path: str) -> None:
        fs = self._lower.fs
        for directory in above(path):
            if self._lower.node(directory) is None:
                full = self._lower.full(directory)
                fs.makedirs(full, exist_ok=True)
                self._done(directory, lambda full=full: self._drop_directory(full))

    def _put(self, full: str, spool: Spool) -> None:
        spool.seek(0)
        with self._lower.fs.open(full, "wb") as stream:
            copyfileobj(spool, stream, _PIECE)

    def _drop(self, full: str) -> None:
        self._lower.fs.invalidate_cache(full)
        if self._lower.fs.exists(full):
            self._lower.fs.rm_file(full)

    def _drop_directory(self, full: str) -> None:
        self._lower.fs.invalidate_cache(full)
        if self._lower.fs.exists(full):
            self._lower.fs.rmdir(full)

    def _fetched(self, path: str) -> Spool:
        return self._spooled(self._lower.open(path)[0])

    def _fetched_upper(self, path: str) -> Spool:
        return self._spooled(self._store.open(path)[0])

    def _spooled(self, stream: IO[bytes]) -> Spool:
        spool: Spool = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed with the transfer
        self._spools.append(spool)
        with stream:
            copyfileobj(stream, spool, _PIECE)
        return spool

    def _done(self, path: str, undo: Callable[[], object]) -> None:
        self._back.append((path, undo))


def _says_that_it_cannot(failed: Exception) -> bool:
    return isinstance(failed, NotImplementedError) or (isinstance(failed, OSError) and failed.errno in _CANNOT)


def _cannot(lower: ForeignLower) -> str:
    return (
        f"the lower layer {lower.name!r} cannot be written; the changes are still in the overlay, copy them elsewhere"
    )
