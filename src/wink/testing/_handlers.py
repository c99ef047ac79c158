"""Put something around a tool's handler without making another tool of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from wink.prompt import Prompt, RenderedPrompt
from wink.tools import Tool, ToolContext

Around = Callable[[Tool[Any, Any], ToolContext], AbstractContextManager[ToolContext]]
"""Entered before a handler begins, with the context that it is to get, and left when it has ended."""


def with_around(tool: Tool[Any, Any], around: Around) -> Tool[Any, Any]:
    """The same tool, whose handler runs inside `around`."""
    handler = tool.handler
    if handler is None:
        return tool
    given: Callable[..., Any] = handler

    async def finish(awaitable: Any, context: ToolContext) -> Any:
        with around(tool, context):
            return await awaitable

    def work(params: Any, *, context: ToolContext) -> Any:
        with around(tool, context) as inner:
            returned = given(params, context=inner)
        # A function that only turns out to be asynchronous when it is called.
        return finish(returned, context) if hasattr(returned, "__await__") else returned

    async def awork(params: Any, *, context: ToolContext) -> Any:
        with around(tool, context) as inner:
            return await given(params, context=inner)

    return _twin(tool, awork if tool.is_async else work)


def _twin(tool: Tool[Any, Any], handler: Any) -> Tool[Any, Any]:
    """A copy, of subclasses too, that differs in its handler only."""
    twin = object.__new__(type(tool))
    for cls in type(tool).__mro__:
        slots: Iterable[str] | str = vars(cls).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__weakref__", "__dict__") and hasattr(tool, name):
                object.__setattr__(twin, name, getattr(tool, name))
    for name, value in getattr(tool, "__dict__", {}).items():
        object.__setattr__(twin, name, value)
    object.__setattr__(twin, "handler", handler)
    return twin


class WatchedPrompt(Prompt[Any]):
    """A prompt whose tools' handlers run inside `arounds`, the first of them outermost."""

    arounds: list[Around]

    def render(self, *params: object, **options: Any) -> RenderedPrompt[Any]:
        """As every prompt, with something around each handler."""
        rendered = super().render(*params, **options)
        tools = rendered.tools
        for around in reversed(self.arounds):
            tools = tuple(with_around(tool, around) for tool in tools)
        return replace(rendered, tools=tools)
