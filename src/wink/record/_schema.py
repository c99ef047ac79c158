"""What `record.db` looks like inside, and how to tell it from anything else."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from wink.errors import RecordCorrupt, RecordTooNew

if TYPE_CHECKING:
    import sqlite3

VERSION: Final = 2
"""The format that is written, kept in `PRAGMA user_version`."""

APPLICATION_ID: Final = 0x77696E6B
"""`wink` in ASCII, kept in `PRAGMA application_id`, so that `file` and we can tell a record from any other database."""

# A transaction is a position: what happened before it has a smaller `seq`. A call that changes no
# file pays for no index that only a recovery or a person reads.
TABLES: Final = {
    "meta": "(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
    "sessions": """(
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, session_id TEXT NOT NULL, created_at INTEGER NOT NULL
    ) STRICT""",
    # committed: 1, or 0 for an attempt that changed nothing; deltas and changes: how many slices and paths it wrote to;
    # inverse: JSON that takes the deltas back (see `_inverse`), with the last call where there is one, for that row is
    # written when it is known; reverts: JSON list of the positions that it took back
    "transactions": """(
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL, session INTEGER NOT NULL, committed INTEGER NOT NULL,
        deltas INTEGER NOT NULL, changes INTEGER NOT NULL, inverse TEXT, reverts TEXT
    ) STRICT""",
    # times in microseconds, since the epoch or as a length; a nested call has its outer call's tx
    "calls": """(
        seq INTEGER PRIMARY KEY, tx INTEGER NOT NULL, call_id TEXT NOT NULL, tool TEXT NOT NULL, prompt TEXT NOT NULL,
        outcome TEXT NOT NULL, started_at INTEGER NOT NULL, duration INTEGER NOT NULL, decisions TEXT NOT NULL,
        arguments TEXT NOT NULL, rendered TEXT NOT NULL, effects TEXT NOT NULL, inverse TEXT
    ) STRICT""",
    "slices": """(
        id INTEGER PRIMARY KEY, session INTEGER NOT NULL, type TEXT NOT NULL, policy TEXT NOT NULL,
        UNIQUE (session, type)
    ) STRICT""",
    # live items only, in the order of the slice: by transaction, then within it; value is JSON
    "slice_items": """(
        slice INTEGER NOT NULL, tx INTEGER NOT NULL, n INTEGER NOT NULL, key TEXT, value TEXT NOT NULL,
        PRIMARY KEY (slice, tx, n)
    ) STRICT, WITHOUT ROWID""",
    # sizes in bytes, modes as permission bits, times in nanoseconds; a side that was not there has no kind. A pre-image is
    # named by where it lies in staging; `content` is what a rolled-back call had written, since nothing else keeps it
    "changes": """(
        tx INTEGER NOT NULL, n INTEGER NOT NULL, path TEXT NOT NULL, moved_from TEXT,
        before_kind TEXT, before_size INTEGER, before_mode INTEGER, before_target TEXT, before_inode INTEGER,
        before_time INTEGER, preimage TEXT,
        after_kind TEXT, after_size INTEGER, after_mode INTEGER, after_target TEXT, after_inode INTEGER,
        after_time INTEGER, after_digest TEXT, content BLOB,
        PRIMARY KEY (tx, n)
    ) STRICT, WITHOUT ROWID""",
    # what has been folded into the git store, oldest first without a gap: the commit of a transaction, in hexadecimal
    "folds": "(tx INTEGER PRIMARY KEY, commit_id TEXT NOT NULL) STRICT",
    # where a pre-image that was freed lies in the store: git's id of the blob, the SHA-256 of its content, and
    # what else the file had, as JSON
    "folded": """(
        preimage TEXT PRIMARY KEY, tx INTEGER NOT NULL, blob TEXT NOT NULL, digest TEXT NOT NULL,
        attributes TEXT NOT NULL
    ) STRICT, WITHOUT ROWID""",
    # of a checkpoint of everything: its commit, and the blob that lists what there was, by git's ids and by SHA-256
    "full_checkpoints": """(
        name TEXT PRIMARY KEY, commit_id TEXT NOT NULL, listing TEXT NOT NULL, digest TEXT NOT NULL
    ) STRICT, WITHOUT ROWID""",
    # a checkpoint is the position of the last transaction before it
    "checkpoints": "(name TEXT PRIMARY KEY, position INTEGER NOT NULL, at INTEGER NOT NULL) STRICT, WITHOUT ROWID",
}
INDEXES: Final = {
    "slice_keys": "UNIQUE INDEX slice_keys ON slice_items (slice, key) WHERE key IS NOT NULL",
    # Recovery asks for transactions that left something among the files; all others would only pay for it.
    "changing": "INDEX changing ON transactions (id) WHERE changes > 0",
    "reverting": "INDEX reverting ON transactions (seq) WHERE reverts IS NOT NULL",
}

_SINCE_2: Final = ("folds", "folded", "full_checkpoints")

_EMPTY: Final[tuple[int, int, set[tuple[str, str]]]] = (0, 0, set())
_SQLITE_BUSY: Final = 5
_WAL_PATIENCE_SECONDS: Final = 10.0


def check_or_create(path: str, connection: sqlite3.Connection) -> None:
    """Make an empty database a record; refuse one that is newer, damaged or another program's."""
    connection.execute("BEGIN")
    found = _look(connection)
    connection.execute("ROLLBACK")
    if found == _EMPTY:
        # Several processes may come here at once; all but the first find it done when their turn comes. Whatever goes
        # wrong, the caller closes the connection, and with it what was begun.
        connection.execute("BEGIN EXCLUSIVE")
        found = _look(connection)
        if found == _EMPTY:
            _create(connection)
            found = _look(connection)
        connection.execute("COMMIT")
    if found[:2] == (1, APPLICATION_ID):
        found = _upgraded(connection)
    version, application, objects = found
    if application != APPLICATION_ID:
        raise RecordCorrupt(path, "it is another program's database")
    if version > VERSION:
        raise RecordTooNew(path, version, VERSION)
    if version < VERSION:
        raise RecordCorrupt(path, f"it claims format {version}, which never was")
    if objects != {("table", name) for name in TABLES} | {("index", name) for name in INDEXES}:
        # Triggers that came with a workspace from somewhere would run inside our transactions.
        raise RecordCorrupt(path, "its tables are not those of a record")


def _upgraded(connection: sqlite3.Connection) -> tuple[int, int, set[tuple[str, str]]]:
    """Add to a record of format 1 the tables that came with format 2."""
    connection.execute("BEGIN EXCLUSIVE")
    found = _look(connection)
    if found[0] == 1:
        present = {name for _, name in found[2]}
        for name in _SINCE_2:
            if name not in present:
                connection.execute(f"CREATE TABLE {name} {TABLES[name]}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("UPDATE meta SET value = ? WHERE key = 'format'", (str(VERSION),))
        found = _look(connection)
    connection.execute("COMMIT")
    return found


def use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switch to WAL mode, in which readers and a writer of several processes do not block one another.

    The switch is the one statement for which SQLite does not wait by itself; it is made once in a record's life.
    """
    give_up = time.monotonic() + _WAL_PATIENCE_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            return
        except Exception as error:
            if getattr(error, "sqlite_errorcode", None) != _SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(0.001)


def _look(connection: sqlite3.Connection) -> tuple[int, int, set[tuple[str, str]]]:
    """Version, application id and everything that somebody created, as of one moment if inside a transaction."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    # `sql` is NULL for the indexes that a table brings by itself.
    objects = connection.execute("SELECT type, name FROM sqlite_schema WHERE sql IS NOT NULL")
    return version, application, set(objects)


def _create(connection: sqlite3.Connection) -> None:
    for name, columns in TABLES.items():
        connection.execute(f"CREATE TABLE {name} {columns}")
    for index in INDEXES.values():
        connection.execute(f"CREATE {index}")
    from wink import __version__

    meta = {"created by": f"wink {__version__}", "format": str(VERSION)}
    connection.executemany("INSERT INTO meta (key, value) VALUES (?, ?)", meta.items())
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
