"""Let a session's reducers hear what is dispatched on its dispatcher, as any subscriber does."""

from __future__ import annotations

import weakref
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from wink.session._dispatcher import Dispatcher, DispatchResult, InProcessDispatcher

if TYPE_CHECKING:
    from wink.session._state import State


class _Published:
    """An event that a session is publishing: its reducers have been asked already, and those of others are not meant."""

    __slots__ = ("event", "passed_by")

    def __init__(self, event: object) -> None:
        self.event = event
        self.passed_by = 0


_published: Final[ContextVar[_Published | None]] = ContextVar("_published", default=None)


class ReducerSubscriber:
    """Hands events of exactly one type to the reducers that a session has for it; keeps no session alive."""

    __slots__ = ("_dispatcher", "_event_type", "_state")

    def __init__(self, state: State, event_type: type) -> None:
        self._dispatcher = state.session.dispatcher
        self._event_type = event_type
        self._state = weakref.ref(state)

    def __call__(self, event: object) -> None:
        published = _published.get()
        if published is not None and published.event is event:
            published.passed_by += 1
            return
        state = self._state()
        if state is None:
            self._dispatcher.unsubscribe(self._event_type, self)
        elif type(event) is self._event_type:
            state.run(state.steps_for(event))


def tell_subscribers(dispatcher: Dispatcher, event: object) -> DispatchResult:
    """Dispatch an event that the reducers of its session have seen, and that is no other session's business."""
    if isinstance(dispatcher, InProcessDispatcher) and not dispatcher.hears(type(event)):
        return DispatchResult(event, 0)
    published = _Published(event)
    token = _published.set(published)
    try:
        result = dispatcher.dispatch(event)
    finally:
        _published.reset(token)
    if not published.passed_by:
        return result
    return DispatchResult(event, result.handled_count - published.passed_by, result.errors)
