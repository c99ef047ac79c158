"""Tell subscribers what happened, in order, whatever one of them does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from wink.dataclass import dataclass
from wink.errors import SubscriberErrors

if TYPE_CHECKING:
    import logging

E = TypeVar("E")
Subscriber = Callable[[Any], object]


def logger() -> logging.Logger:
    """Where failures of foreign code are told; importing `logging` costs a program's start more than all else here."""
    import logging

    return logging.getLogger("wink.session")


@dataclass(frozen=True, slots=True)
class SubscriberFailure:
    """A subscriber that raised, and what it raised."""

    subscriber: Subscriber
    error: Exception


@dataclass(frozen=True, slots=True)
class DispatchResult:
    """What became of one event: how many subscribers heard it, and which of them failed."""

    event: object
    handled_count: int
    errors: tuple[SubscriberFailure, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no subscriber failed."""
        return not self.errors

    def raise_if_errors(self) -> None:
        """Raise `SubscriberErrors`, an exception group, if any subscriber failed."""
        if self.errors:
            raise SubscriberErrors(
                f"{len(self.errors)} of {self.handled_count} subscribers of {type(self.event).__qualname__} failed",
                [failure.error for failure in self.errors],
            )


class Dispatcher(Protocol):
    """Who tells the subscribers of a session."""

    def subscribe(self, event_type: type[E], subscriber: Callable[[E], object], /) -> None:
        """Call `subscriber` with each event of the type, and of its subclasses."""
        ...

    def unsubscribe(self, event_type: type[E], subscriber: Callable[[E], object], /) -> bool:
        """Call it no more; False if it was not subscribed."""
        ...

    def dispatch(self, event: object, /) -> DispatchResult:
        """Tell the subscribers of the event's type."""
        ...


class InProcessDispatcher:
    """Calls each subscriber on the thread that dispatches, in the order in which they subscribed.

    A subscriber that raises is logged and does not keep the event from the others. Whoever subscribes or unsubscribes
    while an event is on its way changes who hears the next one.

    >>> dispatcher = InProcessDispatcher()
    >>> dispatcher.subscribe(str, print)
    >>> dispatcher.dispatch("hello").handled_count
    hello
    1
    """

    __slots__ = ("_lock", "_plan", "_subscribers")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._subscribers: tuple[tuple[type, Subscriber], ...] = ()
        self._plan: dict[type, tuple[Subscriber, ...]] = {}

    def subscribe(self, event_type: type[E], subscriber: Callable[[E], object], /) -> None:
        """Call `subscriber` with each event of the type, and of its subclasses; `object` hears everything.

        A subscriber is a plain function: a coroutine function would be called and never run, so it is refused.
        """
        code = getattr(subscriber, "__code__", None)
        if code is not None and code.co_flags & 0x80:  # inspect.CO_COROUTINE, without importing inspect
            raise TypeError(f"{subscriber!r} is a coroutine function; subscribe a function that starts a task")
        with self._lock:
            self._subscribers = (*self._subscribers, (event_type, subscriber))
            self._plan = {}

    def unsubscribe(self, event_type: type[E], subscriber: Callable[[E], object], /) -> bool:
        """Call it no more; False if it was not subscribed."""
        with self._lock:
            kept = list(self._subscribers)
            if (event_type, subscriber) not in kept:
                return False
            kept.remove((event_type, subscriber))
            self._subscribers = tuple(kept)
            self._plan = {}
            return True

    def dispatch(self, event: object, /) -> DispatchResult:
        """Tell the subscribers of the event's type."""
        subscribers = self._plan.get(type(event))
        if subscribers is None:
            subscribers = self._plan_for(type(event))
        failures: list[SubscriberFailure] = []
        for subscriber in subscribers:
            try:
                subscriber(event)
            except Exception as error:  # foreign code
                logger().exception("subscriber %r failed on %s", subscriber, type(event).__qualname__)
                failures.append(SubscriberFailure(subscriber, error))
        return DispatchResult(event, len(subscribers), tuple(failures))

    def hears(self, event_type: type) -> bool:
        """Whether anybody is subscribed to events of this type."""
        subscribers = self._plan.get(event_type)
        return bool(self._plan_for(event_type) if subscribers is None else subscribers)

    def _plan_for(self, event_type: type) -> tuple[Subscriber, ...]:
        with self._lock:
            plan = tuple(subscriber for heard, subscriber in self._subscribers if issubclass(event_type, heard))
            self._plan[event_type] = plan
            return plan
