"""Events and who tells of them, under the name that the documents of the specification import them by."""

from wink.runtime import PromptExecuted, PromptRendered, RenderedTools, ToolInvoked
from wink.session import Dispatcher, DispatchResult, InProcessDispatcher

EventBus = Dispatcher
"""A session's dispatcher, by its older name."""

__all__ = [
    "DispatchResult",
    "Dispatcher",
    "EventBus",
    "InProcessDispatcher",
    "PromptExecuted",
    "PromptRendered",
    "RenderedTools",
    "ToolInvoked",
]
