"""Write down what transactions changed among the files, with all that is needed to find each version again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from wink.filesystem import FileChange, FileVersion, Kept
from wink.record._binding import run

if TYPE_CHECKING:
    import sqlite3

_INSERT: Final = """INSERT INTO changes (tx, n, path, moved_from,
    before_kind, before_size, before_mode, before_target, before_inode, before_time, preimage,
    after_kind, after_size, after_mode, after_target, after_inode, after_time, after_digest, content)
    VALUES (?, ?, CAST(? AS TEXT), CAST(? AS TEXT), ?, ?, ?, CAST(? AS TEXT), ?, ?, CAST(? AS TEXT),
        ?, ?, ?, CAST(? AS TEXT), ?, ?, ?, ?)"""
_COLUMNS: Final = """path, moved_from,
    before_kind, before_size, before_mode, before_target, before_inode, before_time, preimage,
    (SELECT digest FROM folded WHERE folded.preimage = changes.preimage), before_content,
    after_kind, after_size, after_mode, after_target, after_inode, after_time, NULL, after_digest, content"""
_OF_ONE: Final = f"SELECT {_COLUMNS} FROM changes WHERE tx = ? ORDER BY n"
_COMMITTED: Final = f"""SELECT tx, {_COLUMNS} FROM changes CROSS JOIN transactions ON seq = tx
    WHERE tx BETWEEN ? AND ? AND committed = 1 ORDER BY tx, n"""
_FOR_EVER: Final = 1 << 62
_NOTHING: Final = (None,) * 6

Ask = Callable[..., list[tuple[Any, ...]]]
"""Runs a question with its values, and gives all rows."""


def write_changes(
    connection: sqlite3.Connection,
    tx: int,
    changes: Sequence[FileChange],
    *,
    content_as: Callable[[bytes], bytes] | None = None,
) -> None:
    """Add one row for each changed path; with `content_as` keep what was written, as that says, where it is small and at hand."""
    for n, change in enumerate(changes):
        before, after = change.before, change.after
        # After a rollback the pre-image is back at its path.
        staged = None if content_as is not None or before is None or before.kept is None else before.kept.staged
        digest = None if after is None or after.kept is None else _identity(after.kept)
        content = after.content() if content_as is not None and after is not None else None
        if content is not None and content_as is not None:
            content = content_as(content)
        row = (tx, n, change.path, change.moved_from, *_side(before), staged, *_side(after), digest, content)
        run(connection, _INSERT, row)


def read_changes(ask: Ask, tx: int) -> tuple[FileChange, ...]:
    """What a transaction changed; of a rolled-back one the versions hold what it had written."""
    return tuple(_change(*row) for row in ask(_OF_ONE, tx))


def committed_changes(ask: Ask, first: int, last: int | None) -> tuple[tuple[int, FileChange], ...]:
    """All changes that were committed from one position to another, each with the position of its transaction."""
    rows = ask(_COMMITTED, first, _FOR_EVER if last is None else last)
    return tuple((tx, _change(*row)) for tx, *row in rows)


def _change(path: str, moved_from: str | None, *sides: Any) -> FileChange:
    return FileChange(path, _version(*sides[:9]), _version(*sides[9:]), moved_from)


def _identity(kept: Kept) -> str | None:
    return kept.digest if kept.meaning is None else f"{kept.digest or ''} {kept.meaning}"


def _side(version: FileVersion | None) -> tuple[object, ...]:
    if version is None:
        return _NOTHING
    kept = version.kept
    known = (None, None) if kept is None else (kept.inode, kept.modified_ns)
    return (version.kind, version.size, version.mode, version.target, *known)


def _version(
    kind: Any,
    size: int,
    mode: int,
    target: str | None,
    inode: int | None,
    modified_ns: int | None,
    staged: str | None,
    digest: str | None,
    content: bytes | None,
) -> FileVersion | None:
    if kind is None:
        return None
    kept = None
    if inode is not None and modified_ns is not None:
        known, _, meaning = (digest or "").partition(" ")
        kept = Kept(inode, modified_ns, staged, known or None, meaning=meaning or None)
    load = None if content is None else lambda: content
    return FileVersion(kind, size, mode, target, load, kept)
