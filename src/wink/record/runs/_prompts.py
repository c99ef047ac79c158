"""Keep prompts as they were rendered for runs, each text once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from wink.dataclass import dataclass
from wink.record._binding import execute
from wink.record._calls import microseconds, moment
from wink.record._changes import Ask

if TYPE_CHECKING:
    import sqlite3

_KEEP: Final = "INSERT OR IGNORE INTO prompts (digest, text) VALUES (?, CAST(? AS TEXT))"
_LAST: Final = "SELECT n, digest, tools FROM run_prompts WHERE run = ? ORDER BY n DESC LIMIT 1"
_INSERT: Final = """INSERT INTO run_prompts (run, n, position, at, prompt, digest, tools)
    VALUES (?, ?, (SELECT ifnull(max(seq), 0) FROM calls), ?, CAST(? AS TEXT), ?, CAST(? AS TEXT))"""
_READ: Final = """SELECT n, position, at, prompt, text, tools FROM run_prompts JOIN prompts USING (digest)
    WHERE run = ? ORDER BY n"""
_DROP: Final = "DELETE FROM run_prompts WHERE run <= ?"
_DROP_TEXTS: Final = "DELETE FROM prompts WHERE digest NOT IN (SELECT digest FROM run_prompts)"


@dataclass(frozen=True, slots=True)
class PromptRow:
    """The `number`th prompt of a run, from 1: what the model read, and which tools it saw from the call `position` on."""

    number: int
    position: int
    at: datetime
    prompt: str
    text: str
    tools: tuple[str, ...]


def write_prompt(
    connection: sqlite3.Connection, run_number: int, at: datetime, prompt: str, text: str, tools: Sequence[str]
) -> int | None:
    """Keep a prompt; its number, or None where it is the same as the last one."""
    import hashlib

    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    names = json.dumps(list(tools))
    last = connection.execute(_LAST, (run_number,)).fetchone()
    if last is not None and last[1:] == (digest, names):
        return None
    number = 1 if last is None else last[0] + 1
    execute(connection, _KEEP, (digest, text))
    execute(connection, _INSERT, (run_number, number, microseconds(at), prompt, digest, names))
    return number


def drop_prompts(connection: sqlite3.Connection, up_to: int) -> None:
    """Forget the prompts of old runs."""
    if connection.execute(_DROP, (up_to,)).rowcount > 0:
        connection.execute(_DROP_TEXTS)


def read_prompts(ask: Ask, run_number: int) -> tuple[PromptRow, ...]:
    """The prompts of a run, oldest first."""
    return tuple(
        PromptRow(number, position, moment(at), prompt, text, tuple(json.loads(tools)))
        for number, position, at, prompt, text, tools in ask(_READ, run_number)
    )
