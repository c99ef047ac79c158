"""Run the calls of clients in the order in which they came: each to its end, or taken back before the next one begins."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

import anyio
import mcp_types as types

from wink.errors import ApprovalRequired, PromptEvaluationError, VisibilityExpansionRequired, WinkError
from wink.limits import Heartbeat, is_interruption
from wink.prompt import RenderedPrompt, apply_expansion
from wink.runtime import Approvals, Place, ReadWriteQueue, ToolCall, ToolExecutor, in_thread
from wink.transactions import Transaction
from wink_mcp._apart import Apart
from wink_mcp._asking import asked_for
from wink_mcp._progress import Progress, Step
from wink_mcp._replies import answered, failed
from wink_mcp._view import View, Views

_log: Final = logging.getLogger("wink_mcp")

Result: TypeAlias = types.CallToolResult | types.InputRequiredResult

ADDED_BY_CLIENTS: Final = frozenset({"wait_for_previous"})
"""Arguments that clients add to every call for themselves (Gemini CLI, to order its calls), and forget to take off."""

MOST_AT_ONCE: Final = 4096
"""So many calls may wait for their turn; one more is told to come later."""


class Calls:
    """The calls that one server is working on."""

    def __init__(self, views: Views) -> None:
        self._views = views
        self._apart = Apart()
        self._together = ReadWriteQueue()
        self._running: set[asyncio.Task[Result]] = set()
        self._ending: set[asyncio.Task[Result]] = set()
        self._is_over = False

    def open_transactions(self) -> tuple[Transaction, ...]:
        """The transactions of the calls that are running; may be asked from any thread."""
        return self._apart.open_transactions()

    async def end(self) -> None:
        """Take back what is running, and run no more."""
        self._is_over = True
        for task in tuple(self._running):
            task.cancel()
        if self._running:
            await asyncio.wait(tuple(self._running))

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        session: str | None = None,
        client: str | None = None,
        progress: Callable[[Step], Awaitable[object]] | None = None,
        approvals: Approvals | None = None,
        changed: Callable[[], Awaitable[object]] | None = None,
    ) -> Result:
        """Run one call in a session; however it ends, the result says so.

        It waits for the calls that the same `client` has made before in the same session, unless all of them only read.
        `changed` is called when the session has other tools from then on.

        When this coroutine is cancelled, the call is taken back before the cancellation goes on.
        """
        if self._is_over:
            return failed(f"{name} was not run: the server is ending")
        if len(self._running) >= MOST_AT_ONCE:
            return failed(f"{name} was not run: {MOST_AT_ONCE} calls are waiting already; call it again later")
        beats = None if progress is None else Progress(progress)
        session = self._views.default if session is None else session
        place = self._together.join((session, client), reads=self._views.only_reads(name, session))
        # A task of its own: a scope of anyio cancels again and again, and so would end the taking back as well.
        task = asyncio.create_task(self._run(name, arguments, session, place, beats, approvals, changed))
        # Not in the task: one that is cancelled at once never begins.
        task.add_done_callback(lambda _: self._together.leave(place))
        self._running.add(task)
        task.add_done_callback(self._forget)
        try:
            await asyncio.wait([task])
        except BaseException:
            self._ending.add(task)
            task.cancel()
            if beats is not None:
                beats.drop()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([task])
            raise
        if beats is not None:
            await beats.end()
        if not task.cancelled():
            return task.result()
        return failed(f"{name} was taken back: the server is ending; nothing was changed")

    def _forget(self, task: asyncio.Task[Result]) -> None:
        self._running.discard(task)
        self._ending.discard(task)

    async def _run(
        self,
        name: str,
        arguments: Mapping[str, Any],
        session: str,
        place: Place,
        beats: Progress | None,
        approvals: Approvals | None,
        changed: Callable[[], Awaitable[object]] | None,
    ) -> Result:
        await place.reached()
        # What was given up must be taken back before anything looks at the files; writes wait for it anyway.
        while self._ending:
            await asyncio.wait(self._ending)
        try:
            heartbeat = None if beats is None else beats.heartbeat()
            execute = partial(self._execute, name, arguments, session, heartbeat, approvals)
            return await self._apart.run(execute, only_reads=self._views.only_reads(name, session))
        except ApprovalRequired as error:
            return asked_for(error.request)
        except VisibilityExpansionRequired as error:
            return await self._open_sections(name, session, error, changed)
        except PromptEvaluationError as error:
            return failed(f"{name} failed: {error}")
        except WinkError as error:
            _log.error("%s", error)
            return failed(f"{name} failed: {error}")
        except BaseException as error:  # foreign code: sections, resources
            if is_interruption(error):
                raise
            # A task must not let it out: it would end the loop, and the server with it.
            _log.exception("a call of %r failed", name)
            return failed(f"{name} failed with {type(error).__name__}; nothing was changed")

    async def _execute(
        self,
        name: str,
        arguments: Mapping[str, Any],
        session: str,
        heartbeat: Heartbeat | None,
        approvals: Approvals | None,
    ) -> types.CallToolResult:
        """Execute one call, away from the server's loop; what it raises is told where it is waited for."""
        view = self._views.shown(session, tool=name)
        executor = ToolExecutor(
            prompt=self._views.prompt,
            rendered=view.rendered,
            session=view.session,
            heartbeat=heartbeat,
            approvals=approvals,
        )
        call = ToolCall(name, _without_additions(name, arguments, view))
        return answered(await executor.aexecute(call, apart=True))

    async def _open_sections(
        self,
        name: str,
        session: str,
        wanted: VisibilityExpansionRequired,
        changed: Callable[[], Awaitable[object]] | None,
    ) -> Result:
        """Open summarised sections for the rest of the session, and say what they say: the client has no other way."""
        try:
            before, told, after = await asyncio.wrap_future(in_thread(partial(self._opened, session, wanted)))
        except WinkError as error:
            return failed(f"{name} failed: {error}")
        new = [tool.name for tool in after.tools if before.rendered.tool(tool.name) is None]
        if new:
            told += f"; new tools: {', '.join(new)}"
        if changed is not None:
            await changed()
        text = f"{told}. The instructions are now:\n\n{after.text}"
        return types.CallToolResult(content=[types.TextContent(text=text)], is_error=False)

    def _opened(self, session: str, wanted: VisibilityExpansionRequired) -> tuple[View, str, RenderedPrompt[Any]]:
        before = self._views.shown(session)
        told = apply_expansion(before.session, wanted)
        return before, told, self._views.render(session).rendered


def _without_additions(name: str, arguments: Mapping[str, Any], view: View) -> Mapping[str, Any]:
    """The arguments without those that only the client understands, unless the tool has such parameters itself."""
    added = ADDED_BY_CLIENTS.intersection(arguments)
    tool = view.rendered.tool(name) if added else None
    if tool is None or tool.extra != "forbid":
        return arguments
    added -= set(tool.schema().get("properties", {}))
    return {key: value for key, value in arguments.items() if key not in added}
