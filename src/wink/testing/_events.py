"""Keep what a session's subscribers are told, to be asked about in a test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from wink.session import Session

E = TypeVar("E")


class EventLog:
    """Every event that a session's dispatcher has dispatched since the log was made, in order.

    >>> from wink.session import Session
    >>> session = Session()
    >>> events = EventLog(session)
    >>> _ = session.dispatcher.dispatch("hello")
    >>> events.names(), events.latest(str)
    (['str'], 'hello')
    """

    def __init__(self, session: Session) -> None:
        self._events: list[object] = []
        session.dispatcher.subscribe(object, self._events.append)

    def names(self) -> list[str]:
        """The names of the events' types, such as `["ToolInvoked"]` after one call."""
        return [type(event).__name__ for event in self._events]

    def of(self, event_type: type[E]) -> tuple[E, ...]:
        """The events of a type and of its subclasses."""
        return tuple(event for event in self._events if isinstance(event, event_type))

    def latest(self, event_type: type[E]) -> E:
        """The last event of a type; raises `LookupError` when there was none."""
        found = self.of(event_type)
        if not found:
            told = ", ".join(dict.fromkeys(self.names())) or "nothing"
            raise LookupError(f"there was no {event_type.__name__}; the session told of {told}")
        return found[-1]

    def clear(self) -> None:
        """Forget what has been, to look at what comes next."""
        self._events.clear()

    def __iter__(self) -> Iterator[object]:
        return iter(tuple(self._events))

    def __len__(self) -> int:
        return len(self._events)

    def __repr__(self) -> str:
        return f"<EventLog: {', '.join(self.names()) or 'empty'}>"
