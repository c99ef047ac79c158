"""Keep what models said in runs, turn by turn: the story of which their calls are a part.

Rules of this module:

* What is kept was masked by whoever hands it in, whole, before it is cut: a secret that a cut goes through stays masked.
* A text has at most `LONGEST` characters, and all of a run `MOST`; where something was left out, a line says so.
* A turn costs one row, whatever came before it, and goes when its run does.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from wink.dataclass import dataclass, field
from wink.limits import TokenUsage
from wink.record._binding import execute
from wink.record._calls import microseconds, moment
from wink.record._changes import Ask

if TYPE_CHECKING:
    import sqlite3

LONGEST: Final = 1 << 16
"""So many characters of one text are kept."""
MOST: Final = 1 << 25
"""So many characters are kept of a run; of each text that comes later only the beginning is."""
_BRIEF: Final = 400

_INSERT: Final = """INSERT OR REPLACE INTO said
    (run, n, position, at, model, input_tokens, output_tokens, cached_tokens, upto, text, thinking, note)
    VALUES (?, ?, (SELECT ifnull(max(seq), 0) FROM calls), ?, CAST(? AS TEXT), ?, ?, ?, ?, CAST(? AS TEXT),
    CAST(? AS TEXT), '')"""
_UPTO: Final = "SELECT upto FROM said WHERE run = ? AND n < ? ORDER BY n DESC LIMIT 1"
_NOTE: Final = "UPDATE said SET note = CAST(? AS TEXT), upto = upto + ? WHERE run = ? AND n = ?"
_READ: Final = """SELECT n, position, at, model, text, thinking, note, input_tokens, output_tokens, cached_tokens
    FROM said WHERE run = ? AND n > ? ORDER BY n LIMIT ?"""
_TURN_OF: Final = "SELECT n FROM said WHERE run = ? AND position < ? ORDER BY n DESC LIMIT 1"
_TOKENS: Final = """SELECT model, count(*), sum(input_tokens), sum(output_tokens), sum(cached_tokens) FROM said
    WHERE ifnull(run = ?, 1) GROUP BY model ORDER BY sum(input_tokens) + sum(output_tokens) DESC, model"""
_DROP: Final = "DELETE FROM said WHERE run NOT IN (SELECT id FROM runs)"


@dataclass(frozen=True, slots=True)
class Said:
    """What a model said in one turn of a run, from 1, with secrets masked; `position` is the last call before it.

    `thinking` is its reasoning where the provider gives it, and `note` what the run itself had to say after the turn:
    feedback, or why its answer was not the end. `model` is "" where nobody knows which it was.
    """

    number: int
    position: int
    at: datetime
    model: str = ""
    text: str = ""
    thinking: str = ""
    note: str = ""
    usage: TokenUsage = field(default_factory=TokenUsage)


def bounded(text: str, most: int = LONGEST) -> str:
    """The beginning and the end of a text that is too long to be kept, with a line about what was left out between them.

    >>> bounded("0123456789", 8)
    '012345\\n[2 characters were left out here]\\n89'
    """
    if len(text) <= most:
        return text
    end = most // 4
    left_out = f"[{len(text) - most:,} characters were left out here]"
    return f"{text[: most - end]}\n{left_out}\n{text[-end:]}" if end else f"{text[:most]}\n{left_out}"


def write_said(
    connection: sqlite3.Connection,
    run_number: int,
    turn: int,
    at: datetime,
    said: tuple[str, str, str],
    used: TokenUsage,
) -> None:
    """Keep the text, the thinking and the model of a turn; all of it is masked already."""
    text, thinking, model = said
    before = next((upto for (upto,) in connection.execute(_UPTO, (run_number, turn))), 0)
    most = LONGEST if before < MOST else _BRIEF
    text, thinking = bounded(text, most), bounded(thinking, most)
    tokens = used.input_tokens, used.output_tokens, used.cached_tokens
    upto = before + len(text) + len(thinking)
    execute(connection, _INSERT, (run_number, turn, microseconds(at), model, *tokens, upto, text, thinking))


def write_note(connection: sqlite3.Connection, run_number: int, turn: int, note: str) -> None:
    """Keep what the run said after a turn."""
    note = bounded(note)
    execute(connection, _NOTE, (note, len(note), run_number, turn))


def drop_said(connection: sqlite3.Connection) -> None:
    """Forget what was said in runs that are gone."""
    connection.execute(_DROP)


def read_said(ask: Ask, run_number: int, after: int, limit: int | None) -> tuple[Said, ...]:
    """The turns of a run after one, in their order."""
    return tuple(
        Said(n, position, moment(at), model, text, thinking, note, TokenUsage(*tokens))
        for n, position, at, model, text, thinking, note, *tokens in ask(
            _READ, run_number, after, -1 if limit is None else limit
        )
    )


def read_turn_of(ask: Ask, run_number: int, call: int) -> int:
    """The turn that a call of a run belongs to, 0 where that is not known."""
    return next((n for (n,) in ask(_TURN_OF, run_number, call)), 0)


def read_tokens(ask: Ask, run_number: int | None) -> tuple[tuple[str, int, TokenUsage], ...]:
    """Model, turns and tokens, of one run or of all."""
    return tuple((model, turns, TokenUsage(*tokens)) for model, turns, *tokens in ask(_TOKENS, run_number))
