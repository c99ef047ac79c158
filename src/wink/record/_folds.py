"""Remember which transactions have been folded into the history, and where in it their pre-images are."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from wink.dataclass import dataclass
from wink.record._calls import calls_since, moment
from wink.record._changes import CHANGES, learn_digests

if TYPE_CHECKING:
    import sqlite3

    from wink.record._ledger import Ledger

_LAST: Final = """SELECT tx, commit_id, (SELECT value FROM meta WHERE key = 'attributes') FROM folds
    ORDER BY tx DESC LIMIT 1"""
_UNFOLDED: Final = """SELECT seq, transactions.id, name FROM transactions CROSS JOIN sessions ON sessions.id = session
    WHERE seq > ? AND committed = 1 AND changes > 0 ORDER BY seq LIMIT ?"""
_WAITING: Final = "SELECT count(*) FROM transactions WHERE seq > ? AND committed = 1 AND changes > 0"
_BLOB: Final = "SELECT blob, digest, attributes FROM folded WHERE preimage = CAST(? AS TEXT) AND blob <> ''"
# Only the digest stays: by it later calls can be seen to have found what earlier ones left.
_FORGET: Final = "UPDATE folded SET blob = '', attributes = '{}' WHERE preimage = CAST(? AS TEXT)"
# What of a transaction was in staging, with its place in the history: a link's body is in the record itself.
_STAGED: Final = f"""SELECT preimage, (SELECT nullif(blob, '') FROM folded WHERE folded.preimage = made.preimage)
    FROM {CHANGES} made JOIN folds USING (tx) WHERE id = ? AND preimage IS NOT NULL
    AND before_kind <> 'directory' AND NOT (before_kind = 'link' AND before_target IS NOT NULL)"""
_IS_FOLDED: Final = "SELECT 1 FROM transactions JOIN folds ON tx = seq WHERE id = ? AND changes > 0"
_SIZES: Final = f"""SELECT made.tx, sum(before_size) FROM folded
    CROSS JOIN {CHANGES} made ON made.tx = folded.tx AND made.preimage = folded.preimage WHERE blob <> '' GROUP BY made.tx"""
_FIRST: Final = f"""SELECT tx, path, preimage, before_size, before_inode, before_time FROM {CHANGES} made
    WHERE committed = 1 AND tx > ? ORDER BY tx, n"""
_BOUNDARY: Final = "SELECT commit_id FROM folds WHERE tx <= ? ORDER BY tx DESC LIMIT 1"
_NOTE: Final = "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)"
# Marks are equal when it is the same file to which nobody wrote.
_LEFT_BY: Final = f"""SELECT commit_id, made.path, made.after_digest FROM {CHANGES} lost
    CROSS JOIN {CHANGES} made ON made.tx < lost.tx AND made.path = lost.path AND made.after_size = lost.before_size
        AND made.after_inode = lost.before_inode AND made.after_time = lost.before_time
    CROSS JOIN folds ON folds.tx = made.tx
    WHERE lost.preimage = CAST(? AS TEXT) AND lost.id = ? AND made.after_digest IS NOT NULL
    ORDER BY made.tx DESC LIMIT 1"""
_COMMIT: Final = "SELECT commit_id FROM folds WHERE tx = ?"


NOTED_AT_ONCE: Final = 64
"""Transactions that are noted in one step."""

_Call = tuple[int | None, str, str, datetime, timedelta]
_NO_CALL: Final[_Call] = (None, "", "", moment(0), timedelta(0))


@dataclass(frozen=True, slots=True)
class Unfolded:
    """A committed transaction that changed files and is not in the history yet; its outermost call's facts are `call` and on."""

    position: int
    transaction_id: str
    session: str
    call: int | None
    call_id: str
    tool: str
    started_at: datetime
    duration: timedelta


@dataclass(frozen=True, slots=True)
class Stored:
    """Where a pre-image is: git's id of the blob in hexadecimal, and the SHA-256 of its content.

    `attributes` is JSON of what else the file had, in the history's own form.
    """

    blob: str
    digest: str
    attributes: str


class Folds:
    """The record's knowledge of the history."""

    __slots__ = ("_ledger",)

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def sizes(self) -> dict[int, int]:
        """How many bytes of pre-images are in the history of each transaction, by position."""
        return {int(tx): int(size) for tx, size in self._ledger.ask(_SIZES)}

    def needed(self) -> dict[str, tuple[int, int]]:
        """The pre-images that checkpoints need, each with its transaction and size.

        Those are the first of each path after each, and those of the very files that were there, which a call or an undo may
        have moved before another deleted them.
        """
        with self._ledger.database.hold():
            positions = [position for (position,) in self._ledger.ask("SELECT DISTINCT position FROM checkpoints")]
            changes = self._ledger.ask(_FIRST, min(positions)) if positions else []
        found: dict[str, tuple[int, int]] = {}
        for position in positions:
            seen: set[str] = set()
            there: set[tuple[int, int, int]] = set()
            for tx, path, preimage, size, inode, time in changes:
                if tx <= position:
                    continue
                mark = inode, time, size
                is_first = path not in seen
                seen.add(path)
                if is_first and inode is not None:
                    there.add(mark)
                if preimage is not None and (is_first or mark in there):
                    found[preimage] = tx, size or 0
        return found

    def boundary(self, position: int) -> str | None:
        """The commit of the last transaction up to a position that was folded."""
        return next((commit for (commit,) in self._ledger.ask(_BOUNDARY, position)), None)

    def blobs(self) -> tuple[str, ...]:
        """All blobs in the history that somebody may ask for as a pre-image."""
        return tuple(blob for (blob,) in self._ledger.ask("SELECT DISTINCT blob FROM folded WHERE blob <> ''"))

    def drop(self, position: int, keep: Iterable[str]) -> None:
        """Forget where the pre-images up to a position are, but for those to `keep`; raises `CommitFailed`.

        Until `dropped` is called, `dropping` tells the position: so whoever is killed meanwhile can be followed by another.
        """
        kept = set(keep)
        with self._ledger.database.hold():
            found = self._ledger.ask("SELECT preimage FROM folded WHERE tx <= ? AND blob <> ''", position)
            gone = [(_bytes(name),) for (name,) in found if name not in kept]

            def work(connection: sqlite3.Connection) -> None:
                connection.executemany(_FORGET, gone)
                connection.execute(_NOTE, ("dropping", str(position)))

            self._ledger.change(work)

    def dropping(self) -> int:
        """Up to which position somebody has begun to drop what there was, and did not end; 0 for nobody."""
        with self._ledger.database.hold():
            rows = self._ledger.ask("SELECT value FROM meta WHERE key = 'dropping'")
            return next((int(value) for (value,) in rows if value.isdecimal()), 0)

    def dropped(self) -> None:
        """What `drop` began has been done."""
        with self._ledger.database.hold():
            self._ledger.database.writable().execute("DELETE FROM meta WHERE key = 'dropping'")

    def prepare(self) -> None:
        """See that there is a state directory with a record in it; raises `WorkspaceReadOnly`."""
        with self._ledger.database.hold():
            self._ledger.refuse_if_closed()
            self._ledger.database.writable()

    def last(self) -> tuple[int, str | None, str | None]:
        """Position and commit of the last transaction that was folded, and the last commit of attributes."""
        return next(((tx, commit, aside) for tx, commit, aside in self._ledger.ask(_LAST)), (0, None, None))

    def newest(self) -> int:
        """The position of the last transaction, folded or not."""
        with self._ledger.database.hold():
            return next((seq or 0 for (seq,) in self._ledger.ask("SELECT max(seq) FROM transactions")), 0)

    def waiting(self) -> int:
        """How many transactions are not folded."""
        with self._ledger.database.hold():
            return next(count for (count,) in self._ledger.ask(_WAITING, self.last()[0]))

    def commit_of(self, position: int) -> str | None:
        """The commit of a transaction that was folded, in hexadecimal."""
        return next((commit for (commit,) in self._ledger.ask(_COMMIT, position)), None)

    def pending(self, limit: int) -> tuple[Unfolded, ...]:
        """The first `limit` transactions that are not folded, oldest first."""
        with self._ledger.database.hold():
            rows = self._ledger.ask(_UNFOLDED, self.last()[0], limit)
            found = calls_since(self._ledger.ask, "call_id, tool, started_at, duration", rows[0][0]) if rows else []
        calls: dict[int, _Call] = {
            tx: (seq, call_id, tool, moment(started), timedelta(microseconds=took))
            for tx, seq, call_id, tool, started, took in found
        }
        return tuple(Unfolded(seq, name, session, *calls.get(seq, _NO_CALL)) for seq, name, session in rows)

    def find(self, preimage: str) -> Stored | None:
        """Where a pre-image is that was folded, by its name in staging."""
        return next((Stored(*row) for row in self._ledger.ask(_BLOB, _bytes(preimage))), None)

    def left_by(self, preimage: str) -> tuple[str, str, str] | None:
        """The folded commit of the transaction that had left a pre-image at its path, with that path and the SHA-256."""
        transaction_id = preimage.partition("/")[0].rpartition(".")[0]
        for commit, path, identity in self._ledger.ask(_LEFT_BY, _bytes(preimage), transaction_id):
            digest = identity.partition(" ")[0]
            return (commit, path, digest) if digest else None
        return None

    def kept_by(self, transaction_id: str) -> tuple[str, ...] | None:
        """The blobs that keep all pre-images of a transaction; None when it is not folded, or not all of them are."""
        with self._ledger.database.hold():
            if not self._ledger.ask(_IS_FOLDED, transaction_id):
                return None
            blobs = [blob for _, blob in self._ledger.ask(_STAGED, transaction_id)]
            return None if None in blobs else tuple(blobs)

    def add(
        self,
        after: int,
        commits: Iterable[tuple[int, str]],
        stored: Iterable[tuple[str, int, Stored]],
        attributes: str,
        learned: Iterable[tuple[str, int, str]] = (),
    ) -> bool:
        """Note the commits of transactions, and where their pre-images are; raises `CommitFailed`.

        `learned` are digests of what transactions had left and not read, each with the position and the path.

        The oldest first, a few in one step, for which calls beside it wait: what is not noted then is folded again. False
        when somebody else has folded since the transaction `after` was the last.
        """
        noted, places, digests = list(commits), list(stored), list(learned)
        for first in range(0, len(noted), NOTED_AT_ONCE):
            part = noted[first : first + NOTED_AT_ONCE]
            low, high = part[0][0], part[-1][0]
            here = [
                (_bytes(name), tx, one.blob, one.digest, one.attributes)
                for name, tx, one in places
                if low <= tx <= high
            ]
            digested = [one for one in digests if low <= one[1] <= high]
            if not self._ledger.change(partial(self._note, after, part, here, digested, attributes)):
                return False
            after = high
        return True

    def _note(
        self,
        after: int,
        commits: list[tuple[int, str]],
        stored: list[tuple[Any, ...]],
        learned: list[tuple[str, int, str]],
        attributes: str,
        connection: sqlite3.Connection,
    ) -> bool:
        if self.last()[0] != after:
            return False
        connection.executemany("INSERT INTO folds (tx, commit_id) VALUES (?, ?)", commits)
        connection.executemany("INSERT OR REPLACE INTO folded VALUES (CAST(? AS TEXT), ?, ?, ?, ?)", stored)
        learn_digests(connection, learned)
        connection.execute(_NOTE, ("attributes", attributes))
        return True


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")
