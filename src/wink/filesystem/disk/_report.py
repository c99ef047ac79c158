"""Report what a rollback or a recovery did, and what it found that nobody expected."""

from __future__ import annotations

from typing import Literal

from wink.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Conflict:
    """Something that somebody else saved where a rollback put a file back.

    `kept` is where it is now, relative to the state directory, or None where it was left in its place.
    """

    path: str
    kept: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Recovered:
    """What became of a transaction whose process died: its changes were kept, or undone."""

    transaction_id: str
    outcome: Literal["kept", "undone"]
    paths: tuple[str, ...]
    conflicts: tuple[Conflict, ...] = ()
