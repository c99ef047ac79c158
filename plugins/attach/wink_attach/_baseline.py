"""Keep what every file of a workspace was, so that what somebody changes can be taken back; in the state, never exported.

Content is stored once each, by its SHA-256, within a budget: over it the largest goes first. What a rule keeps from being read is
known by a keyed digest alone, which tells that it has changed and nothing of what it was. It survives the end of the process
at any step: what was not committed is found again by looking.
"""

from __future__ import annotations

import hmac
import json
import os
import sqlite3
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from wink_attach._tree import Status

BUDGET: Final = 1 << 30
"""Bytes of content that are kept of a workspace."""

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS files (path BLOB PRIMARY KEY, status TEXT NOT NULL, digest BLOB NOT NULL, target BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS blobs (digest BLOB PRIMARY KEY, size INTEGER NOT NULL, content BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS largest ON blobs (size);
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS calls (id TEXT PRIMARY KEY, call TEXT NOT NULL) WITHOUT ROWID;
"""
_UNUSED: Final = "DELETE FROM blobs WHERE digest NOT IN (SELECT digest FROM files)"


class Entry(NamedTuple):
    """What a path was. `digest` is SHA-256, or keyed where it may not be read, and empty where it is not known yet."""

    status: Status
    digest: bytes = b""
    target: str = ""

    def is_same_as(self, other: Entry) -> bool:
        """Whether nobody could tell the two apart."""
        if self.status.mode != other.status.mode or self.target != other.target:
            return False
        return not self.status.is_file or (self.digest == other.digest and self.digest != b"")


class Baseline:
    """What was at every path, in memory and on the disk. `is_new` where nothing was known yet."""

    def __init__(self, directory: str, *, budget: int = BUDGET) -> None:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        self._database: Final = sqlite3.connect(f"{directory}/baseline.db", isolation_level=None)
        self._database.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;" + _TABLES)
        self._budget = budget
        self._is_in_transaction = False
        self.entries: Final[dict[str, Entry]] = {
            os.fsdecode(path): Entry(Status(*json.loads(status)), digest, os.fsdecode(target))
            for path, status, digest, target in self._database.execute("SELECT * FROM files")
        }
        self.is_new: Final = self.fact("complete") is None
        key = self.fact("key")
        if key is None:
            key = os.urandom(32).hex()
            self.note("key", key)
        self._key: Final = bytes.fromhex(key)
        self._size: int = self._database.execute("SELECT ifnull(sum(size), 0) FROM blobs").fetchone()[0]

    def close(self) -> None:
        """Write what is to be written."""
        self.commit()
        self._database.close()

    def put(self, path: str, entry: Entry, content: bytes | None = None) -> None:
        """Note what is at a path, with its content where that is to be kept."""
        self._begin()
        if content is not None and entry.digest:
            done = self._database.execute(
                "INSERT OR IGNORE INTO blobs VALUES (?, ?, ?)", (entry.digest, len(content), content)
            )
            self._size += len(content) if done.rowcount > 0 else 0
            if self._size > self._budget:
                self._make_room()
        self.entries[path] = entry
        row = os.fsencode(path), json.dumps(entry.status), entry.digest, os.fsencode(entry.target)
        self._database.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", row)

    def drop(self, path: str) -> None:
        """Note that nothing is at a path."""
        self._begin()
        self.entries.pop(path, None)
        self._database.execute("DELETE FROM files WHERE path = ?", (os.fsencode(path),))

    def content(self, entry: Entry) -> bytes | None:
        """What a file held, None where that is not kept."""
        row = self._database.execute("SELECT content FROM blobs WHERE digest = ?", (entry.digest,)).fetchone()
        return None if row is None else row[0]

    def keyed(self, digest: bytes) -> bytes:
        """A digest that says nothing to whoever does not have the key."""
        return hmac.digest(self._key, digest, "sha256")

    def fact(self, name: str) -> str | None:
        """Something noted under a name."""
        row = self._database.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if row is None else row[0]

    def note(self, name: str, value: str) -> None:
        """Note something under a name."""
        self._database.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def calls(self) -> Iterator[dict[str, Any]]:
        """The calls that had begun and not ended."""
        for (call,) in self._database.execute("SELECT call FROM calls").fetchall():
            yield json.loads(call)

    def begun(self, call_id: str, call: dict[str, Any]) -> None:
        """Note that a call has begun."""
        self._database.execute("INSERT OR REPLACE INTO calls VALUES (?, ?)", (call_id, json.dumps(call)))

    def ended(self, call_id: str) -> None:
        """Note that a call has ended."""
        self._database.execute("DELETE FROM calls WHERE id = ?", (call_id,))

    def commit(self) -> None:
        """Let what was put stand."""
        if self._is_in_transaction:
            self._database.execute("COMMIT")
            self._is_in_transaction = False

    def sweep(self) -> None:
        """Forget content that no file has any more."""
        self._begin()
        self._database.execute(_UNUSED)
        self._size = self._database.execute("SELECT ifnull(sum(size), 0) FROM blobs").fetchone()[0]
        self.commit()

    @property
    def size(self) -> int:
        """Bytes of content that are kept."""
        return self._size

    def _begin(self) -> None:
        if not self._is_in_transaction:
            self._database.execute("BEGIN")
            self._is_in_transaction = True

    def _make_room(self) -> None:
        """Forget what no file has, then the largest until the rest is well below the budget."""
        self._database.execute(_UNUSED)
        self._size = self._database.execute("SELECT ifnull(sum(size), 0) FROM blobs").fetchone()[0]
        while self._size > self._budget:
            digest, size = self._database.execute(
                "SELECT digest, size FROM blobs ORDER BY size DESC LIMIT 1"
            ).fetchone()
            self._database.execute("DELETE FROM blobs WHERE digest = ?", (digest,))
            self._size -= size
