"""The order in which a server ends that does not end by itself."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from wink.limits import Stopping, _stopping

BOUND = 60.0


class Ended:
    """Notes what happens, in its order; `end` is what ends the process otherwise."""

    def __init__(self) -> None:
        self.steps: list[object] = []
        self.is_over = threading.Event()

    def end(self, status: int) -> None:
        self.steps.append(("end", status))
        self.is_over.set()


class Half:
    """A transaction that is open; it may refuse to be taken back."""

    def __init__(self, ended: Ended, name: str, held: threading.Event | None = None) -> None:
        self._ended, self._name, self._held = ended, name, held

    def abort(self) -> None:
        self._ended.steps.append(self._name)
        if self._name == "bad":
            raise RuntimeError("cannot be taken back")
        if self._held is not None:
            self._held.wait(BOUND)


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> Ended:
    """A process that does not really end, and that has no patience."""
    made = Ended()
    monkeypatch.setattr(_stopping, "end_now", made.end)
    monkeypatch.setattr(_stopping, "SECONDS", 0.0)
    return made


def stopping(*half: Any) -> Stopping:
    return Stopping(lambda: half)


def test_a_server_that_hangs_is_told_then_taken_back_then_ended(ended: Ended) -> None:
    """Each step once, and every transaction, whatever becomes of the others."""
    server = stopping(Half(ended, "bad"), Half(ended, "good"))
    server.when_asked(lambda: ended.steps.append("told"))

    server.ask(130)
    server.ask(0)

    assert ended.is_over.wait(BOUND)
    assert ended.steps == ["told", "bad", "good", ("end", 130)]


def test_what_cannot_be_taken_back_in_time_does_not_hold_up_the_end(ended: Ended) -> None:
    """Whoever opens the workspace next finds the journal."""
    held = threading.Event()
    stopping(Half(ended, "held", held)).ask()

    assert ended.is_over.wait(BOUND)
    assert ended.steps == ["held", ("end", 0)]
    held.set()


def test_a_server_that_ends_by_itself_is_left_alone(ended: Ended, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is taken back that has been committed meanwhile."""
    monkeypatch.setattr(_stopping, "SECONDS", BOUND)
    server = stopping(Half(ended, "open"))
    server.ask()
    server.over()

    watching = server.watching
    watching.join(BOUND)
    assert not watching.is_alive()
    assert ended.steps == []


def test_all_steps_together_leave_time_to_a_busy_machine() -> None:
    """Two seconds are promised."""
    assert _stopping.SECONDS + _stopping.LAST <= 1.5
