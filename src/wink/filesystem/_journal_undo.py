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

from wink.filesystem._disk_ground import Ground, restore_times
from wink.filesystem._disk_kept import is_in_use, keep_aside
from wink.filesystem._disk_trees import remove
from wink.filesystem._git_data import is_git_data
from wink.filesystem._journal_records import Mark, Record
from wink.filesystem._journal_report import Conflict

GONE: Final = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP))
_RACY_NS: Final = 20_000_000
_ATTEMPTS: Final = 8

Step = Callable[[Record, int, str], None]


class Undo:
    """Takes records back, newest first; `conflicts` and `lost` tell what could not be as expected."""

    __slots__ = (
        "_contents",
        "_ground",
        "_may_have_spares",
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
        ground: Ground,
        contents: Mapping[int, bytes],
        rewritten: dict[int, Mark],
        renumbered: dict[int, int],
        *,
        recovering: bool = False,
    ) -> None:
        self._ground, self._staged = ground, ground.state.staged
        # What the transaction's own process still knows: small contents, and files after writing in place.
        self._contents, self.rewritten = contents, rewritten
        # A file that comes back from a copy has another inode: earlier records mean that one from now on.
        self.renumbered = renumbered
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
        }

    def take_back(self, record: Record, then: Record | None = None) -> None:
        """Bring one path back to what it was before; raises `OSError` when it cannot, then try again later.

        `then` is the record that is to be taken back next.
        """
        above, _, name = record.path.rpartition("/")
        # A journal may come with a copied workspace, so it is trusted no more than a program is.
        if not is_git_data(record.path):
            self._ground.check_writable(record.path, record.path)
        try:
            fd = self._ground.beneath.directory(above)
        except OSError as error:
            if error.errno not in GONE:
                raise
            self._homeless(record)
            return
        if self.renumbered and record.kind not in "ET":
            # Not those: a number may be used again, and here it is the one of the file that was removed.
            record = record._replace(old=self._now(record.old), new=self._now(record.new))
        try:
            step = self._steps.get(record.kind)
            if step is not None:
                step(record, fd, name)
            else:
                from wink.filesystem._journal_copies import Copies

                Copies(self._ground, self).take_back(record, fd, name)
            # The next record will give the same directory an even older time.
            if record.times and not (then is not None and then.times and then.path.rpartition("/")[0] == above):
                restore_times(fd, record.times)
        finally:
            self._ground.beneath.close(fd)

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
            self._ground.place(self._staged, kept, fd, name)
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
        self.settle(record, kept)
        never_placed = out is not None and out.st_ino == new.ino and (here is None or here.st_ino != new.ino)
        if here is not None and not never_placed:
            self._ground.take(fd, name, kept)
            self.settle(record, kept)

    def _renamed(self, record: Record, fd: int, name: str) -> None:
        old, ground = record.old, self._ground
        assert old is not None
        ground.check_writable(record.note, record.note)
        above, _, new_name = record.note.rpartition("/")
        try:
            there_fd = ground.beneath.directory(above)
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
                    ground.unname(there_fd, new_name, old.ino)  # renamed with links, and interrupted between them
            elif there is None:
                self.lost.append(record.path)
            else:
                if here is not None:
                    ground.take(fd, name, record.staged)
                    self.settle(record, record.staged)
                if there.st_ino != old.ino:
                    self.conflicts.append(Conflict(record.path, None, "was saved by somebody else after it was moved"))
                ground.place(there_fd, new_name, fd, name)
            if len(record.times) > 2:
                restore_times(there_fd, record.times[2:])
        finally:
            ground.beneath.close(there_fd)

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
        if record.new is not None and record.new.fits(found) and self._is_ours(record, staged):
            if not is_in_use(self._staged, staged, found):
                self.unlink(staged)
                return
            self.keep(record.path, staged, "was taken back while another program had it open for writing")
            return
        self.keep(record.path, staged)

    def _settle_spare(self, record: Record) -> None:
        # Only where names cannot be exchanged, now or when the journal was written, is there a second file.
        if self._may_have_spares or not self._ground.can_exchange:
            self.settle(record, record.staged + "~")

    def keep(self, path: str, staged: str, reason: str = "was saved by somebody else meanwhile") -> None:
        """Move something from staging to the conflicts."""
        self.conflicts.append(Conflict(path, keep_aside(self._ground, self._staged, staged, staged), reason))

    def clear(self) -> None:
        """Remove what was needed until the step had been noted."""
        while self.done_with:
            self.unlink(self.done_with.pop())

    def unlink(self, staged: str) -> None:
        """Remove something from staging."""
        remove(self._staged, staged)

    def _put_back(self, record: Record, fd: int, name: str, here: os.stat_result | None) -> None:
        ground, kept, spare = self._ground, record.staged, record.staged + "~"
        if here is None:
            ground.place(self._staged, kept, fd, name)
        elif not ground.swap(self._staged, kept, fd, name):
            self.settle(record, spare)
            ground.take(fd, name, spare)
            ground.place(self._staged, kept, fd, name)

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

    def _is_ours(self, record: Record, staged: str) -> bool:
        """Whether equal times can be believed: right after a write, a second write may leave the same ones."""
        expected = self._contents.get(record.seq)
        mark: Mark | None = record.new
        if expected is None or mark is None or time.time_ns() - mark.modified_ns > _RACY_NS:
            return True
        fd = os.open(staged, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._staged)
        try:
            return os.read(fd, len(expected) + 1) == expected
        except OSError:
            return True
        finally:
            os.close(fd)

    def _look(self, fd: int, name: str) -> os.stat_result | None:
        return self._ground.status(fd, name)


def set_mode(fd: int, name: str, mode: int) -> None:
    """Change the permission bits of a file or directory, never of what a link leads to."""
    flags = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        opened = os.open(name, os.O_RDONLY | flags, dir_fd=fd)
    except PermissionError:
        if not hasattr(os, "O_PATH"):
            raise
        # We may own a file and not be allowed to read it; then only its path-less descriptor can be had.
        opened = os.open(name, os.O_PATH | flags, dir_fd=fd)
        try:
            os.chmod(f"/proc/self/fd/{opened}", mode)
        finally:
            os.close(opened)
        return
    try:
        os.fchmod(opened, mode)
    finally:
        os.close(opened)
