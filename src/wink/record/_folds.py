"""Remember which transactions have been folded into the history, and where in it their pre-images are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from wink.errors import CommitFailed
from wink.record._calls import moment

if TYPE_CHECKING:
    from wink.record._ledger import Ledger

_LAST: Final = """SELECT tx, commit_id, (SELECT value FROM meta WHERE key = 'attributes') FROM folds
    ORDER BY tx DESC LIMIT 1"""
_UNFOLDED: Final = """SELECT seq, transactions.id, name FROM transactions CROSS JOIN sessions ON sessions.id = session
    WHERE seq > ? AND committed = 1 AND changes > 0 ORDER BY seq LIMIT ?"""
_CALLS: Final = "SELECT tx, seq, call_id, tool, started_at, duration FROM calls ORDER BY seq DESC LIMIT ?"
_BLOB: Final = "SELECT blob, digest, attributes FROM folded WHERE preimage = CAST(? AS TEXT) AND blob <> ''"
# Only the digest stays: by it later calls can be seen to have found what earlier ones left.
_FORGET: Final = "UPDATE folded SET blob = '', attributes = '{}' WHERE preimage = CAST(? AS TEXT)"
# What of a transaction was in staging, with its place in the history: a link's body is in the record itself.
_STAGED: Final = """SELECT preimage, (SELECT nullif(blob, '') FROM folded WHERE folded.preimage = changes.preimage)
    FROM changes JOIN transactions ON seq = tx JOIN folds USING (tx)
    WHERE transactions.id = ? AND transactions.changes > 0 AND preimage IS NOT NULL
    AND before_kind <> 'directory' AND NOT (before_kind = 'link' AND before_target IS NOT NULL)"""
_IS_FOLDED: Final = "SELECT 1 FROM transactions JOIN folds ON tx = seq WHERE id = ? AND changes > 0"
_SIZES: Final = """SELECT changes.tx, sum(before_size) FROM folded JOIN changes
    ON changes.tx = folded.tx AND changes.preimage = folded.preimage WHERE blob <> '' GROUP BY changes.tx"""
_FIRST: Final = """SELECT tx, path, preimage, before_size FROM changes JOIN transactions ON seq = tx
    WHERE committed = 1 AND tx > ? ORDER BY tx, n"""
_BOUNDARY: Final = "SELECT commit_id FROM folds WHERE tx <= ? ORDER BY tx DESC LIMIT 1"
_NOTE: Final = "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)"
_COMMIT: Final = "SELECT commit_id FROM folds WHERE tx = ?"


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
        with self._ledger.database.hold():
            return {int(tx): int(size) for tx, size in self._ledger.ask(_SIZES)}

    def needed(self) -> dict[str, tuple[int, int]]:
        """The pre-images that checkpoints need, each with its transaction and size: the first of each path after each."""
        with self._ledger.database.hold():
            positions = [position for (position,) in self._ledger.ask("SELECT DISTINCT position FROM checkpoints")]
            changes = self._ledger.ask(_FIRST, min(positions)) if positions else []
        found: dict[str, tuple[int, int]] = {}
        for position in positions:
            seen: set[str] = set()
            for tx, path, preimage, size in changes:
                if tx > position and path not in seen:
                    seen.add(path)
                    if preimage is not None:
                        found[preimage] = tx, size or 0
        return found

    def boundary(self, position: int) -> str | None:
        """The commit of the last transaction up to a position that was folded."""
        with self._ledger.database.hold():
            return next((commit for (commit,) in self._ledger.ask(_BOUNDARY, position)), None)

    def blobs(self) -> tuple[str, ...]:
        """All blobs in the history that somebody may ask for as a pre-image."""
        with self._ledger.database.hold():
            return tuple(blob for (blob,) in self._ledger.ask("SELECT DISTINCT blob FROM folded WHERE blob <> ''"))

    def drop(self, position: int, keep: Iterable[str]) -> None:
        """Forget where the pre-images up to a position are, but for those to `keep`; raises `CommitFailed`.

        Until `dropped` is called, `dropping` tells the position: so whoever is killed meanwhile can be followed by another.
        """
        kept = set(keep)
        with self._ledger.database.hold():
            found = self._ledger.ask("SELECT preimage FROM folded WHERE tx <= ? AND blob <> ''", position)
            gone = [(_bytes(name),) for (name,) in found if name not in kept]
            try:
                connection = self._ledger.database.writable()
                connection.execute("BEGIN IMMEDIATE")
                try:
                    connection.executemany(_FORGET, gone)
                    connection.execute(_NOTE, ("dropping", str(position)))
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
            except Exception as error:
                raise CommitFailed(f"nothing was stored: {error}") from error

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
        with self._ledger.database.hold():
            return next(((tx, commit, aside) for tx, commit, aside in self._ledger.ask(_LAST)), (0, None, None))

    def commit_of(self, position: int) -> str | None:
        """The commit of a transaction that was folded, in hexadecimal."""
        with self._ledger.database.hold():
            return next((commit for (commit,) in self._ledger.ask(_COMMIT, position)), None)

    def pending(self, limit: int) -> tuple[Unfolded, ...]:
        """The first `limit` transactions that are not folded, oldest first."""
        with self._ledger.database.hold():
            rows = self._ledger.ask(_UNFOLDED, self.last()[0], limit)
            calls = self._calls_since(rows[0][0]) if rows else {}
            return tuple(Unfolded(seq, name, session, *calls.get(seq, _NO_CALL)) for seq, name, session in rows)

    def find(self, preimage: str) -> Stored | None:
        """Where a pre-image is that was folded, by its name in staging."""
        with self._ledger.database.hold():
            return next((Stored(*row) for row in self._ledger.ask(_BLOB, _bytes(preimage))), None)

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
    ) -> bool:
        """Note the commits of transactions, and where their pre-images are, in one step; raises `CommitFailed`.

        False, with nothing noted, when somebody else has folded since the transaction `after` was the last.
        """
        ledger = self._ledger
        with ledger.database.hold():
            try:
                ledger.settle()
                connection = ledger.database.writable()
                connection.execute("BEGIN IMMEDIATE")
                try:
                    if self.last()[0] != after:
                        connection.execute("ROLLBACK")
                        return False
                    connection.executemany("INSERT INTO folds (tx, commit_id) VALUES (?, ?)", commits)
                    connection.executemany(
                        "INSERT OR REPLACE INTO folded VALUES (CAST(? AS TEXT), ?, ?, ?, ?)",
                        ((_bytes(name), tx, one.blob, one.digest, one.attributes) for name, tx, one in stored),
                    )
                    connection.execute(_NOTE, ("attributes", attributes))
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
            except Exception as error:
                raise CommitFailed(f"nothing was stored: {error}") from error
        return True

    def _calls_since(self, first: int) -> dict[int, _Call]:
        """The outermost call of each transaction from a position on; no index leads to them, but they are the last."""
        limit = 64
        while True:
            rows = self._ledger.ask(_CALLS, limit)
            if len(rows) < limit or rows[-1][0] < first:
                break
            limit *= 8
        return {
            tx: (seq, call_id, tool, moment(started), timedelta(microseconds=took))
            for tx, seq, call_id, tool, started, took in reversed(rows)
        }


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")
