"""What `record.db` looks like inside, and how to tell it from anything else."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from wink.errors import RecordCorrupt, RecordTooNew

if TYPE_CHECKING:
    import sqlite3

VERSION: Final = 5
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
    # times in microseconds, since the epoch or as a length; a nested call has its outer call's tx; run and approval: what
    # an outermost call belonged to, and which answer of a person it used; error: what an exception said that ended it;
    # plugin: what offered the tool, its name, distribution and version with spaces between them
    "calls": """(
        seq INTEGER PRIMARY KEY, tx INTEGER NOT NULL, call_id TEXT NOT NULL, tool TEXT NOT NULL, prompt TEXT NOT NULL,
        outcome TEXT NOT NULL, started_at INTEGER NOT NULL, duration INTEGER NOT NULL, decisions TEXT NOT NULL,
        arguments TEXT NOT NULL, rendered TEXT NOT NULL, effects TEXT NOT NULL, inverse TEXT, run TEXT, approval INTEGER,
        error TEXT, plugin TEXT
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
    # named by where it lies in staging; `after_digest` is a SHA-256, of a git index with what it says after a space; `content` is what a rolled-back call had written, since nothing else keeps it, and
    # `before_content` what it had found, in a record that was brought here without its files
    "changes": """(
        tx INTEGER NOT NULL, n INTEGER NOT NULL, path TEXT NOT NULL, moved_from TEXT,
        before_kind TEXT, before_size INTEGER, before_mode INTEGER, before_target TEXT, before_inode INTEGER,
        before_time INTEGER, preimage TEXT,
        after_kind TEXT, after_size INTEGER, after_mode INTEGER, after_target TEXT, after_inode INTEGER,
        after_time INTEGER, after_digest TEXT, content BLOB,
        before_content BLOB,
        PRIMARY KEY (tx, n)
    ) STRICT, WITHOUT ROWID""",
    # what has been folded into the git store, oldest first without a gap: the commit of a transaction, in hexadecimal
    "folds": "(tx INTEGER PRIMARY KEY, commit_id TEXT NOT NULL) STRICT",
    # where a pre-image that was freed lies in the store: git's id of the blob, the SHA-256 of its content, and
    # what else the file had, as JSON; of one that was given up only the digest stays, and the blob is empty
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
    # calls that people were asked about. arguments: JSON; policies: JSON, what each asking one said; facts: JSON, the state
    # of the files concerned; edited: other arguments that a person gave, edited_facts: the state of what those concern
    "approvals": """(
        id INTEGER PRIMARY KEY, session TEXT NOT NULL, run TEXT NOT NULL, call_id TEXT NOT NULL, tool TEXT NOT NULL,
        effects TEXT NOT NULL, arguments TEXT NOT NULL, policies TEXT NOT NULL, facts TEXT NOT NULL,
        fingerprint TEXT NOT NULL, state TEXT NOT NULL, at INTEGER NOT NULL, answered_at INTEGER,
        note TEXT NOT NULL, edited TEXT, edited_facts TEXT, instead INTEGER
    ) STRICT""",
    # calls that act on the outside world and have begun; a row that stays tells that nobody knows how its call ended
    "started": """(
        id TEXT PRIMARY KEY, session TEXT NOT NULL, run TEXT NOT NULL, call_id TEXT NOT NULL, tool TEXT NOT NULL,
        arguments TEXT NOT NULL, at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID""",
    # plan: JSON, what the run was started with; place: which file the record was then, so that a run that came with a
    # workspace from somewhere is not taken for one of ours; turns and tokens add up, of ended runs too
    "runs": """(
        id INTEGER PRIMARY KEY, session TEXT NOT NULL, plan TEXT NOT NULL, place TEXT NOT NULL, state TEXT NOT NULL,
        problem TEXT NOT NULL,
        started_at INTEGER NOT NULL, changed_at INTEGER NOT NULL, attempt INTEGER NOT NULL,
        turns INTEGER NOT NULL DEFAULT 0, input_tokens INTEGER NOT NULL DEFAULT 0,
        output_tokens INTEGER NOT NULL DEFAULT 0, cached_tokens INTEGER NOT NULL DEFAULT 0
    ) STRICT""",
    # position: the last call before the turn; turn and replies as JSON, no replies while it is not answered
    "run_turns": """(
        run INTEGER NOT NULL, n INTEGER NOT NULL, position INTEGER NOT NULL, turn TEXT NOT NULL, replies TEXT,
        PRIMARY KEY (run, n)
    ) STRICT, WITHOUT ROWID""",
    # the rendered prompts that runs were sent, each text once: by its SHA-256
    "prompts": "(digest TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID",
    # position: the last call before the prompt was rendered; tools: JSON list of the names that it showed
    "run_prompts": """(
        run INTEGER NOT NULL, n INTEGER NOT NULL, position INTEGER NOT NULL, at INTEGER NOT NULL, prompt TEXT NOT NULL,
        digest TEXT NOT NULL, tools TEXT NOT NULL,
        PRIMARY KEY (run, n)
    ) STRICT, WITHOUT ROWID""",
    # what happened beside calls, in order. position: the last call before it; run: 0 where it belongs to none; data: JSON
    "events": """(
        seq INTEGER PRIMARY KEY, position INTEGER NOT NULL, at INTEGER NOT NULL, kind TEXT NOT NULL, session TEXT NOT NULL,
        run INTEGER NOT NULL, data TEXT NOT NULL
    ) STRICT""",
}
INDEXES: Final = {
    "slice_keys": "UNIQUE INDEX slice_keys ON slice_items (slice, key) WHERE key IS NOT NULL",
    # Recovery asks for transactions that left something among the files; all others would only pay for it.
    "changing": "INDEX changing ON transactions (id) WHERE changes > 0",
    "reverting": "INDEX reverting ON transactions (seq) WHERE reverts IS NOT NULL",
}

_SINCE: Final = {
    2: ("folds", "folded", "full_checkpoints"),
    3: ("approvals", "started", "runs", "run_turns"),
    4: ("prompts", "run_prompts", "events"),
}
"""The tables that came with each format after the first."""
_COLUMNS_SINCE: Final = {
    "calls": ("run TEXT", "approval INTEGER", "error TEXT", "plugin TEXT"),
    "changes": ("before_content BLOB",),
    "runs": tuple(
        f"{name} INTEGER NOT NULL DEFAULT 0" for name in ("turns", "input_tokens", "output_tokens", "cached_tokens")
    ),
}
"""The columns that came with later formats, in their order."""

_EMPTY: Final[tuple[int, int, set[tuple[str, str]]]] = (0, 0, set())
_SQLITE_BUSY: Final = 5
_WAL_PATIENCE_SECONDS: Final = 10.0


def check_or_create(path: str, connection: sqlite3.Connection, *, is_read_only: bool = False) -> bool:
    """Make an empty database a record; refuse one that is newer, damaged or another program's.

    One of an earlier format gets what it lacks. False, with nothing done, where it would have to but nothing can be
    written: then a copy has to be taken.
    """
    connection.execute("BEGIN")
    found = _look(connection)
    connection.execute("ROLLBACK")
    if not is_read_only and (found == _EMPTY or (found[1] == APPLICATION_ID and 1 <= found[0] <= VERSION)):
        use_write_ahead_log(connection)
    if found == _EMPTY:
        # Several processes may come here at once; all but the first find it done when their turn comes. Whatever goes
        # wrong, the caller closes the connection, and with it what was begun.
        connection.execute("BEGIN EXCLUSIVE")
        found = _look(connection)
        if found == _EMPTY:
            _create(connection)
            found = _look(connection)
        connection.execute("COMMIT")
    if found[1] == APPLICATION_ID and 1 <= found[0] < VERSION:
        if is_read_only:
            return False
        found = _upgraded(connection)
    version, application, objects = found
    if application != APPLICATION_ID:
        raise RecordCorrupt(path, "it is another program's database")
    if version > VERSION:
        raise RecordTooNew(path, version, VERSION)
    if version < 1:
        raise RecordCorrupt(path, f"it claims format {version}, which never was")
    if objects != {("table", name) for name in TABLES} | {("index", name) for name in INDEXES}:
        # Triggers that came with a workspace from somewhere would run inside our transactions.
        raise RecordCorrupt(path, "its tables are not those of a record")
    return True


def _upgraded(connection: sqlite3.Connection) -> tuple[int, int, set[tuple[str, str]]]:
    """Add to a record of an earlier format the tables and columns that came since."""
    connection.execute("BEGIN EXCLUSIVE")
    found = _look(connection)
    if 1 <= found[0] < VERSION:
        present = {name for _, name in found[2]}
        for since, names in _SINCE.items():
            for name in names:
                if since > found[0] and name not in present:
                    connection.execute(f"CREATE TABLE {name} {TABLES[name]}")
        for table, later in _COLUMNS_SINCE.items():
            columns = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
            for column in later:
                if column.partition(" ")[0] not in columns:
                    connection.execute(f"ALTER TABLE {table} ADD COLUMN {column}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("UPDATE meta SET value = ? WHERE key = 'format'", (str(VERSION),))
        found = _look(connection)
    connection.execute("COMMIT")
    return found


def use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switch to WAL mode, in which readers and a writer of several processes do not block one another.

    The switch is the one statement for which SQLite does not wait by itself; it is made once in a record's life, before
    anything else is written: it changes one page, and so needs no rollback journal on the disk, which wink never plays back.
    """
    if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
        return
    connection.execute("PRAGMA journal_mode = MEMORY").fetchone()
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
