"""Mount one MCP server: list its tools when a prompt is rendered, and call them when the model does."""

from __future__ import annotations

import asyncio
import json
import logging
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, cast

import mcp_types as types
from mcp import MCPError
from pydantic import TypeAdapter, ValidationError

from wink.tools import ToolContext, ToolHandler, ToolResult
from wink_mcp._errors import McpServerFailed
from wink_mcp.mount._arguments import McpArguments
from wink_mcp.mount._connection import Connection, Live, Opening
from wink_mcp.mount._listing import Choice, Listing, listing_of
from wink_mcp.mount._results import McpResult, result_of, shortened

MAX_PAGES: Final = 100
AGAIN_SECONDS: Final = 1.0
"""How long a server may take to list its tools again before they count as they last were."""

_NONE: Final = Listing()
_RAW: Final[Any] = TypeAdapter(dict[str, Any])
_log: Final = logging.getLogger("wink_mcp")


class Mount:
    """A server's tools. Listing and calling open the connection; nothing else does."""

    def __init__(
        self,
        name: str,
        open_one: Callable[[], Opening],
        choice: Choice,
        *,
        timeout: float,
        connect_timeout: float,
    ) -> None:
        self.name = name
        self._choice, self._timeout, self._connect_timeout = choice, timeout, connect_timeout
        self._connection = Connection(name, open_one, connect_seconds=connect_timeout)
        self._listing = _NONE
        self._fresh: tuple[Live, int] | None = None
        weakref.finalize(self, self._connection.close, wait=False).atexit = False
        self._said: set[str] = set()

    def connect(self) -> Listing:
        """The tools as the server has them now; raises `McpServerFailed`."""
        return self._asked_within(self._connect_timeout + self._timeout)

    def _asked_within(self, seconds: float) -> Listing:
        try:
            listing = self._connection.run_blocking(self._listed, seconds)
        except TimeoutError:
            raise McpServerFailed(self.name, f"it did not list its tools within {seconds:g} s") from None
        except MCPError as error:
            raise McpServerFailed(self.name, f"it does not list its tools: {shortened(error.error.message)}") from error
        except ValidationError as error:
            raise McpServerFailed(self.name, f"its list of tools makes no sense: {_first(error)}") from error
        for problem in listing.problems:
            self._say(f"MCP server {self.name!r}: {problem}")
        return listing

    def listing(self) -> tuple[Listing, str]:
        """The tools as they are now; or, if the server cannot be asked, as they last were, and why that is so.

        A server that has listed them before and is busy is not waited for: prompts are rendered for others too.
        """
        is_known = self._listing is not _NONE and self._connection.is_open
        seconds = self._connect_timeout + self._timeout
        try:
            return self._asked_within(min(seconds, AGAIN_SECONDS) if is_known else seconds), ""
        except McpServerFailed as error:
            self._say(f"MCP server {self.name!r} cannot be reached: {error.reason}")
            return self._listing, error.reason

    def close(self, *, wait: bool = True) -> None:
        """End the connection, and the server if it is ours; the next use opens it again."""
        self._connection.close(wait=wait)

    def handler(self, origin: str, name: str) -> ToolHandler[McpArguments, McpResult]:
        """What calls the server's tool `origin`, which is called `name` here."""
        return _Handler(self, origin, name)

    # -- on the caller's loop

    async def call(self, origin: str, name: str, params: McpArguments, context: ToolContext) -> ToolResult[McpResult]:
        arguments, seconds = params.as_dict(), self._timeout
        if context.deadline is not None:
            seconds = min(seconds, max(context.deadline.remaining().total_seconds(), 0.0))
        try:
            json.dumps(arguments, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            return ToolResult[Any].error(f"{name} was not called: its arguments hold half of a surrogate pair")

        async def progress(done: float, total: float | None, message: str | None) -> None:
            del done, total, message
            context.beat()

        async def work(live: Live) -> types.CallToolResult | str:
            async with asyncio.timeout(seconds):
                return await _asked(live, origin, arguments, progress)

        try:
            answer = await self._connection.run(work)
        except TimeoutError:
            if context.deadline is not None:
                context.deadline.check()
            return _failed(name, f"the server did not answer within {seconds:g} s and was told to stop\n{_UNKNOWN}")
        except MCPError as error:
            return _failed(name, f"the server refused the call: {shortened(error.error.message)}{_hint(error)}")
        except McpServerFailed as error:
            what = (
                f"the server {self.name!r} was lost during the call"
                if error.sent
                else f"there is no server {self.name!r}"
            )
            return _failed(name, f"{what}: {error.reason}\n{_UNKNOWN if error.sent else 'Nothing was sent to it.'}")
        except ValidationError:
            return _failed(name, f"the server's answer makes no sense\n{_UNKNOWN}")
        if isinstance(answer, str):
            return _failed(name, answer)
        return result_of(self.name, origin, name, answer)

    # -- on the connection's loop

    async def _listed(self, live: Live) -> Listing:
        changes = live.changes
        if self._fresh == (live, changes):
            return self._listing
        async with asyncio.timeout(self._timeout):
            found, unread = await _all_tools(live)
        info = live.client.server_info
        listing = listing_of(
            found,
            self._choice,
            self.handler,
            instructions=(live.client.instructions or "").strip(),
            server="" if info is None else f"{info.name} {info.version}".strip(),
        )
        listing = replace(listing, problems=(*unread, *listing.problems))
        # Of a server that does not tell of changes, the tools are asked for every time.
        tells = live.client.server_capabilities.tools
        is_told = live.client.session.initialize_result is not None and tells is not None and tells.list_changed
        self._fresh = (live, changes) if is_told else None
        self._listing = listing
        return listing

    def _say(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            _log.warning("%s", text)


class _Handler:
    """Calls one tool. Not a function made for each: what is known of functions is kept for ever."""

    __slots__ = ("_mount", "_name", "_origin")

    def __init__(self, mount: Mount, origin: str, name: str) -> None:
        self._mount, self._origin, self._name = mount, origin, name

    async def __call__(self, params: McpArguments, *, context: ToolContext) -> ToolResult[McpResult]:
        return await self._mount.call(self._origin, self._name, params, context)


_UNKNOWN: Final = "Whether it has done its work is not known: look before you call it again."


async def _asked(
    live: Live, name: str, arguments: dict[str, Any], progress: Callable[..., Any]
) -> types.CallToolResult | str:
    """Send one call, once, and give the answer, or what is wrong with it."""
    request = types.CallToolRequest(params=types.CallToolRequestParams(name=name, arguments=arguments))
    # Not `client.call_tool`, which checks answers against schemas whose regular expressions come from the server.
    raw: dict[str, Any] = await live.client.session.send_request(request, _RAW, progress_callback=progress)
    if raw.get("resultType", "complete") != "complete":
        return "the server asks for more input before it answers, which cannot be given here"
    return types.CallToolResult.model_validate(raw, by_name=False)


async def _all_tools(live: Live) -> tuple[list[types.Tool], list[str]]:
    """What the server lists, and what of it cannot be read."""
    found: list[types.Tool] = []
    problems: list[str] = []
    if live.client.server_capabilities.tools is None:
        return found, problems
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        try:
            page = await live.client.list_tools(cursor=cursor)
            found += page.tools
            cursor = page.next_cursor
        except ValidationError:
            raw = await _raw_page(live, cursor)
            for number, one in enumerate(cast("list[Any]", raw.get("tools", ()))):
                try:
                    found.append(types.Tool.model_validate(one, by_name=False))
                except ValidationError as error:
                    problems.append(f"tool {number + 1} of its list is left out, it makes no sense: {_first(error)}")
            following = raw.get("nextCursor")
            cursor = following if isinstance(following, str) else None
        if not cursor:
            break
    return found, problems


async def _raw_page(live: Live, cursor: str | None) -> dict[str, Any]:
    """A page of the list as it came: the SDK turns all of it down when one tool is wrong."""
    session: Any = live.client.session
    params = None if cursor is None else types.PaginatedRequestParams(cursor=cursor)
    data = types.ListToolsRequest(params=params).model_dump(by_alias=True, mode="json", exclude_none=True)
    options: dict[str, Any] = {}
    session._stamp(data, options)
    return await session._dispatcher.send_raw_request(data["method"], data.get("params"), options)


def _failed(name: str, reason: str) -> ToolResult[McpResult]:
    return cast("ToolResult[McpResult]", ToolResult[Any].error(f"{name} failed: {reason}"))


def _hint(error: MCPError) -> str:
    """What to do about a refusal."""
    if error.error.code == types.METHOD_NOT_FOUND or "unknown tool" in error.error.message.lower():
        return "; its tools may have changed, they are listed anew for the next prompt"
    return ""


def _first(error: ValidationError) -> str:
    told = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, told['loc']))}: {told['msg']}"
