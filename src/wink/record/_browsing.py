"""Read calls a page at a time, and sum them up, for those who look at many of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from wink.filesystem import FileChange
from wink.record._calls import moment
from wink.record._changes import read_changes

if TYPE_CHECKING:
    from wink.record._record import Record

# Long arguments are shown in brief in a list, so only their beginning is read.
_BRIEF: Final = 600
_SHOWN_PATHS: Final = 3
_PAGE: Final = """SELECT c.seq, c.tx, s.name, t.committed, c.tool, c.outcome, c.started_at, c.duration,
    substr(c.arguments, 1, ?), t.changes, c.call_id
    FROM calls c CROSS JOIN transactions t ON t.seq = c.tx CROSS JOIN sessions s ON s.id = t.session"""
_PATHS: Final = f"""SELECT tx, path, before_kind, after_kind FROM changes
    WHERE tx IN (SELECT value FROM json_each(?)) AND n < {_SHOWN_PATHS} ORDER BY tx, n"""
_SUMS: Final = """SELECT s.name, c.tool, CASE WHEN c.outcome <> 'committed' THEN c.outcome WHEN t.committed THEN 'ok'
    ELSE 'rolled back' END, count(*), sum(c.duration), max(c.seq), min(c.started_at), max(c.started_at)
    FROM calls c CROSS JOIN transactions t ON t.seq = c.tx CROSS JOIN sessions s ON s.id = t.session
    WHERE c.seq > ? GROUP BY 1, 2, 3"""
_SLICES: Final = """SELECT slices.id, type, policy, (SELECT count(*) FROM slice_items WHERE slice = slices.id)
    FROM slices JOIN sessions ON sessions.id = session WHERE name = ? ORDER BY type"""
_ITEMS: Final = "SELECT key, value FROM slice_items WHERE slice = ? ORDER BY tx DESC, n DESC LIMIT ?"
_LATEST: Final = """SELECT name, type, (SELECT value FROM slice_items WHERE slice = slices.id ORDER BY tx DESC, n DESC LIMIT 1)
    FROM slices JOIN sessions ON sessions.id = session WHERE type LIKE ? ORDER BY slices.id"""
_TOUCHING: Final = """SELECT DISTINCT tx FROM changes CROSS JOIN transactions ON seq = tx
    WHERE tx >= ? AND path IN (SELECT value FROM json_each(?)) AND committed = 1"""
_MARKS: Final = """SELECT (SELECT ifnull(max(seq), 0) FROM calls),
    (SELECT ifnull(max(seq), 0) FROM transactions), (SELECT ifnull(max(seq), 0) FROM transactions WHERE reverts IS NOT NULL)"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which calls are wanted; what is empty leaves all in.

    `outcome` is a word of `ending`; `path` is part of a path, or a pattern with `*` and `?`; `text` may stand anywhere in
    the call.
    """

    session: str = ""
    tool: str = ""
    outcome: str = ""
    path: str = ""
    text: str = ""

    def __bool__(self) -> bool:
        return bool(self.session or self.tool or self.outcome or self.path or self.text)


@dataclass(frozen=True, slots=True)
class Line:
    """One call in brief; `arguments` is the beginning of its JSON, `paths` the first that it changed with how it did."""

    position: int
    transaction: int
    session: str
    tool: str
    ending: str
    started_at: datetime
    duration: timedelta
    arguments: str
    changes: int
    paths: tuple[tuple[str, str], ...]
    call_id: str


@dataclass(frozen=True, slots=True)
class Sum:
    """What the calls of one session to one tool that ended alike come to; times from the first to the last beginning."""

    session: str
    tool: str
    ending: str
    calls: int
    duration: timedelta
    last: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class Slice:
    """One slice of a session: its type as `module:Qualname`, its policy, and how many items it has."""

    number: int
    type: str
    policy: str
    items: int


class Browsing:
    """Questions about many calls of one record; all of them only read, and need no lease."""

    __slots__ = ("_ledger",)

    def __init__(self, record: Record) -> None:
        self._ledger = record._ledger  # pyright: ignore[reportPrivateUsage]  # of this package

    def marks(self) -> tuple[int, int, int]:
        """The last call, the last transaction, and the last one that took others back; 0 where there is none."""
        return next(((call, tx, undo) for call, tx, undo in self._ask(_MARKS)), (0, 0, 0))

    def page(
        self,
        wanted: Wanted,
        *,
        before: int | None = None,
        limit: int = 50,
        undone: Iterable[int] = (),
    ) -> tuple[Line, ...]:
        """The newest calls that are wanted, those before a position if there is one; `undone` are transactions."""
        taken_back = frozenset(undone)
        where, values = _where(wanted, taken_back)
        if before is not None:
            where, values = [*where, "c.seq < ?"], [*values, before]
        condition = f" WHERE {' AND '.join(where)}" if where else ""
        rows = self._ask(f"{_PAGE}{condition} ORDER BY c.seq DESC LIMIT ?", _BRIEF, *values, limit)
        paths: dict[int, list[tuple[str, str]]] = {}
        changing = json.dumps(sorted({row[1] for row in rows if row[9]}))
        for tx, path, old, new in self._ask(_PATHS, changing) if len(changing) > 2 else ():
            paths.setdefault(tx, []).append(
                (path, "created" if old is None else "deleted" if new is None else "modified")
            )
        return tuple(
            Line(
                position,
                tx,
                session,
                tool,
                _ending(outcome, bool(committed), tx in taken_back),
                moment(started),
                timedelta(microseconds=took),
                arguments,
                changes,
                tuple(paths.get(tx, ())),
                call_id,
            )
            for position, tx, session, committed, tool, outcome, started, took, arguments, changes, call_id in rows
        )

    def sums(self, after: int = 0) -> tuple[Sum, ...]:
        """What the calls after a position come to, by session, tool and how they ended; whether undone is left out."""
        return tuple(
            Sum(name, tool, ending, calls, timedelta(microseconds=took), last, moment(first), moment(end))
            for name, tool, ending, calls, took, last, first, end in self._ask(_SUMS, after)
        )

    def slices(self, session: str) -> tuple[Slice, ...]:
        """The slices of a session, by type."""
        return tuple(Slice(*row) for row in self._ask(_SLICES, session))

    def items(self, number: int, limit: int) -> tuple[tuple[str | None, str], ...]:
        """Key and JSON of the last items of a slice, newest first."""
        return tuple((key, value) for key, value in self._ask(_ITEMS, number, limit))

    def latest(self, name: str) -> tuple[tuple[str, str, str], ...]:
        """Session, type and JSON of the last item of every slice whose class has this name."""
        pattern = f"%:{name}"
        return tuple(
            (session, kind, value) for session, kind, value in self._ask(_LATEST, pattern) if value is not None
        )

    def changes_around(self, paths: Iterable[str], first: int) -> tuple[tuple[int, FileChange], ...]:
        """What was committed from a position on by transactions that touched some paths, and the paths that files of those
        were moved to; oldest first, each with its transaction's position.
        """
        found: dict[int, tuple[FileChange, ...]] = {}
        known, new = set[str](), set(paths)
        with self._ledger.database.hold():
            while new:
                known |= new
                named = json.dumps(sorted(new))
                for (tx,) in self._ledger.ask(_TOUCHING, first, named):
                    if tx not in found:
                        found[tx] = read_changes(self._ledger.ask, tx)
                new = {path for made in found.values() for path in _moved(made, known)} - known
        return tuple((tx, change) for tx in sorted(found) for change in found[tx])

    def _ask(self, sql: str, *values: object) -> Sequence[tuple[Any, ...]]:
        with self._ledger.database.hold():
            return self._ledger.ask(sql, *values)


def _moved(made: Sequence[FileChange], paths: set[str]) -> Iterator[str]:
    """Where one transaction put the files that were at some paths and are not there any more."""
    gone = {
        change.before.kept.inode
        for change in made
        if change.path in paths
        and change.after is None
        and change.before is not None
        and change.before.kept is not None
    }
    for change in made if gone else ():
        if change.after is not None and change.after.kept is not None and change.after.kept.inode in gone:
            yield change.path


def _ending(outcome: str, committed: bool, undone: bool) -> str:
    """In a word, what became of a call."""
    if outcome != "committed":
        return outcome
    if not committed:
        return "rolled back"
    return "undone" if undone else "ok"


def _where(wanted: Wanted, undone: frozenset[int]) -> tuple[list[str], list[object]]:
    where: list[str] = []
    values: list[object] = []
    for column, value in (("s.name", wanted.session), ("c.tool", wanted.tool)):
        if value:
            where.append(f"{column} = ?")
            values.append(value)
    if wanted.outcome in ("ok", "undone"):
        where.append(
            "c.outcome = 'committed' AND t.committed = 1 AND "
            f"c.tx {'NOT ' if wanted.outcome == 'ok' else ''}IN (SELECT value FROM json_each(?))"
        )
        values.append(json.dumps(sorted(undone)))
    elif wanted.outcome == "rolled back":
        where.append("(c.outcome = 'rolled back' OR (c.outcome = 'committed' AND t.committed = 0))")
    elif wanted.outcome:
        where.append("c.outcome = ?")
        values.append(wanted.outcome)
    if wanted.path:
        is_pattern = "*" in wanted.path or "?" in wanted.path
        test = "GLOB ?" if is_pattern else "LIKE ? ESCAPE '\\'"
        value = wanted.path.replace("[", "[[]") if is_pattern else f"%{_literal(wanted.path)}%"
        where.append(f"c.tx IN (SELECT tx FROM changes WHERE path {test} OR moved_from {test})")
        values += [value, value]
    if wanted.text:
        columns = ("c.arguments", "c.rendered", "c.tool", "c.decisions", "c.call_id", "c.error")
        # Arguments are JSON, in which the same text may stand escaped.
        texts = dict.fromkeys(
            (wanted.text, json.dumps(wanted.text)[1:-1], json.dumps(wanted.text, ensure_ascii=False)[1:-1])
        )
        tests = [f"{column} LIKE ? ESCAPE '\\'" for _ in texts for column in columns]
        where.append(f"({' OR '.join(tests)})")
        values += [f"%{_literal(text)}%" for text in texts for _ in columns]
    return where, values


def _literal(text: str) -> str:
    """Text for LIKE in which nothing stands for anything else."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
