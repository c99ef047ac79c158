"""Ask a record about many calls, page by page, at a cost that ten thousand others do not change much."""

from __future__ import annotations

import json
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from wink.dataclass import dataclass, replace
from wink.filesystem import FileChange
from wink.record._calls import FROM_CALLS, microseconds, moment, read_calls
from wink.record._changes import NAMES, Ask, changes_of
from wink.record._events import BEFORE, BEGINNING, LAST, Noted, Place, Turn, read_stream, read_turns
from wink.record._past import read_undone
from wink.record._slices import Delta, read_items, waiting
from wink.record._texts import texts_with
from wink.record._view import CallView
from wink.record.runs import Said, read_said

if TYPE_CHECKING:
    from wink.record._record import Record

_SEARCHED: Final = ("tool", "call_id", "arguments", "rendered", "decisions", "error")
"""The columns of a call in which text is looked for."""
_IN_PATHS: Final = f"calls.tx IN (SELECT tx FROM {NAMES} made WHERE path {{0}})"
_LIKE: Final = r"LIKE ? ESCAPE '\'"
_SESSIONS: Final = """SELECT name, session_id, created_at, ifnull(made, 0), last, last_at FROM sessions LEFT JOIN
    (SELECT session, count(*) AS made, max(calls.seq) AS last, max(started_at) AS last_at
        FROM calls CROSS JOIN transactions ON transactions.seq = tx GROUP BY session) ON session = sessions.id ORDER BY sessions.id"""
_SLICES: Final = """SELECT slices.id, type, policy, (SELECT count(*) FROM slice_items WHERE slice = slices.id)
    FROM slices JOIN sessions ON sessions.id = session WHERE name = ? ORDER BY type"""
_ITEMS: Final = "SELECT key, value FROM slice_items WHERE slice = ? ORDER BY tx DESC, n DESC LIMIT ?"
_LATEST: Final = """SELECT slices.id, name, type FROM slices JOIN sessions ON sessions.id = session WHERE type LIKE ? ORDER BY slices.id"""
_TOUCHING: Final = f"""SELECT DISTINCT tx FROM {NAMES} made
    WHERE tx >= ? AND path IN (SELECT value FROM json_each(?)) AND committed = 1"""
_MARKS: Final = """SELECT (SELECT ifnull(max(seq), 0) FROM calls),
    (SELECT ifnull(max(seq), 0) FROM transactions), (SELECT ifnull(max(seq), 0) FROM transactions WHERE reverts IS NOT NULL)"""


@dataclass(frozen=True, slots=True)
class CallFilter:
    """Which calls are meant: those that fit everything that is given; what is empty leaves all in.

    `outcome` is a word that `wink log` shows: `ok`, `undone`, `rolled back`, `denied`, `refused`, `raised`, `unknown`. `text`
    is found in tools, ids, arguments, replies, reasons, errors and paths, `path` in the paths that a call changed, both in any
    case; a `path` with `*` or `?` is a pattern of whole paths. `run` is the name of a run, `agent` that of an attached agent,
    also with a space and a subagent's id after it. With `changed` only calls that changed files, or tried to; with `since`
    those that began then or later.
    """

    session: str | None = None
    tool: str | None = None
    outcome: str | None = None
    text: str = ""
    path: str = ""
    run: str | None = None
    agent: str | None = None
    changed: bool = False
    since: datetime | None = None


EVERY: Final = CallFilter()
"""All calls."""


UNTOLD: Final = 500
"""So many calls of a run are given of which it is not known in which turn the model made them."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session, how many calls it has made, and the last of them."""

    name: str
    session_id: str
    created_at: datetime
    calls: int
    last_call: int | None
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class Slice:
    """One slice of a session: its type as `module:Qualname`, its policy, and how many items it has."""

    number: int
    type: str
    policy: str
    items: int


class StoryTurn(NamedTuple):
    """What the model said in a turn of a run, None where that is not kept, and the calls that it made then."""

    said: Said | None
    calls: tuple[CallView, ...]


class Queries:
    """Questions about a whole record, for those who look at it; each costs milliseconds at ten thousand calls.

    They only read, and need no lease.
    """

    __slots__ = ("_ledger",)

    def __init__(self, record: Record) -> None:
        self._ledger = record._ledger  # pyright: ignore[reportPrivateUsage]  # of this package

    @contextmanager
    def reading(self) -> Generator[Ask]:
        """What runs SQL with its values over the record's tables, as of one moment, and gives all rows; none while there is no record.

        For who has to look at rows as they are. The tables change with the format, and are nobody's interface.
        """
        with self._ledger.snapshot():
            yield self._ledger.ask

    def page(
        self,
        wanted: CallFilter = EVERY,
        *,
        before: int | None = None,
        after: int | None = None,
        limit: int | None = 50,
        brief: bool = False,
        width: int | None = None,
    ) -> tuple[CallView, ...]:
        """Up to `limit` calls that fit, newest first: the last ones, those before a position, or those right after one.

        With `brief` replies are left out: a list does not show them, and they are most of a record. With `width`, for a list
        of lines, so are arguments beyond so many characters, and all but the first of `changes`; `changed` counts them.
        """
        with self._ledger.database.hold():  # or a text may be moved between the questions
            undone = read_undone(self._ledger.ask)
            where, values = condition(self._ledger.ask, wanted, undone)
            calls = read_calls(
                self._ledger.ask,
                session=wanted.session or None,
                before=before,
                after=after,
                limit=limit,
                where=where,
                values=values,
                undone=undone,
                is_brief=brief,
                width=width,
            )
        return tuple(sorted(calls, key=lambda call: -call.position))

    def story(self, run: int, *, after: int = 0, limit: int = 50, brief: bool = True) -> tuple[StoryTurn, ...]:
        """Up to `limit` turns of a run after the one with a number, each with its calls, oldest first.

        Calls of which no turn is kept come first, the newest `UNTOLD` of them. `brief` is that of `page`.
        """
        with self._ledger.snapshot():
            turns = read_said(self._ledger.ask, run, after, limit + 1)
            answer = read_calls(
                self._ledger.ask,
                after=turns[0].position if turns and after else 0,
                before=turns[limit].position + 1 if len(turns) > limit else None,
                where="run = ?" if turns or not after else "0",
                values=(f"r{run}",) if turns or not after else (),
                undone=read_undone(self._ledger.ask),
                is_brief=brief,
            )
        calls = tuple(sorted(answer, key=lambda call: call.position))
        found: list[StoryTurn] = []
        at = 0
        for said, following in zip((None, *turns[:limit]), (*turns, None), strict=False):
            first = at
            while at < len(calls) and (following is None or calls[at].position <= following.position):
                at += 1
            if said is not None or first < at:
                found.append(StoryTurn(said, calls[first:at] if said is not None else calls[first:at][-UNTOLD:]))
        return tuple(found)

    def count(self, wanted: CallFilter = EVERY) -> int:
        """How many calls fit."""
        with self._ledger.database.hold():
            where, values = condition(self._ledger.ask, wanted, read_undone(self._ledger.ask))
            sql = f"SELECT count(*) {FROM_CALLS} WHERE ifnull(name = ?, 1) AND {where}"
            return next((number for (number,) in self._ledger.ask(sql, wanted.session or None, *values)), 0)

    def sessions(self) -> tuple[SessionRow, ...]:
        """All sessions with their number of calls, oldest first."""
        return tuple(
            SessionRow(name, session_id, moment(created), calls, last, None if at is None else moment(at))
            for name, session_id, created, calls, last, at in self._ledger.ask(_SESSIONS)
        )

    def slices(self, session: str) -> tuple[Slice, ...]:
        """The slices of a session, by type."""
        with self._ledger.snapshot():
            later = waiting(self._ledger.ask)
            found = [Slice(*row) for row in self._ledger.ask(_SLICES, session)]
            return tuple(
                replace(one, items=len(read_items(self._ledger.ask, one.number, later[one.number])))
                if one.number in later
                else one
                for one in found
            )

    def items(self, number: int, limit: int) -> tuple[tuple[str | None, str], ...]:
        """Key and JSON of the last items of a slice, newest first."""
        with self._ledger.snapshot():
            return self._items(number, limit, waiting(self._ledger.ask))

    def latest(self, name: str) -> tuple[tuple[str, str, str], ...]:
        """Session, type and JSON of the last item of every slice whose class has this name."""
        with self._ledger.snapshot():
            later = waiting(self._ledger.ask)
            return tuple(
                (session, kind, value)
                for number, session, kind in self._ledger.ask(_LATEST, f"%:{name}")
                for _, value in self._items(number, 1, later)
            )

    def marks(self) -> tuple[int, int, int]:
        """The last call, the last transaction, and the last one that took others back; 0 where there is none."""
        return next(((call, tx, undo) for call, tx, undo in self._ledger.ask(_MARKS)), (0, 0, 0))

    def version(self) -> tuple[object, ...]:
        """Something that differs from what it was whenever anybody has stored anything since; costs microseconds.

        Compare it with an earlier one of the same object; it says nothing by itself.
        """
        return self._ledger.version()

    def turns(self, limit: int = 1000) -> tuple[Turn, ...]:
        """What people asked attached agents for, the last turn first."""
        return read_turns(self._ledger.ask, limit)

    def last_place(self) -> Place:
        """The end of the stream of events."""
        return next((Place(*row) for row in self._ledger.ask(LAST)), BEGINNING)

    def stream(
        self, since: Place = BEGINNING, *, session: str | None = None, limit: int = 500
    ) -> tuple[tuple[Place, CallView | Noted], ...]:
        """Calls and what happened beside them after a place, oldest first, each with the place to go on from.

        The calls are told as they ended: an undo is a call of its own, and changes none before it.
        """
        with self._ledger.snapshot():  # calls and the rest as of one moment
            return read_stream(self._ledger.ask, since, session, limit)

    def whole_stream(
        self, since: Place = BEGINNING, *, session: str | None = None
    ) -> Iterator[tuple[Place, CallView | Noted]]:
        """All that `stream` gives after a place, read piece by piece."""
        while piece := self.stream(since, session=session):
            yield from piece
            since = piece[-1][0]

    def place_of(self, call: int) -> Place:
        """The place in the stream right after a call."""
        return next((Place(*row) for row in self._ledger.ask(BEFORE, call, call)), Place(call))

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
                touching = {tx for (tx,) in self._ledger.ask(_TOUCHING, first, named)}
                found |= changes_of(self._ledger.ask, touching - found.keys())
                new = {path for made in found.values() for path in _moved(made, known)} - known
        return tuple((tx, change) for tx in sorted(found) for change in found[tx])

    def _items(
        self, number: int, limit: int, later: Mapping[int, Sequence[Delta]]
    ) -> tuple[tuple[str | None, str], ...]:
        if number in later:
            return read_items(self._ledger.ask, number, later[number])[::-1][:limit]
        return tuple((key, value) for key, value in self._ledger.ask(_ITEMS, number, limit))


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


def condition(ask: Ask, wanted: CallFilter, undone: Collection[int]) -> tuple[str, Sequence[object]]:
    """SQL over `FROM_CALLS` with its values for all that is wanted but the session."""
    parts, values = ["1"], list[object]()

    def add(condition: str, *given: object) -> None:
        parts.append(condition)
        values.extend(given)

    if wanted.tool:
        add("tool = ?", wanted.tool)
    if wanted.run is not None:
        add("run = ?", wanted.run)
    if wanted.agent is not None:
        add("prompt <> '' AND instr(prompt || ' ', ?) = 1", f"{wanted.agent} ")
    if wanted.outcome in ("ok", "undone"):
        negated = "NOT " if wanted.outcome == "ok" else ""
        stands = f"calls.tx {negated}IN (SELECT value FROM json_each(?))"
        add(f"outcome = 'committed' AND committed = 1 AND {stands}", json.dumps(sorted(undone)))
    elif wanted.outcome == "rolled back":
        add("(outcome = 'rolled back' OR (outcome = 'committed' AND committed = 0))")
    elif wanted.outcome:
        add("outcome = ?", wanted.outcome)
    if wanted.since is not None:
        add("started_at >= ?", microseconds(wanted.since))
    if wanted.changed:
        add("transactions.changes > 0")
    if "*" in wanted.path or "?" in wanted.path:
        add(_IN_PATHS.format("GLOB ?"), wanted.path.replace("[", "[[]"))
    elif wanted.path:
        add(_IN_PATHS.format(_LIKE), _like(wanted.path))
    if wanted.text:
        # Arguments are JSON, in which the same text may stand escaped.
        escaped = (json.dumps(wanted.text, ensure_ascii=only)[1:-1] for only in (True, False))
        patterns = [_like(text) for text in dict.fromkeys((wanted.text, *escaped))]
        found = texts_with(ask, patterns)
        tests = [f"{column} {_LIKE}" for column in _SEARCHED for _ in patterns]
        moved = [f"{column}_text IN (SELECT value FROM json_each(?))" for column in ("arguments", "rendered")]
        every = [*tests, *moved, _IN_PATHS.format(_LIKE)]
        add(f"({' OR '.join(every)})", *patterns * len(_SEARCHED), found, found, patterns[0])
    return " AND ".join(parts), values


def _like(text: str) -> str:
    """A pattern for LIKE that finds a text in which nothing stands for anything else."""
    escaped = text.replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_")
    return f"%{escaped}%"
