"""Keep a run in a workspace's record, so that another process can go on with it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Self

from wink.adapters._conversation import Exchange, ModelTurn
from wink.adapters._run_state import RunState
from wink.errors import UnknownRun, WinkError
from wink.limits import RunContext, TokenUsage
from wink.runtime import ToolReply

if TYPE_CHECKING:
    from wink.record import Record, RunRow
    from wink.workspace import Workspace

_ID: Final = re.compile(r"[rR]?([1-9][0-9]{0,14})")


class RecordJournal:
    """A `RunJournal` over a workspace's record. Use it in a `with` block: only one process at a time works on a run.

    `plan` is what the run was started with, plain values that whoever resumes it needs. Give `context` to `evaluate` as
    `run_context`, so that the calls are known to be this run's, and `state` as `resume`.

    >>> import tempfile
    >>> from wink.workspace import Workspace
    >>> with tempfile.TemporaryDirectory() as root, Workspace.open(root) as workspace:
    ...     with RecordJournal.begin(workspace, plan={"task": "Tidy up"}) as journal:
    ...         journal.run_id, journal.state
    ...     RecordJournal.resume(workspace, "r1").plan
    ('r1', None)
    {'task': 'Tidy up'}
    """

    def __init__(self, record: Record, row: RunRow, attempt: int) -> None:
        """A journal of a run that is in the record; see `begin` and `resume`."""
        self._record, self._number = record, row.number
        self._lock = record.runs.lock(row.number)
        self._position = 0
        self._turn: ModelTurn | None = None
        self._is_over = self._is_told = False
        self._before = row.state, row.problem
        self._prompt_name = ""
        self.session: str = row.session
        """The name of the session that the run works in."""
        self.plan: Mapping[str, Any] = json.loads(record.runs.plan(row))
        """What the run was started with."""
        self.attempt = attempt
        """How often the run has been begun or resumed, this time included."""
        self.state: RunState | None = None
        """How far the run had come when it was resumed; None for a new one."""

    @classmethod
    def begin(cls, workspace: Workspace, *, session: str = "default", plan: Mapping[str, Any] | None = None) -> Self:
        """Begin a run; raises `CommitFailed` where it cannot be stored."""
        runs = workspace.record.runs
        number = runs.begin(session, json.dumps(dict(plan or {})))
        row = runs.find(number)
        assert row is not None, "it has just been stored"
        return cls(workspace.record, row, 1)

    @classmethod
    def resume(cls, workspace: Workspace, run_id: str = "") -> Self:
        """Go on with a run, by default with the last one that can be; raises `UnknownRun` and `RunBusy`."""
        runs = workspace.record.runs
        open_runs = {row.number: row for row in runs.rows() if row.state != "ended" and row.is_ours}
        found = _ID.fullmatch(run_id.strip()) if run_id else None
        number = int(found[1]) if found else max(open_runs, default=0) if not run_id else 0
        known = tuple(f"r{number}" for number in open_runs)
        if number not in open_runs:
            ended = number and runs.find(number) is not None
            raise UnknownRun(run_id, "has come to its end" if ended else "is not known", known)
        journal = cls(workspace.record, open_runs[number], 1)
        try:
            row = runs.find(number)
            if row is None or row.state == "ended":  # by a process that had the lock until now
                raise UnknownRun(f"r{number}", "has come to its end", known)
            journal._load()
            journal.attempt = runs.resume(number)
        except BaseException:
            journal.close()
            raise
        return journal

    @property
    def run_id(self) -> str:
        """The short name of the run."""
        return f"r{self._number}"

    @property
    def context(self) -> RunContext:
        """The run, for `evaluate`."""
        return RunContext(self.run_id, self.attempt)

    def close(self) -> None:
        """Let other processes have the run."""
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and not self._is_over:
            with suppress(WinkError):
                if self.state is not None and not self._is_told:
                    self._record.runs.set(self._number, *self._before)  # it could not go on, and stands as it did
                else:
                    self.stopped(str(error) or type(error).__name__)
        self.close()

    # -- what an evaluation tells

    def rendered(self, prompt_name: str, text: str, tools: Sequence[str]) -> None:
        """Store a prompt as it is sent."""
        self._record.runs.prompted(self._number, prompt_name, text, tools)

    def turned(self, number: int, turn: ModelTurn) -> None:
        """Store what the model said, before anything of it is executed."""
        self._turn, self._is_told = turn, True
        text = RunState(self._prompt_name, turn=turn).to_json()
        said = turn.text, turn.thinking, turn.model or str(self.plan.get("model") or "")
        self._record.runs.turned(self._number, number, text, turn.usage, said)

    def replied(self, number: int, replies: Sequence[ToolReply], note: str) -> None:
        """Store what it was answered."""
        exchange = Exchange(self._turn or ModelTurn(), tuple(replies), note)
        self._record.runs.replied(self._number, number, RunState(self._prompt_name, (exchange,)).to_json(), note)

    def suspended(self, state: RunState) -> None:
        """Store the replies that there are, and that the run waits for a person."""
        number = len(state.exchanges) + 1
        partial = RunState(state.prompt_name, turn=state.turn, replies=state.replies)
        self._record.runs.waits(self._number, number, partial.to_json())
        self._is_over = True

    def stopped(self, problem: str) -> None:
        """Store why the run ended early."""
        self._record.runs.set(self._number, "stopped", problem)
        self._is_over = True

    def ended(self, text: str) -> None:
        """The run has come to its end; its answer is what the model said last."""
        del text
        self._record.runs.set(self._number, "ended")
        self._is_over = True

    def executed(self, call_id: str) -> str | None:
        """What a call of the turn that was not answered came to, if it must not be executed again."""
        self._is_told = True
        return self._record.runs.executed(self.run_id, call_id, self._position)

    def _load(self) -> None:
        exchanges: list[Exchange] = []
        state, used = RunState(""), TokenUsage()
        for row in self._record.runs.turns(self._number, exact=True):
            stored = RunState.from_json(row.turn if row.replies is None else row.replies)
            name = stored.prompt_name
            if row.replies is None:
                turn = stored.turn
                state = replace(state, turn=turn, replies=stored.replies)
                self._turn, self._position = turn, row.position
            else:
                turn = stored.exchanges[0].turn
                exchanges += stored.exchanges
            used += TokenUsage() if turn is None else turn.usage
            state = replace(state, prompt_name=name)
        self.state = replace(state, exchanges=tuple(exchanges), usage=used)
