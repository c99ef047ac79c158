"""Nothing is left of a call but what it was asked to leave."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import logging
import os
import threading
import weakref
from pathlib import Path

import pytest
from tests.runtime.conftest import Note, Rig, Text, change_everything, press_ctrl_c, succeed

from wink.bounded import content
from wink.filesystem import HostFilesystem
from wink.runtime import ToolCall
from wink.tools import ToolContext, ToolResult


@pytest.fixture
def busy(rig: Rig) -> Rig:
    """A rig with tools of every kind and every end."""
    rig.tool(succeed)

    @rig.tool
    def fail(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        change_everything(context)
        raise ValueError("no")

    @rig.tool
    def interrupt(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        change_everything(context)
        press_ctrl_c()
        raise AssertionError("not reached")

    @rig.tool(timeout=60)
    async def wait(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        await asyncio.sleep(0)
        return ToolResult[Note].ok(Note("x"))

    @rig.tool(effects="read")
    def look(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        return ToolResult[Note].ok(Note(context.filesystem.read("a.txt").content))

    return rig


def all_sorts(rig: Rig) -> None:
    """One call of each kind, alone, in a batch, and in a loop."""
    names = ("succeed", "fail", "interrupt", "wait", "look", "look", "nothing")
    calls = [ToolCall(name, {}) for name in names]
    for call in calls:
        with contextlib.suppress(KeyboardInterrupt):
            rig.executor.execute(call)
    with contextlib.suppress(KeyboardInterrupt):
        rig.executor.execute_batch(calls)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(rig.executor.aexecute_batch(calls))


def left_open() -> int:
    """How many descriptors this process has."""
    found = Path("/proc/self/fd")
    return len(os.listdir(found)) if found.exists() else 0


def test_calls_leave_no_threads_and_no_descriptors(busy: Rig) -> None:
    """However they end."""
    all_sorts(busy)
    descriptors, threads = left_open(), threading.active_count()

    for _ in range(10):
        all_sorts(busy)
    for thread in threading.enumerate():
        if thread.name == "wink-handler":
            thread.join(60)

    assert left_open() <= descriptors
    assert threading.active_count() <= threads


def test_files_that_nobody_closed_are_closed_when_they_are_forgotten(tmp_path: Path) -> None:
    """As Python's own: with a transaction of theirs under way, too."""
    gc.collect()
    descriptors = left_open()

    for number in range(5):
        files = HostFilesystem(tmp_path)
        files.write("a.txt", str(number))
        files.begin().handle.write("b.txt", "x")
        assert left_open() > descriptors
        del files
        gc.collect()

    assert left_open() == descriptors
    with HostFilesystem(tmp_path) as files:
        files.write("c.txt", "the next to write takes back what nobody committed")
        assert sorted(entry.path for entry in files.list()) == ["a.txt", "c.txt"]


def test_what_could_not_be_closed_is_not_closed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else may have the number by then."""
    really, closed = os.close, list[int]()

    def close(fd: int) -> None:
        closed.append(fd)
        really(fd)
        if len(closed) == 1:
            raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    files = HostFilesystem(tmp_path)
    files.write("a.txt", "x")
    monkeypatch.setattr("os.close", close)
    for _ in range(5):
        with contextlib.suppress(OSError):
            files.close()
    del files
    gc.collect()

    assert len(closed) > 1
    assert len(closed) == len(set(closed))


@pytest.mark.parametrize("kind", ["directory", "too long"])
def test_what_is_refused_to_be_read_is_closed(tmp_path: Path, kind: str) -> None:
    """Somebody may have put a thousand of them where settings are looked for."""
    if kind == "directory":
        (tmp_path / "x").mkdir()
    else:
        (tmp_path / "x").write_text("too long")
    descriptors = left_open()

    with pytest.raises(OSError, match="it is no regular file" if kind == "directory" else "it is longer than 3 bytes"):
        content(str(tmp_path / "x"), most=3)

    assert left_open() == descriptors


def test_a_call_is_forgotten_when_it_has_ended(busy: Rig, caplog: pytest.LogCaptureFixture) -> None:
    """Its context, and with it its handles, can be freed; an exception does not hold on to them either."""
    caplog.set_level(logging.CRITICAL, "wink.runtime")  # pytest keeps what is logged, with its tracebacks
    kept: list[weakref.ref[object]] = []

    class Big:
        """Something that a handler holds."""

    @busy.tool
    def hold(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        big = Big()
        kept.append(weakref.ref(big))
        context.filesystem.write("a.txt", "x")
        if params.text == "fail":
            raise ValueError("no")
        return ToolResult[Note].ok(Note("x"))

    for text in ("ok", "fail"):
        busy.call("hold", text=text)
    gc.collect()

    assert [ref() for ref in kept] == [None, None]
