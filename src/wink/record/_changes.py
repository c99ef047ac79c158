"""Write down what a transaction changed among the files, with all that is needed to find each version again.

It is one JSON value in the transaction's row: a list of the paths, and where there are any of those that files were moved
from; then for each path a list of what `_FIELDS` names. Sizes are in bytes, modes permission bits, times in nanoseconds; a
side that was not there has no kind. A pre-image is named by where it lies in staging. `after_digest` is a SHA-256, of a git
index with what it says after a space, and where there was none after two when anything of the file had changed last, in
nanoseconds; it ends with ` +` where it was learned later. `content`, in hexadecimal, is what a rolled-back call had written, since nothing else keeps it, and
`before_content` what it had found, in a record that was brought here without its files; there each may be `sha256:` and a
digest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from wink.filesystem import DIFFABLE_BYTES, FileChange, FileVersion, Kept
from wink.record._binding import as_text, loaded, refuse

if TYPE_CHECKING:
    import sqlite3

_SIDE: Final = ("kind", "size", "mode", "target", "inode", "time")
_FIELDS: Final = (
    *("moved_from", *(f"before_{name}" for name in _SIDE), "preimage"),
    *(*(f"after_{name}" for name in _SIDE), "after_digest", "content", "before_content"),
)
_NUMBERS: Final = ("_size", "_mode", "_inode", "_time")
_TYPES: Final = tuple((type(None), int if name.endswith(_NUMBERS) else str) for name in _FIELDS)
_KINDS: Final = {None, "file", "directory", "link", "other"}
_columns: Final = ", ".join(f"json_extract(one.value, '$[{at}]') AS {name}" for at, name in enumerate(_FIELDS))
CHANGES: Final = f"""(SELECT transactions.seq AS tx, transactions.id AS id, committed, one.key AS n,
    json_extract(changed, '$[0][' || (one.key - 1) || ']') AS path, {_columns}
    FROM transactions CROSS JOIN json_each(changed) AS one WHERE transactions.changes > 0 AND one.key > 0) AS"""
"""SQL for a table of all changes, one row a path, to be given a name."""
NAMES: Final = """(SELECT transactions.seq AS tx, committed, one.value AS path
    FROM transactions CROSS JOIN json_each(changed, '$[0]') AS one WHERE transactions.changes > 0) AS"""
"""The same with what is cheap to find out: the paths alone, and those that files were moved from."""

_OF_SEVERAL: Final = (
    "SELECT seq, changed FROM transactions WHERE seq IN (SELECT value FROM json_each(?)) AND changes > 0"
)
_COMMITTED: Final = """SELECT seq, changed FROM transactions
    WHERE seq BETWEEN ? AND ? AND committed = 1 AND changes > 0 ORDER BY seq"""
_DIGESTS: Final = "SELECT preimage, digest FROM folded WHERE preimage IN (SELECT value FROM json_each(?))"
_SET: Final = "UPDATE transactions SET changed = ? WHERE seq = ?"
_NEXT_CHANGED: Final = "SELECT seq FROM transactions WHERE seq > ? AND changes > 0 ORDER BY seq LIMIT 1"
_FOR_EVER: Final = 1 << 62
_NOTHING: Final = (None,) * 6

Ask = Callable[..., list[tuple[Any, ...]]]
"""Runs a question with its values, and gives all rows."""


def changes_text(changes: Sequence[FileChange], *, content_as: Callable[[bytes], bytes] | None = None) -> str:
    """Changes as they are stored; with `content_as` what was written is kept, as that says, where it is small and at hand."""
    paths = [change.path for change in changes]
    sources = [change.moved_from for change in changes if change.moved_from is not None]
    return as_text([[*paths, *sources], *[_row(change, content_as) for change in changes]])


def changes_of(ask: Ask, transactions: Iterable[int], most: int | None = None) -> dict[int, tuple[FileChange, ...]]:
    """What transactions changed, by their positions, up to so many of each; those that changed nothing are missing.

    Of a rolled-back one the versions hold what it had written.
    """
    found: dict[int, list[FileChange]] = {}
    for tx, change in _read(ask, ask(_OF_SEVERAL, as_text(sorted(transactions))), most):
        found.setdefault(tx, []).append(change)
    return {tx: tuple(changes) for tx, changes in found.items()}


def committed_changes(ask: Ask, first: int, last: int | None) -> tuple[tuple[int, FileChange], ...]:
    """All changes that were committed from one position to another, each with the position of its transaction."""
    return tuple(_read(ask, ask(_COMMITTED, first, _FOR_EVER if last is None else last), None))


def learn_digests(connection: sqlite3.Connection, learned: Iterable[tuple[str, int, str]]) -> None:
    """Add digests of what transactions had left and not read, each with the position and the path.

    Before the digest nothing stands there, and after it a space; whoever has one keeps it. It ends with ` +`, since what
    was learned later is not what the transaction is committed by.
    """
    of_each: dict[int, dict[str, str]] = {}
    for digest, tx, path in learned:
        of_each.setdefault(tx, {})[path] = digest
    for tx, digests in of_each.items():
        for (text,) in connection.execute("SELECT changed FROM transactions WHERE seq = ?", (tx,)).fetchall():
            names, *rows = _loaded(text)
            for name, row in zip(names, rows, strict=False):
                if name in digests and (row[14] or "").startswith(" "):
                    row[14] = f"{digests[name]}{row[14]} +"
            connection.execute(_SET, (as_text([names, *rows]), tx))


def move_changes(connection: sqlite3.Connection) -> None:
    """Put the changes of a record of an earlier format, which had a row each, with their transactions."""
    there = {column[1] for column in connection.execute("PRAGMA table_info(changes)")}
    fields = [name if name in there else "NULL" for name in _FIELDS]
    row = ", ".join(f"iif({name} IS NULL, NULL, hex({name}))" if name.endswith("content") else name for name in fields)
    of_one = f"SELECT path, {row} FROM changes WHERE tx = ? ORDER BY n"
    at = 0
    while (found := connection.execute(_NEXT_CHANGED, (at,)).fetchone()) is not None:
        (at,) = found
        rows = connection.execute(of_one, (at,)).fetchall()
        names = [path for path, *_ in rows] + [row[1] for row in rows if row[1] is not None]
        connection.execute(_SET, (as_text([names, *[row[1:] for row in rows]]) if rows else None, at))
    connection.execute("DROP TABLE changes")


def _row(change: FileChange, content_as: Callable[[bytes], bytes] | None) -> tuple[object, ...]:
    before, after = change.before, change.after
    # After a rollback the pre-image is back at its path.
    staged = None if content_as is not None or before is None or before.kept is None else before.kept.staged
    digest = None if after is None or after.kept is None else _identity(after.kept)
    content = after.content(DIFFABLE_BYTES) if content_as is not None and after is not None else None
    kept = None if content is None or content_as is None else content_as(content).hex()
    return (change.moved_from, *_side(before), staged, *_side(after), digest, kept, None)


def _read(ask: Ask, rows: Iterable[tuple[int, str]], most: int | None) -> Iterator[tuple[int, FileChange]]:
    """The changes in rows of position and value, oldest first, up to so many of each."""
    found = [(tx, *one) for tx, text in rows for one in _paths_and_rows(text, most)]
    named = as_text([row[7] for _, _, row in found if row[7] is not None])
    digests = dict(ask(_DIGESTS, named)) if len(named) > 2 else {}
    for tx, path, row in found:
        moved_from, *before, staged = row[:8]
        after, (digest, content, before_content) = row[8:14], row[14:]
        left = _version(before, staged, digests.get(staged), before_content)
        yield tx, FileChange(path, left, _version(after, None, digest, content), moved_from)


def _paths_and_rows(text: str, most: int | None) -> Iterator[tuple[str, list[Any]]]:
    names, *rows = _loaded(text)
    return zip(names, rows[:most], strict=False)


def _loaded(text: str) -> list[list[Any]]:
    found = loaded(text)
    names, *rows = found or [[]]
    if not rows or len(names) < len(rows) or not all(isinstance(name, str) for name in names):
        refuse()
    for row in rows:
        if len(row) != len(_TYPES) or not all(map(isinstance, row, _TYPES)) or {row[1], row[8]} - _KINDS:
            refuse()
    return found


def _identity(kept: Kept) -> str | None:
    left = str(kept.left_ns or "")
    return f"{kept.digest or ''} {kept.meaning or ''} {left}".rstrip() or None if kept.meaning or left else kept.digest


def _side(version: FileVersion | None) -> tuple[object, ...]:
    if version is None:
        return _NOTHING
    kept = version.kept
    known = (None, None) if kept is None else (kept.inode, kept.modified_ns)
    return (version.kind, version.size, version.mode, version.target, *known)


def _version(side: Sequence[Any], staged: str | None, digest: str | None, content: str | None) -> FileVersion | None:
    kind, size, mode, target, inode, modified_ns = side
    if kind is None:
        return None
    kept = None
    if inode is not None and modified_ns is not None:
        known, meaning, left = (*(digest or "").split(" "), "", "", "")[:3]
        kept = Kept(
            inode,
            modified_ns,
            staged,
            known or None,
            meaning=meaning or None,
            left_ns=int(left) if left.isdecimal() else 0,
        )
    if content is None:
        return FileVersion(kind, size, mode, target, None, kept)
    try:
        found = bytes.fromhex(content.removeprefix("sha256:"))
    except ValueError:
        refuse()
    if content.startswith("sha256:"):
        return FileVersion(kind, size, mode, target, None, kept, found.hex)
    return FileVersion(kind, size, mode, target, lambda: found, kept)
