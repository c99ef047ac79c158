"""Tell open pages, as it happens, that something has moved; whichever process moved it.

A page is only told how far the record has come, and asks for what it shows. SQLite has no way to be woken by another
process, so the record is asked a few times a second, once for all pages, and only while a page is open.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from wink.errors import RecordCorrupt
from wink.state import opened_directory
from wink.workspace import Workspace
from wink_sandbox.tries import DIRECTORY

EVERY: Final = 0.2
"""Seconds between two looks."""
_ALIVE: Final = 15.0
"""Seconds after which a quiet stream says that it still is there."""


class Live:
    """What open pages listen to."""

    def __init__(self, look: Callable[[], str]) -> None:
        self._ask = look
        self._listeners: set[asyncio.Queue[str | None]] = set()
        self._watching: asyncio.Task[None] | None = None
        self._last = ""
        self._is_over = False

    async def stream(self, request: Request) -> Response:
        """A stream of server-sent events for one page."""
        del request
        headers = {"x-accel-buffering": "no"}
        return StreamingResponse(self._events(), media_type="text/event-stream", headers=headers)

    def end(self) -> None:
        """End all streams; to be called on the loop."""
        self._is_over = True
        for queue in self._listeners:
            queue.put_nowait(None)
        if self._watching is not None:
            self._watching.cancel()

    async def _events(self) -> AsyncIterator[str]:
        # Not before it is read: of who has left by then nothing would ever be forgotten.
        queue: asyncio.Queue[str | None] = asyncio.Queue()
        self._listeners.add(queue)
        try:
            if self._watching is None:
                self._watching = asyncio.get_running_loop().create_task(self._watch())
            if self._last:
                queue.put_nowait(self._last)
            if self._is_over:
                queue.put_nowait(None)
            yield "retry: 1000\n\n"
            while True:
                try:
                    told = await asyncio.wait_for(queue.get(), _ALIVE)
                except TimeoutError:
                    yield ": still here\n\n"
                    continue
                if told is None:
                    return
                yield f"event: moved\ndata: {told}\n\n"
        finally:
            self._listeners.discard(queue)

    async def _watch(self) -> None:
        while self._listeners:
            told = await run_in_threadpool(self._look)
            if told != self._last:
                self._last = told
                for queue in self._listeners:
                    queue.put_nowait(told)
            await asyncio.sleep(EVERY)
        self._watching, self._last = None, ""

    def _look(self) -> str:
        try:
            return self._ask()
        except Exception as error:  # whatever it is: the next look may find it fixed
            return json.dumps({"problem": str(error)})


def look(workspace: Workspace) -> str:
    """How far the record has come, and what waits, as JSON."""
    call, tx, undo = workspace.record.queries.marks()
    waits = [row.number for row in workspace.record.approvals.rows(states=("pending",))]
    return json.dumps({"call": call, "tx": tx, "undo": undo, "approvals": waits, "tries": tried_in(workspace)})


def tried_in(workspace: Workspace) -> list[tuple[str, int]]:
    """The names of what is being tried, and when it last began or ended."""
    place = os.path.join(workspace.state, DIRECTORY)
    found: list[tuple[str, int]] = []
    try:
        with opened_directory(place) as directory, os.scandir(directory) as entries:
            for entry in entries:
                found.append((entry.name, entry.stat(follow_symlinks=False).st_mtime_ns))
    except (OSError, RecordCorrupt):
        return []
    return sorted(found)
