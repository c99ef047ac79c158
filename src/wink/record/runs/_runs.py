"""Keep runs, turn by turn, so that another process can go on with one.

What a model said and was answered is JSON of whoever evaluates; here it is only kept, with secrets masked once the run has
come to its end. Going back to a turn is a call that takes the later calls back, and names run and turn: the turns after it do
not stand while that call does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar

from wink.dataclass import dataclass
from wink.errors import CommitFailed, RunStateError
from wink.limits import TokenUsage
from wink.record._binding import execute
from wink.record._calls import microseconds, moment
from wink.record._events import write_event
from wink.record._past import read_undone
from wink.record._texts import text_of
from wink.record.masking import is_masked, shown, stored
from wink.record.runs._prompts import PromptRow, drop_prompts, read_prompts, write_prompt
from wink.record.runs._run_lock import RunLock, is_locked
from wink.record.runs._said import (
    Said,
    bounded,
    drop_said,
    read_said,
    read_tokens,
    read_turn_of,
    write_note,
    write_said,
)
from wink.record.runs._started import STARTED, Started

if TYPE_CHECKING:
    import sqlite3

    from wink.record._ledger import Ledger

T = TypeVar("T")

RunStatus = Literal["running", "suspended", "stopped", "ended"]
"""`running` is also what a run is said to be whose process was killed."""

KEPT: Final = 200
"""So many runs are kept."""
KEPT_ENDED: Final = 20
"""Of so many runs the turns are kept when they have come to their end, to go back to."""
LONGEST_PROMPT: Final = 1 << 19
"""So many characters of a prompt are kept."""

_COLUMNS: Final = """id, session, plan, place, state, problem, started_at, changed_at, attempt,
    turns, input_tokens, output_tokens, cached_tokens"""
_INSERT: Final = """INSERT INTO runs (session, plan, place, state, problem, started_at, changed_at, attempt)
    VALUES (CAST(? AS TEXT), CAST(? AS TEXT), ?, 'running', '', ?, ?, 1)"""
_STATE: Final = "UPDATE runs SET state = ?, problem = CAST(? AS TEXT), changed_at = ? WHERE id = ?"
_TURN: Final = """INSERT OR REPLACE INTO run_turns (run, n, position, turn, replies)
    VALUES (?, ?, (SELECT ifnull(max(seq), 0) FROM calls), CAST(? AS TEXT), NULL)"""
_USED: Final = """UPDATE runs SET turns = turns + 1, input_tokens = input_tokens + ?, output_tokens = output_tokens + ?,
    cached_tokens = cached_tokens + ?, changed_at = ? WHERE id = ? RETURNING session"""
_GONE: Final = "DELETE FROM run_turns WHERE run = ? AND n > ?"
_SAID_GONE: Final = "DELETE FROM said WHERE run = ? AND n > ?"
_LONG_ENDED: Final = "DELETE FROM run_turns WHERE run <= ? - ? AND run IN (SELECT id FROM runs WHERE state = 'ended')"
_REWINDS: Final = f"""SELECT calls.seq, tx, {text_of("arguments")} FROM calls JOIN transactions ON transactions.seq = tx
    WHERE run = CAST(? AS TEXT) AND tool = 'undo' AND committed = 1"""
_REPLIES: Final = "UPDATE run_turns SET replies = CAST(? AS TEXT) WHERE run = ? AND n = ?"
# An answer was used by a call that committed, or by one that a person denied; what acts outside is not done twice even if
# it failed.
_EXECUTED: Final = f"""SELECT {text_of("rendered")} FROM calls JOIN transactions ON transactions.seq = tx
    WHERE calls.seq > ? AND call_id = CAST(? AS TEXT) AND run = CAST(? AS TEXT)
    AND ((committed = 1 AND outcome = 'committed') OR approval IS NOT NULL OR (effects = 'external' AND outcome <> 'refused'))
    ORDER BY calls.seq DESC LIMIT 1"""


def task_of(plan: str) -> str:
    """The task in a run's plan; "" where there is none.

    >>> task_of('{"task": "Tidy up"}'), task_of("[]")
    ('Tidy up', '')
    """
    return str(_of_plan(plan, "task") or "")


def _of_plan(plan: str, name: str) -> Any:
    try:
        return json.loads(plan).get(name)
    except (ValueError, AttributeError, RecursionError):
        return None


class Fork(NamedTuple):
    """Of which run another is a copy, and up to which of its turns; `position` is the last call before those that are left out."""

    run: int
    turn: int
    position: int


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run; `plan` is JSON of what it was started with, `problem` why it stopped, `attempt` how often it was begun.

    `is_ours` is false for one that came with a copy of the record, from wherever: nobody here has begun it. `usage` adds up
    the tokens of its `turns`. In `plan` secrets are masked; `RunTable.plan` gives it exactly.
    """

    number: int
    session: str
    plan: str
    is_ours: bool
    state: RunStatus
    problem: str
    started_at: datetime
    changed_at: datetime
    attempt: int
    turns: int = 0
    usage: TokenUsage = TokenUsage()
    stored_plan: str = ""

    @property
    def task(self) -> str:
        """What it was begun for."""
        return task_of(self.plan)

    @property
    def fork(self) -> Fork | None:
        """What it is a copy of."""
        try:
            return Fork(*map(int, _of_plan(self.plan, "fork")))
        except (TypeError, ValueError, OverflowError):
            return None


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One answer of the model as JSON, with `replies` once it was answered; `position` is the last call before it."""

    number: int
    position: int
    turn: str
    replies: str | None


class RunTable:
    """The runs of one workspace; methods raise `RecordError` where they cannot read, `CommitFailed` where not write."""

    __slots__ = ("_ledger",)

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def lock(self, number: int) -> RunLock:
        """Let no other process work on a run until the lock is released; raises `RunBusy` where one does."""
        return RunLock(self._ledger.database.state, number)

    def begin(self, session: str, plan: str) -> int:
        """Store a new run; its number."""
        number = self._ledger.change(lambda connection: self._add(connection, session, plan))
        self._ledger.sealed.drop_unless(lambda kind, of: kind != "run" or of > number - KEPT)
        return number

    def _add(self, connection: sqlite3.Connection, session: str, plan: str) -> int:
        text, is_sealed = stored(self._ledger.masking, plan)
        now = microseconds(self._ledger.now())
        values = (session, text, self._ledger.database.place, now, now)
        number = execute(connection, _INSERT, values).lastrowid or 0
        if is_sealed:
            self._ledger.sealed.keep(f"run-{number}-plan", text, {"text": plan})
        connection.execute("DELETE FROM run_turns WHERE run <= ? - ?", (number, KEPT))
        connection.execute(_LONG_ENDED, (number, KEPT_ENDED))
        connection.execute("DELETE FROM runs WHERE id <= ? - ?", (number, KEPT))
        drop_prompts(connection, number - KEPT)
        drop_said(connection)
        write_event(connection, "run-begun", self._ledger.now(), session, number)
        return number

    def go_back(self, connection: sqlite3.Connection, row: RunRow, kept: Sequence[TurnRow], fork: Fork | None) -> int:
        """Let a run go on after the turns that are `kept`, or with `fork` a copy of it; which one that is.

        In the transaction of the call that takes back what came later, so that both happen or neither. The turns are exact.
        """
        if fork is None:
            self._set(connection, row.number, "stopped", f"it went back to turn {len(kept)}")
            return row.number
        number = self._add(connection, row.session, json.dumps({**json.loads(self.plan(row)), "fork": fork}))
        for turn in kept:
            replies = self._hold(f"run-{number}-replies-{turn.number}", turn.replies or "")
            values = (number, turn.number, turn.position, turn.turn, replies)
            connection.execute("INSERT INTO run_turns (run, n, position, turn, replies) VALUES (?, ?, ?, ?, ?)", values)
        self._set(connection, number, "stopped", "")
        return number

    def plan(self, row: RunRow) -> str:
        """What a run was started with, exactly; raises `RunStateError` where only what was masked is left."""
        return self._exact(row.stored_plan, f"run-{row.number}-plan")

    def resume(self, number: int) -> int:
        """Note that a run goes on; which attempt this is."""
        sql = """UPDATE runs SET state = 'running', problem = '', changed_at = ?, attempt = attempt + 1
            WHERE id = ? RETURNING attempt, session"""

        def work(connection: sqlite3.Connection) -> int:
            now = self._ledger.now()
            attempt, session = connection.execute(sql, (microseconds(now), number)).fetchone()
            write_event(connection, "run-resumed", now, session, number, attempt=attempt)
            return attempt

        return self._ledger.change(work)

    def turned(
        self,
        number: int,
        turn: int,
        text: str,
        usage: TokenUsage | None = None,
        said: tuple[str, str, str] = ("", "", ""),
    ) -> None:
        """Store a turn of the model, before anything of it is executed, and what it used.

        `text` is all that going on needs, and `said` what people are shown: its words, its thinking, and the model's name.
        """
        used = usage or TokenUsage()
        words, thinking, model = (self._ledger.masking.value(one) for one in said)
        tokens = used.input_tokens, used.output_tokens, used.cached_tokens
        kept = self._hold(f"run-{number}-turn-{turn}", text)

        def work(connection: sqlite3.Connection) -> None:
            now = self._ledger.now()
            connection.execute(_GONE, (number, turn))
            connection.execute(_SAID_GONE, (number, turn))
            execute(connection, _TURN, (number, turn, kept))
            write_said(connection, number, turn, now, (words, thinking, model), used)
            for (session,) in connection.execute(_USED, (*tokens, microseconds(now), number)).fetchall():
                write_event(
                    connection,
                    "run-turn",
                    now,
                    session,
                    number,
                    turn=turn,
                    input_tokens=tokens[0],
                    output_tokens=tokens[1],
                    cached_tokens=tokens[2],
                )

        self._ledger.change(work)

    def prompted(self, number: int, prompt: str, text: str, tools: Sequence[str]) -> None:
        """Store a prompt as it was rendered for a run, and the names of the tools that it shows."""

        text = bounded(self._ledger.masking.text(text), LONGEST_PROMPT)

        def work(connection: sqlite3.Connection) -> None:
            now = self._ledger.now()
            n = write_prompt(connection, number, now, prompt, text, tools)
            if n is not None:
                session = self._session(connection, number)
                write_event(connection, "run-prompt", now, session, number, n=n, prompt=prompt, characters=len(text))

        self._ledger.change(work)

    def prompts(self, number: int) -> tuple[PromptRow, ...]:
        """The prompts of a run as they were rendered, oldest first."""
        return read_prompts(self._ledger.ask, number)

    def said(self, number: int, *, after: int = 0, limit: int | None = None) -> tuple[Said, ...]:
        """What the model said in a run, in its order: all of it, or up to `limit` turns after the one with a number."""
        return read_said(self._ledger.ask, number, after, limit)

    def turn_of(self, number: int, call: int) -> int:
        """The number of the turn to which a call of a run belongs; 0 where that is not known."""
        return read_turn_of(self._ledger.ask, number, call)

    def tokens(self, number: int | None = None) -> tuple[tuple[str, int, TokenUsage], ...]:
        """Each model with its turns and the tokens that they used, in one run or in all, those that used most first."""
        return read_tokens(self._ledger.ask, number)

    def replied(self, number: int, turn: int, replies: str, note: str = "") -> None:
        """Store what a turn was answered; `note` is what the run itself said, for people."""
        kept, note = self._hold(f"run-{number}-replies-{turn}", replies), self._ledger.masking.value(note)

        def work(connection: sqlite3.Connection) -> None:
            execute(connection, _REPLIES, (kept, number, turn))
            if note:
                write_note(connection, number, turn, note)

        self._ledger.change(work)
        self._ledger.sealed.drop(f"run-{number}-turn-{turn}")

    def waits(self, number: int, turn: int, text: str) -> None:
        """Store that a run waits for a person, and what is known of its last turn by now."""
        sql = "UPDATE run_turns SET turn = CAST(? AS TEXT) WHERE run = ? AND n = ?"
        kept = self._hold(f"run-{number}-turn-{turn}", text)

        def work(connection: sqlite3.Connection) -> None:
            execute(connection, sql, (kept, number, turn))
            self._set(connection, number, "suspended", "")

        self._ledger.change(work)

    def set(self, number: int, state: RunStatus, problem: str = "") -> None:
        """Store what became of a run; of one that has ended only what is masked is kept."""
        problem = self._ledger.masking.text(problem)
        self._ledger.change(lambda connection: self._set(connection, number, state, problem))
        if state == "ended":
            self._ledger.sealed.drop_unless(lambda kind, of: (kind, of) != ("run", number))

    def find(self, number: int) -> RunRow | None:
        """One run by its number."""
        return next((row for row in self.rows() if row.number == number), None)

    def rows(self) -> tuple[RunRow, ...]:
        """All runs, oldest first."""
        found = self._ledger.ask(f"SELECT {_COLUMNS} FROM runs ORDER BY id")
        here = self._ledger.database.place
        return tuple(_run(here, row) for row in found)

    def standing(self, row: RunRow) -> str:
        """In a word, how a run stands: its state, or `interrupted` where the process that ran it is gone."""
        is_gone = row.state == "running" and not is_locked(self._ledger.database.state, row.number)
        return "interrupted" if is_gone else row.state

    def turns(self, number: int, *, exact: bool = False, last: int | None = None) -> tuple[TurnRow, ...]:
        """The turns of a run that stand, up to the `last` in question, in their order, with secrets masked.

        With `exact` as they were said, which is what going on needs; raises `RunStateError` where that is gone.
        """
        sql = "SELECT n, position, turn, replies FROM run_turns WHERE run = ? AND ifnull(n <= ?, 1) ORDER BY n"
        rewinds = self._rewinds(number)
        rows: list[TurnRow] = []
        for n, position, turn, replies in self._ledger.ask(sql, number, last):
            if any(n > to and position < call for call, to in rewinds):
                continue
            if not exact:
                rows.append(TurnRow(n, position, shown(turn), None if replies is None else shown(replies)))
            elif replies is None:
                rows.append(TurnRow(n, position, self._exact(turn, f"run-{number}-turn-{n}"), None))
            else:
                rows.append(TurnRow(n, position, shown(turn), self._exact(replies, f"run-{number}-replies-{n}")))
        return tuple(rows)

    def _rewinds(self, number: int) -> list[tuple[int, int]]:
        """The calls that stand by which a run went back, each with the turn that it went back to."""
        found = self._ledger.ask(_REWINDS, f"r{number}")
        undone = read_undone(self._ledger.ask) if found else ()
        went = [(call, _of_plan(arguments, "to")) for call, tx, arguments in found if tx not in undone]
        return [(call, to) for call, to in went if isinstance(to, int)]

    def executed(self, run_id: str, call_id: str, after: int) -> str | None:
        """What a call of a run came to, if it need not and must not be executed again: the text that was sent for it.

        `after` is the position of the last call before the turn that the call belongs to. A call that acts on the outside
        world, and is not known to have ended, is recorded as one whose outcome is unknown. Only for a run whose process
        has ended.
        """
        with self._ledger.database.hold():
            for lost in self.started():
                if (lost.run, lost.call_id) == (run_id, call_id):
                    # With it the note that it began is deleted.
                    self._ledger.put(lost.id, lost.session, (), (lost.entry(),), committed=False)
            found = self._ledger.ask(_EXECUTED, after, call_id, run_id)
            return found[0][0] if found else None

    def started(self) -> tuple[Started, ...]:
        """The calls that act on the outside world, were begun, and are not known to have ended; oldest first."""
        return tuple(
            Started(transaction_id, session, run_id, call_id, tool, arguments, moment(at))
            for transaction_id, session, run_id, call_id, tool, arguments, at in self._ledger.ask(STARTED)
        )

    def collect(self, age: timedelta | None) -> int:
        """Forget runs that have not changed for so long; gives how many."""
        if age is None or not self.rows():
            return 0
        before = microseconds(self._ledger.now() - age)

        def work(connection: sqlite3.Connection) -> int:
            connection.execute(
                "DELETE FROM run_turns WHERE run IN (SELECT id FROM runs WHERE changed_at < ?)", (before,)
            )
            connection.execute("DELETE FROM started WHERE at < ?", (before,))
            # The last one stays, so that no number is given twice.
            last = "(SELECT max(id) FROM runs)"
            gone = connection.execute(f"DELETE FROM runs WHERE changed_at < ? AND id < {last}", (before,)).rowcount
            drop_said(connection)
            return gone

        forgotten = self._ledger.change(work)
        waiting = {row.number for row in self.rows() if row.state != "ended" and row.changed_at >= moment(before)}
        self._ledger.sealed.drop_unless(lambda kind, of: kind != "run" or of in waiting)
        return forgotten

    def _hold(self, name: str, text: str) -> str:
        """What the record keeps of a text; where that is not all of it, the rest is sealed."""
        kept, is_sealed = stored(self._ledger.masking, text)
        if is_sealed:
            try:
                self._ledger.sealed.keep(name, kept, {"text": text})
            except OSError as error:
                raise CommitFailed(f"nothing was stored: {error}") from error
        return kept

    def _exact(self, text: str, name: str) -> str:
        if not is_masked(text):
            return text
        sealed = self._ledger.sealed.find(name, text)
        if sealed is None or (found := sealed.get("text")) is None:
            raise RunStateError("it was kept with its secrets masked, and what it needs to go on is not there any more")
        return found

    def _set(self, connection: sqlite3.Connection, number: int, state: RunStatus, problem: str) -> None:
        now = self._ledger.now()
        execute(connection, _STATE, (state, problem, microseconds(now), number))
        told = {"problem": problem} if problem else {}
        if state != "running":
            write_event(connection, f"run-{state}", now, self._session(connection, number), number, **told)

    def _session(self, connection: sqlite3.Connection, number: int) -> str:
        return next((name for (name,) in connection.execute("SELECT session FROM runs WHERE id = ?", (number,))), "")


def _run(here: str, row: tuple[Any, ...]) -> RunRow:
    number, session, plan, place, state, problem, started, changed, attempt, turns = row[:10]
    times, usage = (moment(started), moment(changed)), TokenUsage(*row[10:])
    return RunRow(number, session, shown(plan), place == here, state, problem, *times, attempt, turns, usage, plan)
