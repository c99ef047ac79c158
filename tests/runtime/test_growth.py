"""The thousandth call leaves as much behind as the first: its line in the log, and nothing else."""

from __future__ import annotations

import gc
import os
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.runtime.conftest import Note, Rig, Text
from tests.states import state_of

from wink.filesystem import FileVersion
from wink.runtime import ToolInvoked
from wink.tools import ToolContext, ToolResult

CALLS: Final = 1000
PACKS: Final = 48
LOGGED: Final = frozenset({"ToolInvoked", "ToolResult", "PolicyVerdict", "Change", "FileChange", "FileVersion"})
"""What the session's log holds of a call, beside its parameters and its value."""
BOUNDED: Final = frozenset({"Facts"})
"""Digests of contents in memory; the last few thousand are kept."""


@pytest.fixture
def busy(rig: Rig) -> Rig:
    """A rig with a tool that only looks, one that writes, and one that fails after it has written."""

    @rig.tool
    def look(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        return ToolResult[Note].ok(Note(context.filesystem.read("a.txt").content))

    @rig.tool
    def write(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        context.filesystem.write("a.txt", params.text)
        return ToolResult[Note].ok(Note(params.text))

    @rig.tool
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        context.filesystem.write("a.txt", params.text)
        return ToolResult[Note].error("no")

    return rig


def run(rig: Rig, calls: int) -> None:
    """So many calls, in turn of each kind; what the rig itself keeps of them is dropped."""
    for number in range(calls):
        name = ("look", "write", "fail", "nothing")[number % 4]
        assert rig.call(name, text=f"{name} {number}").success is (number % 4 < 2)
        rig.events.clear()


def descriptors() -> int:
    """How many descriptors this process has, without those that other tests' garbage still holds."""
    gc.collect()
    found = Path("/proc/self/fd")
    return len(os.listdir(found)) if found.exists() else 0


def wait_for_folds() -> None:
    """What is folded beside the calls comes to its end by itself."""
    for thread in threading.enumerate():
        if thread.name == "wink fold":
            thread.join(60)


def stored(root: Path) -> Counter[str]:
    """How many files there are in each directory of the state; those of SQLite come and go."""
    found = [path for path in state_of(root).rglob("*") if path.is_file()]
    return Counter(path.parent.name for path in found if not path.name.startswith("record.db"))


def alive() -> Counter[str]:
    """How many objects of our own classes there are, by the names of their classes."""
    gc.collect()
    kinds = [type(found) for found in gc.get_objects()]
    return Counter(kind.__name__ for kind in kinds if str(kind.__module__).startswith("wink."))


def test_calls_leave_only_the_log(busy: Rig, tmp_path: Path) -> None:
    """Descriptors, threads, files of the state and objects would each end a long run if they added up."""
    run(busy, CALLS // 5)  # what is made once, is made then
    wait_for_folds()
    open_before, threads, files, objects = descriptors(), threading.active_count(), stored(tmp_path), alive()

    run(busy, CALLS)
    wait_for_folds()

    assert descriptors() <= open_before
    assert threading.active_count() <= threads
    grown = {name for name, count in (alive() - objects).items() if count >= CALLS // 10}
    assert grown <= LOGGED | BOUNDED
    more = stored(tmp_path) - files
    # A workspace keeps what each commit replaced, to show it and to bring it back; without a record few are kept.
    kept = CALLS // 4 if busy.session.recorder is not None else 64
    assert more.pop("staged", 0) <= kept
    # What is folded makes a repository once, and two files a pack; many packs are merged into one.
    assert sum(more.values()) <= 8 + 2 * PACKS


def test_the_log_holds_no_content(busy: Rig) -> None:
    """The log is meant to grow; with the content of files in it, a run would hold all that it ever wrote."""
    run(busy, 8)

    logged = busy.session[ToolInvoked].all()

    assert len(logged) == 8
    assert sum(bool(event.change) for event in logged) == 4
    assert all(side.content() is None for event in logged for side in sides(event))


def sides(event: ToolInvoked) -> Iterator[FileVersion]:
    """Every file as it was and as it became."""
    for change in event.change:
        yield from (side for side in (change.before, change.after) if side is not None)
