"""Take back one journal record, as often as a crash makes it necessary.

Rules of this module:

* Every step looks at what is there before it acts, and knows files by their `Mark`. So a step can be repeated, whether
  it was done, half done or never begun, and so can the operation that it takes back.
* Nothing is renamed over anything. What is in the way comes out into staging first; if it is what wink put there it is
  removed, and otherwise somebody saved it and it goes to `conflicts/`.
* Where both are possible, the path decides: as long as it holds our new file, the exchange stands and is turned round.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Mapping
from typing import Final

from wink.filesystem._git_data import is_git_config, is_git_data
from wink.filesystem.disk._content import is_being_written, set_mode
from wink.filesystem.disk._journal import Mark, Record
from wink.filesystem.disk._preimages import keep_aside
from wink.filesystem.disk._report import Conflict
from wink.filesystem.disk._root import DiskRoot, restore_times
from wink.filesystem.disk._trees import remove

GONE: Final = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP))
_RACY_NS: Final = 20_000_000
_ATTEMPTS: Final = 8
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

_TAKEN: Final = "was replaced by somebody else in the moment in which it came back; an earlier version of it is lost"

Step = Callable[[Record, int, str], None]


class Undo:
    """Takes records back, newest first; `conflicts` and `lost` tell what could not be as expected."""

    __slots__ = (
        "_borrowed",
        "_contents",
        "_may_have_spares",
        "_root",
        "_staged",
        "_steps",
        "conflicts",
        "done_with",
        "lost",
        "renumbered",
        "rewritten",
    )

    def __init__(
        self,
        root: DiskRoot,
        contents: Mapping[int, bytes],
        rewritten: dict[int, Mark],
        renumbered: dict[int, int],
        borrowed: frozenset[str] = frozenset(),
        *,
        recovering: bool = False,
    ) -> None:
        self._root, self._staged = root, root.state.staged
        # What the transaction's own process still knows: small contents, and files after writing in place.
        self._contents, self.rewritten = contents, rewritten
        # A file that comes back from a copy has another inode: earlier records mean that one from now on.
        self.renumbered = renumbered
        # Names in staging of what an earlier transaction has replaced: that is given back, and never removed.
        self._borrowed = borrowed
        self._may_have_spares = recovering
        self.conflicts: list[Conflict] = []
        self.lost: list[str] = []
        self.done_with: list[str] = []
        self._steps: dict[str, Step] = {
            "X": self._overwritten,
            "C": self._created,
            "D": self._deleted,
            "N": self._renamed,
            "M": self._made,
            "P": self._changed_mode,
            "S": self._seen,
        }

    def take_back(self, record: Record, then: Record | None = None) -> None:
        """Bring one path back to what it was before; raises `OSError` when it cannot, then try again later.

        `then` is the record that is to be taken back next.
        """
        above, _, name = record.path.rpartition("/")
        # A journal may come with a copied workspace, so it is trusted no more than a program is.
        if not (is_git_data(record.path) or is_git_config(record.path)):
            self._root.check_writable(record.path, record.path)
        if record.kind == "B":
            return self._given_back(record)
        try:
            fd = self._root.beneath.directory(above)
        except OSError as error:
            if error.errno not in GONE:
                raise
            if record.kind == "S":
                self._seen(record, -1, name)
            else:
                self._homeless(record)
            return None
        if self.renumbered and record.kind not in "ET":
            # Not those: a number may be used again, and here it is the one of the file that was removed.
            record = record._replace(old=self._now(record.old), new=self._now(record.new))
        try:
            step = self._steps.get(record.kind)
            if step is not None:
                step(record, fd, name)
            else:
                from wink.filesystem.disk._undo_copies import Copies

                Copies(self._root, self).take_back(record, fd, name)
            # The next record will give the same directory an even older time.
            if record.times and not (then is not None and then.times and then.path.rpartition("/")[0] == above):
                restore_times(fd, record.times)
        finally:
            self._root.beneath.close(fd)

    def take_back_patiently(self, record: Record, then: Record | None) -> None:
        """The same, again as often as somebody saves a file in the moment in which one goes back to its place."""
        for _ in range(_ATTEMPTS):
            try:
                return self.take_back(record, then)
            except FileExistsError:
                continue
        return self.take_back(record, then)

    # -- one step for each kind of record

    def _overwritten(self, record: Record, fd: int, name: str) -> None:
        old, new, kept = record.old, record.new, record.staged
        assert old is not None
        assert new is not None
        here, out = self._look(fd, name), self._look(self._staged, kept)
        if out is None:
            if here is not None and here.st_ino == new.ino:
                self.lost.append(record.path)
        elif here is not None and here.st_ino == out.st_ino:
            self.unlink(kept)  # a second link to the same file, made where files cannot be exchanged
        elif here is not None and here.st_ino == old.ino:
            pass  # not begun, or turned round before
        elif out.st_ino == old.ino or (out.st_ino != new.ino and (here is None or here.st_ino == new.ino)):
            self._put_back(record, fd, name, here)
        self.settle(record, kept)
        self._settle_spare(record)

    def _deleted(self, record: Record, fd: int, name: str) -> None:
        old, kept = record.old, record.staged
        assert old is not None
        here, out = self._look(fd, name), self._look(self._staged, kept)
        if out is None:
            if here is None:
                self.lost.append(record.path)
        elif here is None:
            self._root.place(self._staged, kept, fd, name)
        elif here.st_ino == out.st_ino:
            self.unlink(kept)
        elif out.st_ino == old.ino:
            self._put_back(record, fd, name, here)
        self.settle(record, kept)
        self._settle_spare(record)

    def _created(self, record: Record, fd: int, name: str) -> None:
        new, kept = record.new, record.staged
        assert new is not None
        here, out = self._look(fd, name), self._look(self._staged, kept)
        if kept in self._borrowed and here is not None and out is not None and here.st_ino == out.st_ino:
            self._root.unname(
                fd, name, out.st_ino
            )  # it has both names, where files cannot be renamed without replacing
            return
        self.settle(record, kept)
        never_placed = out is not None and out.st_ino == new.ino and (here is None or here.st_ino != new.ino)
        if here is not None and not never_placed:
            self._root.take(fd, name, kept)
            self.settle(record, kept)

    def _renamed(self, record: Record, fd: int, name: str) -> None:
        old, root = record.old, self._root
        assert old is not None
        root.check_writable(record.note, record.note)
        above, _, new_name = record.note.rpartition("/")
        try:
            there_fd = root.beneath.directory(above)
        except OSError as error:
            if error.errno not in GONE:
                raise
            here = self._look(fd, name)
            if here is None or here.st_ino != old.ino:
                self.lost.append(record.path)
            return
        try:
            here, there = self._look(fd, name), self._look(there_fd, new_name)
            self.settle(record, record.staged)
            if here is not None and here.st_ino == old.ino:
                if there is not None and there.st_ino == old.ino and not stat.S_ISDIR(there.st_mode):
                    root.unname(there_fd, new_name, old.ino)  # renamed with links, and interrupted between them
            elif there is None:
                self.lost.append(record.path)
            else:
                if here is not None:
                    root.take(fd, name, record.staged)
                    self.settle(record, record.staged)
                if there.st_ino != old.ino:
                    self.conflicts.append(Conflict(record.path, None, "was saved by somebody else after it was moved"))
                root.place(there_fd, new_name, fd, name)
            if len(record.times) > 2:
                restore_times(there_fd, record.times[2:])
        finally:
            root.beneath.close(there_fd)

    def _given_back(self, record: Record) -> None:
        """What the records after this one have put to its path is in staging again: it gets its name there back."""
        root, kept = self._root, record.staged
        out = self._look(self._staged, kept)
        try:
            with root.in_staging(record.note) as (fd, name):
                back = self._look(fd, name)
                if out is not None and back is not None and back.st_ino == out.st_ino:
                    self.unlink(kept)  # it has both names, where files cannot be renamed without replacing
                elif out is not None and back is None:
                    root.place(self._staged, kept, fd, name)
                elif out is not None:
                    self.keep(record.path, kept)
                elif back is None:
                    self.conflicts.append(Conflict(record.path, None, _TAKEN))
        except OSError as error:
            if error.errno not in GONE:
                raise
            if out is not None:
                self.keep(record.path, kept, "could not go back to where wink kept it, which is gone")

    def _made(self, record: Record, fd: int, name: str) -> None:
        try:
            os.rmdir(name, dir_fd=fd)
        except FileNotFoundError:
            pass
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
            self.conflicts.append(Conflict(record.path, None, "stays, because somebody else put something there"))

    def _changed_mode(self, record: Record, fd: int, name: str) -> None:
        old = record.old
        assert old is not None
        here = self._look(fd, name)
        if here is None or here.st_ino != old.ino:
            self.conflicts.append(Conflict(record.path, None, "is not the file any more whose mode was changed"))
            return
        if stat.S_IMODE(here.st_mode) not in (stat.S_IMODE(old.mode), int(record.note)):
            self.conflicts.append(Conflict(record.path, None, "keeps the mode that somebody else gave it"))
            return
        set_mode(fd, name, stat.S_IMODE(old.mode))

    def _seen(self, record: Record, fd: int, name: str) -> None:
        del fd, name  # what is there is somebody else's, and stays
        if record.staged:
            self.unlink(record.staged)

    # -- what the steps are made of

    def _now(self, mark: Mark | None) -> Mark | None:
        return mark and mark._replace(ino=self.renumbered.get(mark.ino, mark.ino))

    def renumber(self, old: Mark, now: os.stat_result) -> None:
        """A file came back as another inode."""
        self.renumbered[old.ino] = now.st_ino

    def settle(self, record: Record, staged: str) -> None:
        """Remove what is left in staging if wink put it there, otherwise keep it as a conflict."""
        found = self._look(self._staged, staged)
        if found is None:
            return
        is_ours, in_use = (
            self._asked(record, staged, found) if record.new is not None and record.new.fits(found) else (False, None)
        )
        if not is_ours:
            self.keep(record.path, staged)
        elif record.staged in self._borrowed:
            if staged != record.staged:
                self._root.place(self._staged, staged, self._staged, record.staged)
        elif in_use:
            self.keep(record.path, staged, "was taken back while another program had it open for writing")
        else:
            self.unlink(staged)

    def _settle_spare(self, record: Record) -> None:
        # Only where names cannot be exchanged, now or when the journal was written, is there a second file.
        if self._may_have_spares or not self._root.can_exchange:
            self.settle(record, record.staged + "~")

    def keep(self, path: str, staged: str, reason: str = "was saved by somebody else meanwhile") -> None:
        """Move something from staging to the conflicts."""
        self.conflicts.append(Conflict(path, keep_aside(self._root, self._staged, staged, staged), reason))

    def clear(self) -> None:
        """Remove what was needed until the step had been noted."""
        while self.done_with:
            self.unlink(self.done_with.pop())

    def unlink(self, staged: str) -> None:
        """Remove something from staging."""
        remove(self._staged, staged)

    def _put_back(self, record: Record, fd: int, name: str, here: os.stat_result | None) -> None:
        root, kept, spare = self._root, record.staged, record.staged + "~"
        if here is None:
            root.place(self._staged, kept, fd, name)
        elif not root.swap(self._staged, kept, fd, name):
            self.settle(record, spare)
            root.take(fd, name, spare)
            root.place(self._staged, kept, fd, name)

    def _homeless(self, record: Record) -> None:
        """The directory was taken away: keep what would have gone back into it."""
        kept, old = record.staged, record.old
        copied = record.kind in "WKE"
        found = self._look(self._staged, kept) if kept else None
        if found is not None and old is not None and (copied or found.st_ino == old.ino):
            self.keep(record.path, kept, "could not go back, because its directory was moved or deleted")
        elif found is not None:
            self.settle(record, kept)
        if copied:
            self.unlink(kept + "~")
        elif kept:
            self.settle(record, kept + "~")
        if old is not None:
            self.lost.append(record.path)

    def _asked(self, record: Record, staged: str, found: os.stat_result) -> tuple[bool, bool | None]:
        """Whether what bears the mark of our file is ours, and whether a program may yet write to it; None where nobody knows.

        Right after a write, a second write may leave equal times: then the content is looked at, once there is no writer.
        """
        if not stat.S_ISREG(found.st_mode):
            return True, False
        try:
            fd = os.open(staged, _READ, dir_fd=self._staged)
        except OSError:
            return True, None
        try:
            in_use = found.st_nlink == 1 and is_being_written(fd)
            expected = self._contents.get(record.seq)
            if expected is None or time.time_ns() - found.st_mtime_ns > _RACY_NS:
                return True, in_use
            return os.read(fd, len(expected) + 1) == expected, in_use
        except OSError:
            return True, None
        finally:
            os.close(fd)

    def _look(self, fd: int, name: str) -> os.stat_result | None:
        return self._root.status(fd, name)
