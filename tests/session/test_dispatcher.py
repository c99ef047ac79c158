"""Subscribers hear events in order, whatever one of them does."""

from __future__ import annotations

import logging
import pickle
from dataclasses import dataclass

import pytest

from wink.errors import SubscriberErrors, WinkError
from wink.session import InProcessDispatcher, Session


@dataclass(frozen=True)
class Happened:
    what: str = ""


@dataclass(frozen=True)
class HappenedBadly(Happened):
    pass


def test_subscribers_hear_in_the_order_in_which_they_came() -> None:
    """A second subscriber may rely on what the first wrote."""
    dispatcher, heard = InProcessDispatcher(), []
    dispatcher.subscribe(Happened, lambda _event: heard.append("first"))
    dispatcher.subscribe(Happened, lambda _event: heard.append("second"))
    result = dispatcher.dispatch(Happened())
    assert heard == ["first", "second"]
    assert (result.ok, result.handled_count, result.errors) == (True, 2, ())
    result.raise_if_errors()


def test_failing_subscriber_keeps_the_event_from_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """A watcher must not be able to break what it watches."""
    dispatcher, heard = InProcessDispatcher(), []

    def broken(_event: Happened) -> None:
        raise RuntimeError("oops")

    dispatcher.subscribe(Happened, broken)
    dispatcher.subscribe(Happened, heard.append)
    with caplog.at_level(logging.ERROR, "wink.session"):
        result = dispatcher.dispatch(Happened("x"))

    assert heard == [Happened("x")]
    assert "oops" in caplog.text
    assert not result.ok
    assert [(failure.subscriber, str(failure.error)) for failure in result.errors] == [(broken, "oops")]
    with pytest.raises(SubscriberErrors, match="1 of 2 subscribers of Happened failed") as caught:
        result.raise_if_errors()
    assert isinstance(caught.value, WinkError)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)


def test_interrupt_in_a_subscriber_comes_through() -> None:
    """Ctrl-C is no subscriber's failure."""
    dispatcher = InProcessDispatcher()

    def interrupted(_event: Happened) -> None:
        raise KeyboardInterrupt

    dispatcher.subscribe(Happened, interrupted)
    with pytest.raises(KeyboardInterrupt):
        dispatcher.dispatch(Happened())


def test_subclasses_are_heard_too() -> None:
    """`object` hears everything; a base class its family."""
    dispatcher, family, everything = InProcessDispatcher(), [], []
    dispatcher.subscribe(Happened, family.append)
    dispatcher.subscribe(object, everything.append)
    for event in (Happened(), HappenedBadly(), "text"):
        dispatcher.dispatch(event)
    assert family == [Happened(), HappenedBadly()]
    assert everything == [Happened(), HappenedBadly(), "text"]


def test_unsubscribing_while_an_event_is_on_its_way_changes_the_next_one() -> None:
    """A subscriber that wants one event only may leave from within."""
    dispatcher, heard = InProcessDispatcher(), []

    def once(event: Happened) -> None:
        heard.append(("once", event.what))
        assert dispatcher.unsubscribe(Happened, once)

    dispatcher.subscribe(Happened, once)
    dispatcher.subscribe(Happened, lambda event: heard.append(("always", event.what)))
    dispatcher.dispatch(Happened("1"))
    dispatcher.dispatch(Happened("2"))
    assert heard == [("once", "1"), ("always", "1"), ("always", "2")]
    assert not dispatcher.unsubscribe(Happened, once)


def test_subscriber_may_publish() -> None:
    """What it publishes is heard before the rest of the first event."""
    session, heard = Session(), []

    def echo(event: Happened) -> None:
        if event.what == "call":
            session.publish(Happened("echo"))

    session.dispatcher.subscribe(Happened, echo)
    session.dispatcher.subscribe(Happened, lambda event: heard.append(event.what))
    session.publish(Happened("call"))
    assert heard == ["echo", "call"]
    assert [event.what for event in session[Happened]] == ["call", "echo"]


def test_coroutine_function_is_refused() -> None:
    """It would be called and never run."""

    async def later(_event: Happened) -> None: ...

    with pytest.raises(TypeError, match="is a coroutine function"):
        InProcessDispatcher().subscribe(Happened, later)
