"""Run an agent between its start and its end, and say how it ended."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from wink.errors import SandboxUnavailable
from wink.runtime import in_thread
from wink_acp._proxy import Proxy
from wink_acp._wire import Wire
from wink_mcp import standard_streams
from wink_sandbox import usual_guard

_GRACE: Final = 3.0
"""Seconds that an agent has to end by itself when the editor has gone; the same again when it is asked to."""
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def serve(command: Sequence[str], *, named: str | None, tell: Callable[[str], object]) -> int:
    """Stand between the editor at standard input and output and the agent; gives the agent's exit status. Raises `OSError`."""
    with standard_streams() as (read, write):
        return asyncio.run(_serve(command, read, write, named, tell))


async def _serve(
    command: Sequence[str], read: int, write: int, named: str | None, tell: Callable[[str], object]
) -> int:
    has_terminals = _has_terminals(tell)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdin is not None, "it is a pipe"
    assert process.stdout is not None, "it is a pipe"
    agent = Wire(process.stdout.fileno(), os.dup(process.stdin.fileno()))
    process.stdin.close()
    name = os.path.basename(command[0])
    proxy = Proxy(Wire(read, write), agent, named=named, program=name, has_terminals=has_terminals, tell=tell)
    stopping = asyncio.Event()
    for number in _SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    said = asyncio.create_task(proxy.from_agent())
    heard = asyncio.create_task(proxy.from_editor())
    stopped = asyncio.create_task(stopping.wait())
    ended = asyncio.wrap_future(in_thread(process.wait))
    try:
        # The agent's last words come after its end, unless something it has left behind keeps its output open.
        await asyncio.wait({said, heard, stopped, ended}, return_when=asyncio.FIRST_COMPLETED)
        agent.close()
        if ended.done():
            await asyncio.wait({said}, timeout=_GRACE)
        elif heard.done() or said.done():
            await asyncio.wait({ended}, timeout=_GRACE)
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            if not ended.done():
                await asyncio.wait({ended}, timeout=_GRACE)
        status = await ended
        for task in (said, heard):
            if task.done() and not task.cancelled() and (failure := task.exception()) is not None:
                tell(f"{type(failure).__name__}: {failure}")
        await proxy.end(_words(status))
    finally:
        for task in (said, heard, stopped):
            task.cancel()
    return 128 - status if status < 0 else status


def _words(status: int) -> str:
    how = f"by {signal.Signals(-status).name}" if status < 0 else f"with exit status {status}"
    return f"the agent has ended {how}, and did not answer"


def _has_terminals(tell: Callable[[str], object]) -> bool:
    try:
        usual_guard()
    except SandboxUnavailable as error:
        tell(f"the agent is offered no terminals: {error}")
        return False
    return True
