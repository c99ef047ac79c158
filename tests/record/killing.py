"""Work on a record that is killed before one of its statements."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path

from wink.record import Record


def killed_at(step: int, state: Path, work: Callable[[Record], object]) -> bool:
    """Work on the record in a child that is killed before its statement `step`; False when it came to its end."""
    child = os.fork()
    if not child:
        count = 0

        class Connection(sqlite3.Connection):
            def execute(self, *args: object) -> sqlite3.Cursor:  # type: ignore[override]
                nonlocal count
                count += not str(args[0]).startswith(("SELECT", "PRAGMA"))
                if count == step:
                    os.kill(os.getpid(), signal.SIGKILL)
                return super().execute(*args)  # type: ignore[arg-type]

        def connect(*args: object, **options: object) -> sqlite3.Connection:
            return sqlite3.connect(*args, factory=Connection, **options)  # type: ignore[call-overload]

        work(Record(str(state), connect=connect))
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
