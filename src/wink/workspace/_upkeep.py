"""Keep what a workspace stores small, beside the calls and behind the last one, and ask whoever keeps its history to take them in."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, BinaryIO, Final, Protocol

from wink.errors import HistoryUnavailable, WinkError
from wink.filesystem import HostFilesystem
from wink.record import Record

if TYPE_CHECKING:
    from git import Repo

    from wink.workspace._undo import Everything

_logger: Final = logging.getLogger("wink.workspace")

GROUP: Final = "wink.history"
"""The entry points of what keeps a history: called with the state directory, the files, the record, and `durable=`."""
EVERY: Final = 256
"""Calls of which the texts are worth being moved."""
BESIDE: Final = 4096
"""Calls of one process after which another one folds beside them: a thread would make each of them wait for the interpreter."""
YOUNGEST: Final = 16
"""The last transactions are left alone by a fold beside calls: somebody is looking at what they did."""
WORTH: Final = 8
"""Changing calls of one process that are worth a fold when it ends."""
SOME: Final = 512
"""So many transactions at most a process folds while somebody waits for it; when as many are left as it ends, another process takes them."""
FEW: Final = 64
"""Calls of one process of which the texts are moved when it ends."""
TIDIED_AT_ONCE: Final = 2048
"""Of so many calls at most texts are moved while somebody waits for the end."""
_CROWDED: Final = 64
"""Transactions in staging that are, whoever left them there."""


class History(Protocol):
    """Where the calls of one workspace go in the end, with what they replaced: what a plugin offers under `wink.history`.

    All of it may be asked from any thread. Raises `HistoryDamaged` for what cannot be read, and `CommitFailed`, with nothing lost.
    """

    def fold(self, *, most: int | None = None, leave: int = 0) -> int:
        """Take in all transactions, the oldest first, or `most` of them, and all but the last `leave`; gives how many."""
        ...

    def open(self, staged: str) -> BinaryIO | None:
        """What was replaced, by its name in staging; None when it was never taken in, or given up since."""
        ...

    def drop(self, position: int, keep: Iterable[str]) -> None:
        """Give up what is there of the transactions up to a position, but for the pre-images to `keep`; can be repeated."""
        ...

    def checkpoint(
        self,
        name: str,
        *,
        ignored_bytes: int | None,
        turn: Callable[[], AbstractContextManager[object]],
        progress: Callable[[int, str], object] | None,
        move: bool = False,
    ) -> tuple[tuple[str, str], ...]:
        """Take in all files under a name; see `Workspace.checkpoint`. `turn` holds others off while it is noted."""
        ...

    def forget(self, name: str) -> None:
        """Let git no longer know a checkpoint by this name."""
        ...

    def everything(self, name: str, places: Sequence[str]) -> Everything:
        """What restoring such a checkpoint means, at `places` only if there are any."""
        ...

    def repository(self) -> Repo | None:
        """The history for GitPython, None while there is none."""
        ...

    def close(self) -> None:
        """Close what was opened to read it."""
        ...


class Upkeep:
    """Decides when to do what for one workspace; may be used from any thread."""

    def __init__(self, state: str, files: HostFilesystem, record: Record, *, durable: bool) -> None:
        self._state, self._files, self._record, self._durable = state, files, record, durable
        self._count = self._calls = self._since = 0
        self._history: History | None = None
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.afterwards: Callable[[], object] | None = None
        """Called after a fold that began by itself, beside the calls or behind the last one: it gives up what is too old."""
        self.elsewhere: Callable[[], bool] | None = None
        """Lets another process `catch_up`, and waits for it; gives whether it could."""

    def note(self, changed: bool = True) -> None:
        """A call was stored; every few thousand of them a process begins that folds them, and a thread waits for it."""
        self._calls += 1
        self._since += 1
        self._count += changed
        if self._since >= BESIDE and (self._thread is None or not self._thread.is_alive()):
            self._since = 0
            self._thread = threading.Thread(target=self._beside, name="wink fold", daemon=True)
            self._thread.start()

    def history(self) -> History:
        """Who keeps it; raises `HistoryUnavailable` where no plugin does."""
        found = self._found()
        if found is None:
            raise HistoryUnavailable(self._state)
        return found

    def _found(self) -> History | None:
        from wink.spellings import offered

        with self._lock:
            if self._history is None:
                point = offered(GROUP, "history.git")
                if point is not None:
                    self._history = point.load()(self._state, self._files, self._record, durable=self._durable)
            return self._history

    def open(self, staged: str) -> BinaryIO | None:
        """What was replaced and is not in staging any more; see `History.open`."""
        if self._found() is None and self._record.folds.find(staged) is None:
            return None
        return self.history().open(staged)

    def fold(self, *, most: int | None = None, leave: int = 0) -> int:
        """See `History.fold`; where nobody keeps a history all stays in staging, and is as good there."""
        history = self._found()
        if history is None:
            return 0
        done = history.fold(most=most, leave=leave)
        if done:
            self._count = 0
        return done

    def forget(self, name: str) -> None:
        """See `History.forget`; where nobody keeps a history git knows no names."""
        self.wait()
        history = self._found()
        if history is not None:
            history.forget(name)

    def commit_at(self, position: int) -> str | None:
        """The commit of the last transaction up to a position that changed files; what is not folded yet is folded first."""
        self.wait()
        if not self._files.read_only:
            self.fold()
        return self._record.folds.boundary(position)

    def drop(self, position: int, keep: Iterable[str]) -> None:
        """See `History.drop`; the caller holds the workspace's lease."""
        self.wait()
        self.fold()
        if self._record.folds.last()[1] is not None:
            self.history().drop(position, keep)

    def close(self) -> None:
        """Close what was opened to read the history."""
        if self._history is not None:
            self._history.close()

    def wait(self) -> None:
        """Wait for a fold that is under way."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
            self._thread = None

    def end(self) -> None:
        """Fold and tidy behind the last call: more readily where this process has made many of them."""
        self.wait()
        if self._is_worth_it():
            self.quietly()
            if self._record.folds.waiting() >= SOME:  # processes that were killed left them, or this one made many
                self._beside()
        self.tidy(most=TIDIED_AT_ONCE, enough=FEW if self._calls >= FEW else None)

    def _is_worth_it(self) -> bool:
        if self._count == 0:
            return False
        if self._count >= WORTH:
            return True
        try:
            staged = os.listdir(os.path.join(self._state, "staged"))
        except OSError:
            return False
        return len({name.rpartition(".")[0] for name in staged}) >= _CROWDED

    def quietly(self, *, most: int | None = SOME, leave: int = 0) -> None:
        """Fold without failing: what cannot be folded now stays where it is, and is as good there."""
        try:
            self.fold(most=most, leave=leave)
        except (WinkError, OSError, ValueError, ImportError) as error:
            _logger.warning("calls could not be folded into the history: %s", error)

    def tidy(self, *, most: int | None = None, enough: int | None = None) -> None:
        """Move the texts of calls that wait for it, where they are `enough`, and give up what is too old; never fails."""
        try:
            if self._record.imported is not None or self._record.texts.waiting() < (
                EVERY if enough is None else enough
            ):
                return
            self._record.texts.pack(most=most)
            if self.afterwards is not None:
                self.afterwards()
            self._record.forgetting.compact()
            self._record.pack_results()
        except (WinkError, OSError, ValueError) as error:
            _logger.warning("the record could not be made smaller: %s", error)

    def catch_up(self) -> None:
        """Fold what others have left, but for the last calls, and keep the record small; never fails."""
        self.quietly(most=None, leave=YOUNGEST)
        self.tidy()

    def _beside(self) -> None:
        count = self._count
        try:
            if self.elsewhere is not None and self.elsewhere():
                self._count -= count
        except (WinkError, OSError, ValueError) as error:
            _logger.warning("calls could not be folded by another process: %s", error)
