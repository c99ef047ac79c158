"""What `record.db` looks like inside, and how to tell it from anything else."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from wink.errors import RecordCorrupt, RecordTooNew
from wink.record._changes import move_changes

if TYPE_CHECKING:
    import sqlite3

VERSION: Final = 8
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
    # inverse: JSON that takes the deltas back (see `_inverse`) of what was written outside of calls; reverts: JSON list of
    # the positions that it took back; changed: JSON of what it changed among the files (see `_changes`); chain: what
    # commits it to the transaction before it, with the last call where there is one (see `_calls`)
    "transactions": """(
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL, session INTEGER NOT NULL, committed INTEGER NOT NULL,
        deltas INTEGER NOT NULL, changes INTEGER NOT NULL, inverse TEXT, reverts TEXT, changed TEXT, chain BLOB
    ) STRICT""",
    # times in microseconds, since the epoch or as a length; a nested call has its outer call's tx; run and approval: what
    # an outermost call belonged to, and which answer of a person it used; error: what an exception said that ended it;
    # plugin: what offered the tool, its name, distribution and version with spaces between them; …_text: which row of
    # `texts` has that column's text, once it was moved there; written: with the last call of a transaction, JSON of what
    # that wrote to slices (see `_slices`), until it is in `slice_items` and `inverse` takes it back
    "calls": """(
        seq INTEGER PRIMARY KEY, tx INTEGER NOT NULL, call_id TEXT NOT NULL, tool TEXT NOT NULL, prompt TEXT NOT NULL,
        outcome TEXT NOT NULL, started_at INTEGER NOT NULL, duration INTEGER NOT NULL, decisions TEXT NOT NULL,
        arguments TEXT NOT NULL, rendered TEXT NOT NULL, effects TEXT NOT NULL, inverse TEXT, run TEXT, approval INTEGER,
        error TEXT, plugin TEXT, arguments_text INTEGER, rendered_text INTEGER, inverse_text INTEGER,
        written TEXT, chain BLOB
    ) STRICT""",
    # the long texts of calls, each once: digest is a SHA-256; it is `size` bytes at `at` in what a block has, unpacked
    "texts": """(
        id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, block INTEGER NOT NULL, at INTEGER NOT NULL,
        size INTEGER NOT NULL
    ) STRICT""",
    # many texts one after the other, compressed as one with zstd; size: how many bytes they were together
    "text_blocks": "(id INTEGER PRIMARY KEY, size INTEGER NOT NULL, content BLOB NOT NULL) STRICT",
    "slices": """(
        id INTEGER PRIMARY KEY, session INTEGER NOT NULL, type TEXT NOT NULL, policy TEXT NOT NULL,
        UNIQUE (session, type)
    ) STRICT""",
    # live items only, in the order of the slice: by transaction, then within it; value is JSON. What the calls after
    # `applied` in `meta` wrote is still with them
    "slice_items": """(
        slice INTEGER NOT NULL, tx INTEGER NOT NULL, n INTEGER NOT NULL, key TEXT, value TEXT NOT NULL,
        PRIMARY KEY (slice, tx, n)
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
    # what models said in runs, masked and cut (see `runs/_said`). position: the last call before the turn; note: what the
    # run said after it; upto: how many characters of the run are kept up to here
    "said": """(
        run INTEGER NOT NULL, n INTEGER NOT NULL, position INTEGER NOT NULL, at INTEGER NOT NULL, model TEXT NOT NULL,
        input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL,
        upto INTEGER NOT NULL, text TEXT NOT NULL, thinking TEXT NOT NULL, note TEXT NOT NULL,
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
    5: ("texts", "text_blocks"),
    7: ("said",),
}
"""The tables that came with each format after the first."""
_COLUMNS_SINCE: Final = {
    "calls": (
        *("run TEXT", "approval INTEGER", "error TEXT", "plugin TEXT"),
        *("arguments_text INTEGER", "rendered_text INTEGER", "inverse_text INTEGER", "written TEXT", "chain BLOB"),
    ),
    "transactions": ("changed TEXT", "chain BLOB"),
    "runs": tuple(
        f"{name} INTEGER NOT NULL DEFAULT 0" for name in ("turns", "input_tokens", "output_tokens", "cached_tokens")
    ),
}
"""The columns that came with later formats, in their order."""

_ALL_APPLIED: Final = "INSERT OR REPLACE INTO meta (key, value) SELECT 'applied', ifnull(max(seq), 0) FROM calls"

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
    # Triggers that came with a workspace would run inside our transactions.
    is_plain = all(kind in ("table", "index") for kind, _ in found[2])
    if found[1] == APPLICATION_ID and 1 <= found[0] < VERSION and is_plain:
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
    """Add to a record of an earlier format the tables and columns that came since, and put each change with its transaction."""
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
        if found[0] < 6:
            move_changes(connection)
            connection.execute(_ALL_APPLIED)
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
