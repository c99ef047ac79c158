"""The official SDK's server over wink's sessions: what it lists, and how it answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar, cast

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError

from wink import __version__
from wink.errors import PromptRenderError, WinkError
from wink.limits import is_interruption
from wink.runtime import RESULT_LIMIT, in_thread
from wink_mcp._asking import person_at
from wink_mcp._calls import Calls, Result
from wink_mcp._progress import Step
from wink_mcp._prompts import INSTRUCTIONS, chosen, messages, offered
from wink_mcp._replies import failed
from wink_mcp._tools import described
from wink_mcp._view import Views

_log: Final = logging.getLogger("wink_mcp")

SESSION_KEY: Final = "wink/session"
"""The key in a request's `_meta` that names the session it belongs to."""

SESSION_IN_SCOPE: Final = "wink.session"
"""The key in a request's ASGI scope that has the session that its path names."""

TRANSPORT_SESSION: Final = "mcp-session-id"
"""The header that tells clients apart, over HTTP and with the handshake."""

Context = ServerRequestContext[Any, Any]
T = TypeVar("T")


class Answers:
    """The answers to a client's requests, from one workspace's sessions."""

    def __init__(self, views: Views, calls: Calls, session_of: Callable[[Context], str | None]) -> None:
        self._views, self._calls, self._session_of = views, calls, session_of
        self._unlisted: set[str] = set()

    async def tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """All tools of the session, on one page."""
        del params
        return types.ListToolsResult(tools=await self._apart(ctx, self._tools))

    def _tools(self, session: str | None) -> list[types.Tool]:
        listed: list[types.Tool] = []
        for tool in self._views.render(session).rendered.tools:
            try:
                listed.append(described(tool, result_limit=RESULT_LIMIT))
            except BaseException as error:  # foreign code: types that pydantic asks for their schema
                if is_interruption(error):
                    raise
                self._leave_out(tool.name, error)
        return listed

    async def call(self, ctx: Context, params: types.CallToolRequestParams) -> Result:
        """One call; never an error of the protocol, which a model would not be shown."""
        try:
            session = self._session_of(ctx)
        except WinkError as error:
            return failed(str(error))
        return await self._calls.call(
            params.name,
            params.arguments or {},
            session=session,
            client=None if ctx.request is None else ctx.request.headers.get(TRANSPORT_SESSION),
            progress=_progress(ctx),
            approvals=person_at(ctx, params),
            changed=ctx.session.send_tool_list_changed,
        )

    async def prompts(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        """All sections together, and each by itself."""
        del params
        return types.ListPromptsResult(prompts=await self._apart(ctx, self._prompts))

    def _prompts(self, session: str | None) -> list[types.Prompt]:
        about = "What the tools are for, and their rules."
        whole = types.Prompt(name=INSTRUCTIONS, title="How to work here", description=about)
        _, outlines = self._views.outlines(session)
        return [whole, *(prompt.listed() for prompt in offered(outlines, self._leave_out).values())]

    async def prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """What the session's sections say now, or one of them with the arguments that were given."""
        return await self._apart(ctx, partial(self._prompt, params.name, params.arguments or {}))

    def _prompt(self, name: str, arguments: Mapping[str, str], session: str | None) -> types.GetPromptResult:
        if name == INSTRUCTIONS:
            rendered = self._views.render(session).rendered
            return types.GetPromptResult(messages=messages(rendered.text, rendered.attachments))
        view, outlines = self._views.outlines(session)
        prompt = chosen(name, offered(outlines, self._leave_out))
        alone = self._views.alone(view, prompt.outline.path, prompt.params(arguments))
        shown = messages(alone.text, alone.attachments)
        return types.GetPromptResult(description=prompt.listed().description, messages=shown)

    async def _apart(self, ctx: Context, answer: Callable[[str | None], T]) -> T:
        """Answer for a session, away from the loop: sections may take their time, and others are not to wait for them."""
        try:
            return await asyncio.wrap_future(in_thread(partial(answer, self._session_of(ctx))))
        except PromptRenderError as error:
            raise MCPError(code=types.INTERNAL_ERROR, message=str(error)) from error
        except WinkError as error:
            raise MCPError(code=types.INVALID_PARAMS, message=str(error)) from error
        except BaseException as error:  # foreign code: sections, resources, and what a session is opened with
            if isinstance(error, Exception) or is_interruption(error):
                raise
            raise MCPError(code=types.INTERNAL_ERROR, message=f"it failed with {type(error).__name__}") from error

    def _leave_out(self, name: str, error: BaseException) -> None:
        if name not in self._unlisted:
            self._unlisted.add(name)
            _log.warning("%s is not offered: %s", name, error)


class _Server(Server[Any]):
    """The SDK's, which says that the list of tools may change: sections that are summarised bring theirs when opened."""

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *arguments: Any, **more: Any
    ) -> InitializationOptions:
        """What the handshake's answer is made of."""
        options = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(options, *arguments, **more)


async def _arguments_are_an_object(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Tell the model, and not only the client, when the arguments of a call are no object."""
    params = ctx.params or {}
    arguments = params.get("arguments")
    if ctx.method != "tools/call" or arguments is None or isinstance(arguments, Mapping):
        return await call_next(ctx)
    return failed(f'the arguments of {params.get("name")} are not valid: they are no object, as in {{"key": "value"}}')


def make_server(views: Views, calls: Calls) -> Server[Any]:
    """A server of the SDK that offers the tools of `views`."""
    answers = Answers(views, calls, _named_session)
    server = _Server(
        "wink",
        version=__version__,
        title="wink",
        instructions=views.render().rendered.text,
        on_list_tools=answers.tools,
        on_call_tool=answers.call,
        on_list_prompts=answers.prompts,
        on_get_prompt=answers.prompt,
    )
    server.middleware.append(_arguments_are_an_object)
    return server


def _named_session(ctx: Context) -> str | None:
    """The session that a request names in its `_meta`, or else in its path."""
    name = cast("Mapping[str, object]", ctx.meta or {}).get(SESSION_KEY)
    if name is None:
        return None if ctx.request is None else ctx.request.scope.get(SESSION_IN_SCOPE)
    if not isinstance(name, str):
        raise WinkError(f"_meta[{SESSION_KEY!r}] is {name!r}; it names a session, as text")
    return name


def _progress(ctx: Context) -> Callable[[Step], Awaitable[object]] | None:
    if (ctx.meta or {}).get("progress_token") is None:
        return None
    return lambda step: ctx.session.report_progress(float(step.number), step.total, step.message)
