"""A slice of the fault injection; `nox -s faults` tries every point."""

from __future__ import annotations

import shutil
import sys

import pytest

from .library import compiler
from .run import run

OPERATIONS = (
    "many",
    "nested failing",
    "first call",
    "no exchange, failing",
    "rewind of a run",
    "rewind of a run, in a copy",
)
OF_TRIES = ("accept of a try", "accept, the check passes", "update of a try", "undo of an update")


@pytest.mark.skipif(sys.platform != "linux" or compiler() is None, reason="fault injection was NOT RUN: no C compiler")
def test_calls_that_die_or_fail_at_any_point_happen_or_do_not() -> None:
    """Files and session are as before or as after the call, and the next one works, whatever a disk or a kill does."""
    table = run(every=37, only=OPERATIONS, workers=2)

    assert table.problems == []
    assert table.total("mixed") == table.total("wedged") == 0
    assert table.total("before") > 100
    assert table.total("after") > 0
    assert {fault for _, fault in table.rows} >= {"killed before the call", "ENOSPC once", "EIO from then on"}


@pytest.mark.skipif(
    sys.platform != "linux" or compiler() is None or shutil.which("bwrap") is None,
    reason="fault injection in tries was NOT RUN: no C compiler, or no bubblewrap",
)
def test_accepts_and_updates_of_tries_that_die_or_fail_at_any_point_happen_or_do_not() -> None:
    """Workspace and try are as before or as after, and the same comes to the same end when it is done again."""
    table = run(
        every=29, only=OF_TRIES, faults=("killed before the call", "ENOSPC once", "EIO from then on"), workers=2
    )

    assert table.problems == []
    assert table.total("mixed") == table.total("wedged") == 0
    assert table.total("before") > 15
    assert table.total("after") > 3
    assert {operation for operation, _ in table.rows} >= {*OF_TRIES, "recovery of update of a try"}


@pytest.mark.skipif(sys.platform != "linux" or compiler() is None, reason="cuts of power were NOT RUN: no C compiler")
def test_a_cut_of_power_loses_nothing_that_was_replied_to() -> None:
    """With durability "power" a call is there when its reply is, and before that as a whole or not at all."""
    table = run(every=31, only=("durable", "durable, failing"), only_power=True, workers=2)

    assert table.problems == []
    assert table.total("before") > 50
    assert table.total("after") > 0
