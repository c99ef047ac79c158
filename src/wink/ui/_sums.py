"""Keep what all calls come to in calls, time and tokens, reading only what has come since it was last asked for."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final, cast

from wink.record import Record
from wink.record._browsing import Browsing, Sum

_EXECUTED: Final = "wink.runtime._events:PromptExecuted"


@dataclass(frozen=True, slots=True)
class Tokens:
    """What requests to models have cost, in tokens; `cached` ones are among those of the input."""

    input: int = 0
    output: int = 0
    cached: int = 0

    @property
    def total(self) -> int:
        """Of input and output."""
        return self.input + self.output

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(self.input + other.input, self.output + other.output, self.cached + other.cached)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One evaluation of a prompt, or a run that has not come to its end: what it cost and how long it took."""

    session: str
    name: str
    tokens: Tokens
    duration: timedelta | None
    is_over: bool = True


class Sums:
    """The sums of one record; may be asked from any thread."""

    def __init__(self, browsing: Callable[[], Browsing]) -> None:
        self._browsing = browsing
        self._lock = threading.Lock()
        self._rows: dict[tuple[str, str, str], Sum] = {}
        self._last = 0
        self._evaluations: tuple[int, tuple[Evaluation, ...]] = (-1, ())

    def rows(self) -> tuple[Sum, ...]:
        """What calls come to, by session, tool and how they ended."""
        with self._lock:
            browsing = self._browsing()
            if browsing.marks()[0] < self._last:  # another record lies there now
                self._rows, self._last = {}, 0
            for new in browsing.sums(self._last):
                key = new.session, new.tool, new.ending
                known = self._rows.get(key)
                if known is not None:
                    new = replace(
                        new,
                        calls=known.calls + new.calls,
                        duration=known.duration + new.duration,
                        first_at=known.first_at,
                    )
                self._rows[key] = new
                self._last = max(self._last, new.last)
            return tuple(self._rows.values())

    def evaluations(self, record: Record) -> tuple[Evaluation, ...]:
        """What prompts have cost that were evaluated here, oldest first, then runs that have not ended."""
        with self._lock:
            browsing = self._browsing()
            last = browsing.marks()[1]
            if last != self._evaluations[0]:
                ended = tuple(_ended(session, text) for session, text in browsing.all_items(_EXECUTED))
                self._evaluations = last, ended
        return (*self._evaluations[1], *_open_runs(record))


def tokens_of(evaluations: Iterable[Evaluation]) -> Tokens:
    """What several cost together."""
    return sum((one.tokens for one in evaluations), Tokens())


def _ended(session: str, text: str) -> Evaluation:
    value = _object(text)
    seconds = value.get("duration")
    return Evaluation(
        session, str(value.get("prompt_name") or "a prompt"), _usage(value.get("usage")), _duration(seconds)
    )


def _open_runs(record: Record) -> tuple[Evaluation, ...]:
    found: list[Evaluation] = []
    for row in record.runs.rows():
        if row.state == "ended":
            continue
        spent = Tokens()
        for turn in record.runs.turns(row.number):
            stored = _object(turn.replies or turn.turn)
            exchanges: Any = stored.get("exchanges") or [stored]
            for exchange in cast("list[Any]", exchanges) if isinstance(exchanges, list) else ():
                spent += _usage(_mapping(_mapping(exchange).get("turn")).get("usage"))
        name, took = f"run r{row.number}", row.changed_at - row.started_at
        found.append(Evaluation(row.session, name, spent, took, is_over=False))
    return tuple(found)


def _object(text: str) -> dict[str, Any]:
    try:
        return _mapping(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _mapping(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _usage(value: object) -> Tokens:
    known = _mapping(value)
    counts = (known.get(f"{name}_tokens") for name in ("input", "output", "cached"))
    return Tokens(*(count if isinstance(count, int) else 0 for count in counts))


def _duration(value: Any) -> timedelta | None:
    """Seconds, or a length of time as ISO 8601 writes it."""
    if isinstance(value, (int, float)):
        return timedelta(seconds=value)
    if isinstance(value, str):
        from pydantic import TypeAdapter, ValidationError

        try:
            return TypeAdapter(timedelta).validate_python(value)
        except ValidationError:
            return None
    return None
