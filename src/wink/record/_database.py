"""The one connection that this process has to a workspace's `record.db`.

Rules of this module:

* Nothing is created before something has to be stored, and `sqlite3` is not imported before that or before there is
  something to read.
* A connection never crosses a fork. SQLite forbids even closing an inherited one, so the child leaks it on purpose.
* Only what `_schema` recognises is written to; anything else stays as it is.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal

from wink.errors import RecordCorrupt, RecordError, RecordUnavailable, WorkspaceReadOnly
from wink.record._binding import decoded
from wink.record._schema import check_or_create
from wink.record._state import state_directory
from wink.record._texts import teach
from wink.state import is_plain, opened_directory

if TYPE_CHECKING:
    import sqlite3

Durability = Literal["process", "power"]
"""What a commit survives: the end of the process, or of the machine's power too."""

Connect = Callable[..., "sqlite3.Connection"]

_SYNCHRONOUS: Final[dict[Durability, str]] = {"process": "NORMAL", "power": "FULL"}
_BUSY_SECONDS: Final = 10.0
# A checkpoint waits for the disk, on some call's time; so there are few. The log stays below about 16 MB.
_CHECKPOINT_PAGES: Final = 4000
_DAMAGED: Final = frozenset({11, 26})
"""SQLITE_CORRUPT and SQLITE_NOTADB."""
_IMPORTED: Final = "imported"
_IO_ERROR: Final = 10
_FULL: Final = 13

_pid = os.getpid()  # kept, since it is asked for twice a call


def _forked() -> None:
    global _pid
    _pid = os.getpid()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class Database:
    """Opens the record when it is first needed, again after a fork, and again when its file was replaced."""

    __slots__ = (
        "_connect",
        "_connection",
        "_durability",
        "_file",
        "_is_crammed",
        "_lock",
        "_on_open",
        "_pid",
        "_read_only",
        "imported",
        "path",
        "state",
    )

    def __init__(
        self,
        state: str,
        *,
        durability: Durability = "process",
        on_open: Callable[[sqlite3.Connection, bool], None],
        connect: Connect | None = None,
    ) -> None:
        self.state, self.path = state, os.path.join(state, "record.db")
        self._durability: Durability = durability
        self._on_open, self._connect = on_open, connect
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._lock = threading.RLock()
        self._pid = _pid
        self._read_only = self._is_crammed = False
        self.imported: str | None = None
        """Where the record was brought from, as JSON; None for one that was made here."""

    def hold(self) -> threading.RLock:
        """The lock under which everything here must be called."""
        if self._pid != _pid:
            # Another thread of the parent may have held the lock when the process forked.
            self._lock, self._pid = threading.RLock(), _pid
            _leak(self._connection)
            self._connection = None
        return self._lock

    def existing(self) -> sqlite3.Connection | None:
        """The connection, or None while there is no record."""
        found = _file_at(self.path, self._file)
        if self._connection is not None and found == self._file:
            return self._connection
        self.abandon()
        if found is None:
            _refuse_lone_log(self.path)
            return None
        return self._open()

    def writable(self) -> sqlite3.Connection:
        """The connection, with the record created when there is none; raises `WorkspaceReadOnly`."""
        # Where there was no room, there may be some now.
        if self._connection is None or self._is_crammed or _file_at(self.path, self._file) != self._file:
            self.abandon()
            os.close(state_directory(self.state))
            self._open()
        if self.imported is not None:
            raise WorkspaceReadOnly(self.state, "it was imported, to be looked at")
        if self._is_crammed:
            raise RecordUnavailable(self.path, "the disk is full")
        if self._connection is None or self._read_only:
            raise WorkspaceReadOnly(self.state, "the directory cannot be written to")
        return self._connection

    @property
    def place(self) -> str:
        """Which file on which disk the record is, as far as it was opened; no copy of it has the same."""
        return "" if self._file is None else f"{self._file[0]:x}:{self._file[1]:x}"

    def abandon(self) -> None:
        """Close the connection, and what it had begun with it; the next use opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except Exception:
                _leak(connection)

    def error(self, error: Exception) -> RecordError:
        """What SQLite raised, in our words."""
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
            return RecordCorrupt(self.path, str(error))
        if "user-defined function" in str(error):  # the only one is that of `_texts`
            return RecordCorrupt(self.path, "the text of a call in it cannot be read")
        return RecordUnavailable(self.path, "the disk is full" if self._is_full(error) else str(error))

    def _is_full(self, error: Exception) -> bool:
        """SQLite says so only of the database itself; that there is no room for its index of the log is any I/O error."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code != _IO_ERROR:
            return code == _FULL
        try:
            return os.statvfs(self.state).f_bavail == 0
        except OSError:
            return False

    def _open(self) -> sqlite3.Connection:
        import sqlite3

        is_new = _file_at(self.path) is None
        self._read_only, self._is_crammed, self.imported = not os.access(self.state, os.W_OK), False, None
        if self._read_only and is_new:
            raise WorkspaceReadOnly(self.state, "the directory cannot be written to")
        _refuse_lone_log(self.path)
        _refuse_planted(self.state)
        try:
            try:
                connection = self._connected(alone=False)
            except sqlite3.Error as error:
                if is_new or self._read_only or not self._is_full(error):
                    raise
                # There is no room for what SQLite keeps beside a database. It can be read without that, where nobody else
                # has it open, and whoever wants to write is told.
                self._read_only = self._is_crammed = True
                connection = self._connected(alone=True)
        except sqlite3.Error as error:
            raise self.error(error) from error
        return connection

    def _connected(self, *, alone: bool) -> sqlite3.Connection:
        import sqlite3

        connection = (self._connect or sqlite3.connect)(
            _uri(self.path, self._read_only and not alone),
            uri=True,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            _prepare(connection)
            if alone:
                connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchone()
            if not check_or_create(self.path, connection, is_read_only=self._read_only):
                connection = _upgraded_copy(self.path, connection)
            for (origin,) in connection.execute("SELECT value FROM meta WHERE key = ?", (_IMPORTED,)):
                self.imported, self._read_only = origin, True
            if not self._read_only:
                connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
                connection.execute(f"PRAGMA synchronous = {_SYNCHRONOUS[self._durability]}")
            file = _file_at(self.path)
            self._on_open(connection, file == self._file)
        except BaseException:
            connection.close()
            raise
        self._connection, self._file = connection, file
        return connection


def _prepare(connection: sqlite3.Connection) -> None:
    connection.text_factory = decoded
    teach(connection)
    connection.execute("PRAGMA trusted_schema = OFF")


def _refuse_lone_log(path: str) -> None:
    """SQLite would take a log whose database is gone for rubbish, and delete it: it may hold the last calls."""
    try:
        if os.stat(f"{path}-wal", follow_symlinks=False).st_size and not (
            os.path.exists(path) and os.path.getsize(path)
        ):
            raise RecordCorrupt(f"{path}-wal", "it is the log of a record that is missing")
    except OSError:
        return


def _refuse_planted(state: str) -> None:
    """SQLite reads and writes what lies beside a database by its name, and plays back a rollback journal.

    Such a journal can name another file, which is deleted then. wink's record has a log and never a journal.
    """
    try:
        with opened_directory(state) as directory:
            for name in ("record.db", "record.db-wal", "record.db-shm", "record.db-journal"):
                with suppress(FileNotFoundError):
                    _check_plain(os.path.join(state, name), os.stat(name, dir_fd=directory, follow_symlinks=False))
    except OSError as error:
        raise RecordUnavailable(state, error.strerror or str(error)) from error


def _check_plain(path: str, found: os.stat_result) -> None:
    if path.endswith("-journal"):
        raise RecordCorrupt(path, "wink never writes one, and SQLite would play it back")
    if not is_plain(found):
        raise RecordCorrupt(path, "it is not a plain file of yours, with one name only")


def _file_at(path: str, known: tuple[int, int] | None = None) -> tuple[int, int] | None:
    # Never by opening it: closing any descriptor of a database gives up all locks that this process has on it.
    try:
        found = os.stat(path, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise RecordUnavailable(path, error.strerror or str(error)) from error
    place = found.st_dev, found.st_ino
    if place != known and not stat.S_ISREG(found.st_mode):
        raise RecordCorrupt(path, "it is not a plain file")
    return place


def create_imported(path: str, origin: str, fill: Callable[[sqlite3.Connection], None]) -> None:
    """Make a record that was brought from elsewhere, and can only be looked at; `origin` is JSON that tells from where."""
    import sqlite3

    connection = sqlite3.connect(path, isolation_level=None)
    try:
        check_or_create(path, connection)
        connection.execute("BEGIN")
        fill(connection)
        connection.execute("INSERT INTO meta (key, value) VALUES (?, ?)", (_IMPORTED, origin))
        connection.execute("COMMIT")
    finally:
        connection.close()


def _upgraded_copy(path: str, connection: sqlite3.Connection) -> sqlite3.Connection:
    """A record of an earlier format that cannot be changed, in memory and in the present one."""
    import sqlite3

    copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        connection.backup(copy)
        _prepare(copy)
        check_or_create(path, copy)
    except BaseException:
        copy.close()
        raise
    connection.close()
    return copy


def _uri(path: str, read_only: bool) -> str:
    quoted = re.sub(rb"[^\w./~-]", lambda found: b"%%%02X" % found[0][0], os.fsencode(os.path.abspath(path)))
    name = f"file:{quoted.decode()}"
    if not read_only:
        return f"{name}?mode=rwc"
    # Where nothing may be written, SQLite can only read a log whose shared memory file exists; without a log the
    # database is complete and nobody can be writing to it.
    return f"{name}?mode=ro" if os.path.exists(f"{path}-wal") else f"{name}?immutable=1"


def _leak(connection: sqlite3.Connection | None) -> None:
    """Make sure that `connection` is never closed, not even when the interpreter ends."""
    if connection is not None:
        import ctypes

        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
