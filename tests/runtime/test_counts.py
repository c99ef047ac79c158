"""What a call asks of the kernel, of SQLite and of Python does not grow: counts, which are the same on a busy machine."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from benchmarks.counts import KINDS, counts

MOST = {
    "noop": {"SQL statements": 5, "Python calls": 417, "system calls": 25},
    "write": {"SQL statements": 5, "Python calls": 842, "system calls": 66},
    "fail": {"SQL statements": 5, "Python calls": 740, "system calls": 78},
}
"""Lower them when it is less. A little more than on ext4, as `docs/explanation/performance.md` has it: where a clock is coarse a file is read again."""


def may_trace() -> bool:
    """Whether this machine has strace, and lets it trace."""
    if shutil.which("strace") is None:
        return False
    return (
        subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode == 0
    )


def test_a_call_asks_for_no_more_than_it_did() -> None:
    """Each millisecond that wink lost came a few microseconds at a time."""
    found = counts(system_calls=may_trace())

    assert set(found) == set(KINDS) == set(MOST)
    for kind, numbers in found.items():
        assert all(number > 0 for number in numbers.values())
        assert {what: number for what, number in numbers.items() if number > MOST[kind][what]} == {}, kind


@pytest.mark.skipif(not may_trace(), reason="no strace here, or it may not trace: system calls are not counted")
def test_system_calls_are_among_what_is_counted() -> None:
    """Where they are not, this says so."""
    assert set(counts()["noop"]) == set(MOST["noop"])
