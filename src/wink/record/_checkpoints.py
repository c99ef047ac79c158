"""Give positions in the record names."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from wink.dataclass import dataclass
from wink.record._calls import microseconds, moment
from wink.record._changes import Ask

if TYPE_CHECKING:
    import sqlite3

_INSERT: Final = """INSERT INTO checkpoints (name, position, at)
    VALUES (?, (SELECT ifnull(max(seq), 0) FROM transactions), ?) ON CONFLICT (name) DO """
_LEAVE: Final = "NOTHING"
_MOVE: Final = "UPDATE SET position = excluded.position, at = excluded.at"
_SELECT: Final = "SELECT name, position, at FROM checkpoints ORDER BY position, at, name"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A state that can be restored: everything up to and with the transaction at `position`."""

    name: str
    position: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Listed:
    """A checkpoint of everything: its commit, and the blob that lists what there was, by git's ids and by SHA-256."""

    name: str
    commit: str
    listing: str
    digest: str


def read_listed(ask: Ask) -> tuple[Listed, ...]:
    """All checkpoints of everything, by name."""
    sql = "SELECT name, commit_id, listing, digest FROM full_checkpoints JOIN checkpoints USING (name) ORDER BY name"
    return tuple(Listed(*row) for row in ask(sql))


def write_checkpoint(
    connection: sqlite3.Connection, name: str, at: datetime, listed: Listed | None, *, move: bool = False
) -> bool:
    """Name the last position, and where everything is listed; False when the name is taken, and is not to `move`."""
    if connection.execute(f"{_INSERT}{_MOVE if move else _LEAVE}", (name, microseconds(at))).rowcount != 1:
        return False
    connection.execute("DELETE FROM full_checkpoints WHERE name = ?", (name,))
    if listed is not None:
        row = (name, listed.commit, listed.listing, listed.digest)
        connection.execute("INSERT INTO full_checkpoints VALUES (?, ?, ?, ?)", row)
    return True


def delete_checkpoint(connection: sqlite3.Connection, name: str) -> bool:
    """Forget a name; False where there is none."""
    connection.execute("DELETE FROM full_checkpoints WHERE name = ?", (name,))
    return connection.execute("DELETE FROM checkpoints WHERE name = ?", (name,)).rowcount == 1


def read_checkpoints(ask: Ask) -> tuple[Checkpoint, ...]:
    """All of them, oldest first."""
    return tuple(Checkpoint(name, position, moment(at)) for name, position, at in ask(_SELECT))
