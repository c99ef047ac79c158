"""Keep what every file of a workspace was, so that what somebody changes can be taken back; with the user, never exported.

Content is stored once each, by its SHA-256, within a budget: over it the largest goes first. What a rule keeps from being read is
known by a keyed digest alone, which tells that it has changed and nothing of what it was. It survives the end of the process
at any step: what was not committed is found again by looking. One that is damaged is set aside, and another one begun.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any, Final, NamedTuple

from wink.state import is_plain
from wink_attach._settings import BUDGET
from wink_attach._tree import Status, is_inner

_PRAGMAS: Final = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16000;"
_STATUS: Final = f"[{', '.join(['%d'] * len(Status._fields))}]"
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS files (path BLOB PRIMARY KEY, status TEXT NOT NULL, digest BLOB NOT NULL, target BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS blobs (digest BLOB PRIMARY KEY, size INTEGER NOT NULL, content BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS largest ON blobs (size);
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS calls (id TEXT PRIMARY KEY, call TEXT NOT NULL) WITHOUT ROWID;
"""
_NAME: Final = "baseline.db"
_FILES: Final = (_NAME, f"{_NAME}-wal", f"{_NAME}-shm")
_ASIDE: Final = "damaged"
_DISTRUSTED: Final = "distrusted"
_DAMAGE: Final = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT)
_WORKSPACE: Final = "workspace"
_REBUILT: Final = "rebuilt"
_BUDGET: Final = "budget"
_LEAST: Final = 0.9
_UNKEPT: Final = "SELECT path FROM files WHERE digest != x'' AND digest NOT IN (SELECT digest FROM blobs)"
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
    """What was at every path, in memory and on the disk. `is_new` where nothing was known yet.

    `budget` are the bytes of content that are kept. `unkept` are files whose content there was no room for, and now may be.

    `directory` is this user's alone. One of another `workspace` is dropped: of a directory that was deleted since, say.
    `damage` says what was wrong with one that was set aside, "" for nothing.
    """

    def __init__(self, directory: str, *, budget: int = BUDGET, workspace: str = "") -> None:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        self._directory: Final = directory
        self._budget = budget
        self._is_in_transaction = self._is_swept = False
        self.damage = (
            "it was found to be damaged" if os.path.lexists(f"{directory}/{_DISTRUSTED}") else _oddity(directory)
        )
        if self.damage:
            _set_aside(directory)
        try:
            self._database, self.entries = _opened(directory, workspace)
        except (sqlite3.Error, ValueError, TypeError) as error:
            if not is_damage(error):
                raise
            self.damage = f"{type(error).__name__}: {error}"
            _set_aside(directory)
            self._database, self.entries = _opened(directory, workspace)
        self.is_new: Final = self.fact("complete") is None
        key = self.fact("key")
        if key is None:
            key = os.urandom(32).hex()
            self.note("key", key)
        if self.damage:
            self.note(_REBUILT, self.damage)
        self._key: Final = bytes.fromhex(key)
        self._size: int = self._database.execute("SELECT ifnull(sum(size), 0) FROM blobs").fetchone()[0]
        self.unkept: Final = frozenset(self._fit())

    def close(self) -> None:
        """Write what is to be written."""
        self.commit()
        self._database.close()

    def put(self, path: str, entry: Entry, content: bytes | None = None) -> None:
        """Note what is at a path, with its content where that is to be kept."""
        self._begin()
        self._is_swept = False
        self.entries[path] = entry
        row = os.fsencode(path), _STATUS % entry.status, entry.digest, os.fsencode(entry.target)
        self._database.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", row)
        if content is not None and entry.digest:
            done = self._database.execute(
                "INSERT OR IGNORE INTO blobs VALUES (?, ?, ?)", (entry.digest, len(content), content)
            )
            self._size += len(content) if done.rowcount > 0 else 0
            if self._size > self._budget:
                self._make_room()  # with the row above, without which nobody would have this content

    def drop(self, path: str) -> None:
        """Note that nothing is at a path."""
        self._begin()
        self._is_swept = False
        self.entries.pop(path, None)
        self._database.execute("DELETE FROM files WHERE path = ?", (os.fsencode(path),))

    def content(self, entry: Entry) -> bytes | None:
        """What a file held, None where that is not kept."""
        row = self._database.execute("SELECT content FROM blobs WHERE digest = ?", (entry.digest,)).fetchone()
        return None if row is None or hashlib.sha256(row[0]).digest() != entry.digest else row[0]

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
        """Forget content that no file has any more; nothing to do unless something was noted since the last time."""
        if self._is_swept:
            return
        self._is_swept = True
        self._begin()
        self._database.execute(_UNUSED)
        self._size = self._database.execute("SELECT ifnull(sum(size), 0) FROM blobs").fetchone()[0]
        self.commit()

    def distrust(self) -> None:
        """Have the next one begin anew, since what is in this one cannot be had."""
        os.close(os.open(f"{self._directory}/{_DISTRUSTED}", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))

    @property
    def size(self) -> int:
        """Bytes of content that are kept."""
        return self._size

    def _begin(self) -> None:
        if not self._is_in_transaction:
            self._database.execute("BEGIN")
            self._is_in_transaction = True

    def _fit(self) -> Iterator[str]:
        """Let go of what is over a budget that became smaller; gives the files that have no content here, where it grew."""
        before = int(self.fact(_BUDGET) or self._budget)
        if self._size > self._budget:
            self._begin()
            self._make_room()
            self.commit()
        if before < self._budget:
            for (path,) in self._database.execute(_UNKEPT):
                yield os.fsdecode(path)
        self.note(_BUDGET, str(self._budget))

    def _make_room(self) -> None:
        """Forget what no file has, then the largest until the rest is well below the budget."""
        self._database.execute(_UNUSED)
        self._size = self._database.execute("SELECT ifnull(sum(size), 0) FROM blobs").fetchone()[0]
        while self._size > self._budget * _LEAST:
            digest, size = self._database.execute(
                "SELECT digest, size FROM blobs ORDER BY size DESC LIMIT 1"
            ).fetchone()
            self._database.execute("DELETE FROM blobs WHERE digest = ?", (digest,))
            self._size -= size


def is_damage(error: Exception) -> bool:
    """Whether an error says that what is in a baseline is not what was written, and not that it cannot be had just now."""
    return not isinstance(error, sqlite3.Error) or getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE


def condition(directory: str) -> tuple[bool, str]:
    """Whether a baseline is whole, and what is to be said of it, for `wink doctor`; of none, nothing."""
    if not os.path.lexists(f"{directory}/{_NAME}"):
        return True, ""
    if problem := _oddity(directory):
        return False, problem
    try:
        with closing(sqlite3.connect(f"file:{_quoted(directory)}/{_NAME}?mode=ro", uri=True)) as database:
            (told,) = database.execute("PRAGMA quick_check(1)").fetchone()
            rebuilt = database.execute("SELECT value FROM facts WHERE name = ?", (_REBUILT,)).fetchone()
    except sqlite3.Error as error:
        return not is_damage(error), str(error)
    if told != "ok":
        return False, str(told)
    return True, "" if rebuilt is None else f"another one was begun, since the one before was damaged: {rebuilt[0]}"


def _opened(directory: str, workspace: str) -> tuple[sqlite3.Connection, dict[str, Entry]]:
    """The database of one workspace and what it has of files; raises for what is damaged."""
    while True:
        database = sqlite3.connect(f"{directory}/{_NAME}", isolation_level=None)
        try:
            database.executescript(_PRAGMAS + _TABLES)
            known = database.execute("SELECT value FROM facts WHERE name = ?", (_WORKSPACE,)).fetchone()
            if known is None or known[0] == workspace:
                database.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (_WORKSPACE, workspace))
                return database, dict(_entries(database))
        except BaseException:
            database.close()
            raise
        database.close()
        for name in _FILES:
            with suppress(FileNotFoundError):
                os.unlink(f"{directory}/{name}")


def _entries(database: sqlite3.Connection) -> Iterator[tuple[str, Entry]]:
    for row, status, digest, target in database.execute("SELECT * FROM files"):
        path = os.fsdecode(row)
        if not path or not is_inner(path):
            raise ValueError(f"{path!r} is no path in a workspace")
        yield path, Entry(Status(*json.loads(status)), digest, os.fsdecode(target))


def _oddity(directory: str) -> str:
    """What is wrong with the files of a baseline as such; "" for nothing."""
    for name in _FILES:
        try:
            found = os.lstat(f"{directory}/{name}")
        except FileNotFoundError:
            continue
        if not is_plain(found):
            return f"{name} is no plain file of its own"
    return ""


def _set_aside(directory: str) -> None:
    """Move a damaged baseline out of the way, in the place of the one before."""
    aside = f"{directory}/{_ASIDE}"
    shutil.rmtree(aside, ignore_errors=True)
    os.mkdir(aside, 0o700)
    for name in (*_FILES, _DISTRUSTED):
        with suppress(FileNotFoundError):
            os.rename(f"{directory}/{name}", f"{aside}/{name}")


def _quoted(path: str) -> str:
    from urllib.parse import quote

    return quote(os.fsencode(path))
