"""Ask for some of the calls, page by page, at a cost that ten thousand others do not change much."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from wink.record._calls import FROM_CALLS, CallRow, moment, read_page
from wink.record._changes import Ask
from wink.record._events import BEGINNING, Noted, Place, last_place, place_of, read_stream
from wink.record._past import read_undone

if TYPE_CHECKING:
    from wink.record._ledger import Ledger

_TEXT: Final = r"""(tool LIKE ? ESCAPE '\' OR arguments LIKE ? ESCAPE '\' OR rendered LIKE ? ESCAPE '\'
    OR EXISTS (SELECT 1 FROM changes WHERE changes.tx = calls.tx AND path LIKE ? ESCAPE '\'))"""
_PATH: Final = r"EXISTS (SELECT 1 FROM changes WHERE changes.tx = calls.tx AND path LIKE ? ESCAPE '\')"
_TYPES: Final = """SELECT type, policy, (SELECT count(*) FROM slice_items WHERE slice = slices.id) FROM slices
    JOIN sessions ON sessions.id = session WHERE name = ? ORDER BY type"""
_SESSIONS: Final = f"""SELECT name, count(*), max(calls.seq), max(started_at) {FROM_CALLS} GROUP BY name"""


@dataclass(frozen=True, slots=True)
class CallFilter:
    """Which calls are meant: those that fit everything that is given.

    `outcome` is a word that `wink log` shows: `ok`, `undone`, `rolled back`, `denied`, `refused`, `raised`, `unknown`. `text`
    is found in tools, arguments, replies and paths, `path` in the paths that a call changed, both in any case; `run` is the
    name of a run. With `changed` only calls that changed files, or tried to.
    """

    session: str | None = None
    tool: str | None = None
    outcome: str | None = None
    text: str = ""
    path: str = ""
    run: str | None = None
    changed: bool = False


EVERY: Final = CallFilter()
"""All calls."""


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
class Facets:
    """How many calls there are of each tool and of each outcome, the most frequent first."""

    tools: tuple[tuple[str, int], ...]
    outcomes: tuple[tuple[str, int], ...]


class Queries:
    """Questions about a whole record, for those who look at it; each costs milliseconds at ten thousand calls."""

    __slots__ = ("_ledger",)

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def page(
        self,
        wanted: CallFilter = EVERY,
        *,
        before: int | None = None,
        after: int | None = None,
        limit: int = 50,
        brief: bool = False,
    ) -> tuple[CallRow, ...]:
        """Up to `limit` calls that fit, newest first: the last ones, those before a position, or those right after one.

        With `brief` replies are cut to their first 1,000 characters.
        """
        upwards = after is not None and before is None
        with self._ledger.database.hold():
            where, values = _condition(self._ledger.ask, wanted)
            rows = read_page(
                self._ledger.ask,
                session=wanted.session,
                before=before,
                after=after,
                limit=limit,
                where=where,
                values=values,
                is_ascending=upwards,
                is_brief=brief,
            )
        return rows[::-1] if upwards else rows

    def count(self, wanted: CallFilter = EVERY) -> int:
        """How many calls fit."""
        with self._ledger.database.hold():
            where, values = _condition(self._ledger.ask, wanted)
            sql = f"SELECT count(*) {FROM_CALLS} WHERE ifnull(name = ?, 1) AND {where}"
            return next((number for (number,) in self._ledger.ask(sql, wanted.session, *values)), 0)

    def facets(self, session: str | None = None) -> Facets:
        """The tools and outcomes of all calls, or of one session's, with how many there are of each."""
        with self._ledger.database.hold():
            return _facets(self._ledger.ask, session)

    def sessions(self) -> tuple[SessionRow, ...]:
        """All sessions with their number of calls, oldest first."""
        with self._ledger.database.hold():
            return _sessions(self._ledger.ask)

    def types(self, session: str) -> tuple[tuple[str, str, int], ...]:
        """What a session holds: the type of each slice as `module:Qualname`, its policy, and how many items it has."""
        with self._ledger.database.hold():
            return tuple((kind, policy, items) for kind, policy, items in self._ledger.ask(_TYPES, session))

    def version(self) -> tuple[object, ...]:
        """Something that differs from what it was whenever anybody has stored anything since; costs microseconds.

        Compare it with an earlier one of the same object; it says nothing by itself.
        """
        with self._ledger.database.hold():
            return self._ledger.version()

    def last_place(self) -> Place:
        """The end of the stream of events."""
        with self._ledger.database.hold():
            return last_place(self._ledger.ask)

    def stream(
        self, since: Place = BEGINNING, *, session: str | None = None, limit: int = 500
    ) -> tuple[tuple[Place, CallRow | Noted], ...]:
        """Calls and what happened beside them after a place, oldest first, each with the place to go on from."""
        with self._ledger.database.hold():
            connection = self._ledger.reach()
            if connection is None:
                return ()
            is_ours = not connection.in_transaction
            if is_ours:
                self._ledger.ask("BEGIN")  # calls and the rest as of one moment
            try:
                return read_stream(self._ledger.ask, since, session, limit)
            finally:
                if is_ours and connection.in_transaction:
                    self._ledger.ask("ROLLBACK")

    def place_of(self, call: int) -> Place:
        """The place in the stream right after a call."""
        with self._ledger.database.hold():
            return place_of(self._ledger.ask, call)


def _sessions(ask: Ask) -> tuple[SessionRow, ...]:
    """All sessions, oldest first."""
    counts: dict[str, list[Any]] = {name: rest for name, *rest in ask(_SESSIONS)}
    rows: list[SessionRow] = []
    for name, session_id, created in ask("SELECT name, session_id, created_at FROM sessions ORDER BY id"):
        number, last, at = counts.get(name, (0, None, None))
        rows.append(SessionRow(name, session_id, moment(created), number, last, None if at is None else moment(at)))
    return tuple(rows)


def _facets(ask: Ask, session: str | None) -> Facets:
    """What can be filtered by."""
    undone = read_undone(ask)
    tools: dict[str, int] = {}
    outcomes: dict[str, int] = {}
    sql = f"""SELECT tool, outcome, committed, calls.tx IN (SELECT value FROM json_each(?)), count(*) {FROM_CALLS}
        WHERE ifnull(name = ?, 1) GROUP BY 1, 2, 3, 4"""
    for tool, outcome, committed, taken_back, number in ask(sql, json.dumps(sorted(undone)), session):
        word = (
            outcome if outcome != "committed" else "rolled back" if not committed else "undone" if taken_back else "ok"
        )
        tools[tool] = tools.get(tool, 0) + number
        outcomes[word] = outcomes.get(word, 0) + number
    return Facets(_ranked(tools), _ranked(outcomes))


def _ranked(counts: dict[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda one: (-one[1], one[0])))


def _condition(ask: Ask, wanted: CallFilter) -> tuple[str, Sequence[object]]:
    parts, values = ["1"], list[object]()
    if wanted.tool is not None:
        parts.append("tool = ?")
        values.append(wanted.tool)
    if wanted.run is not None:
        parts.append("run = ?")
        values.append(wanted.run)
    if wanted.outcome is not None:
        condition, given = _outcome(ask, wanted.outcome)
        parts.append(condition)
        values += given
    if wanted.changed:
        parts.append("transactions.changes > 0")
    if wanted.path:
        parts.append(_PATH)
        values.append(_like(wanted.path))
    if wanted.text:
        parts.append(_TEXT)
        values += [_like(wanted.text)] * 4
    return " AND ".join(parts), values


def _outcome(ask: Ask, word: str) -> tuple[str, Sequence[object]]:
    if word in ("ok", "undone"):
        undone = json.dumps(sorted(read_undone(ask)))
        negated = "NOT " if word == "ok" else ""
        sql = f"outcome = 'committed' AND committed = 1 AND calls.tx {negated}IN (SELECT value FROM json_each(?))"
        return sql, (undone,)
    if word == "rolled back":
        return "(outcome = 'rolled back' OR (outcome = 'committed' AND committed = 0))", ()
    return "outcome = ?", (word,)


def _like(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_")
    return f"%{escaped}%"
