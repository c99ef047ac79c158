"""Reducers that most slices can use, and reducers written as methods of the state."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from wink.dataclass import dataclass
from wink.errors import SliceTypeError
from wink.session._ops import Append, Extend, Replace, SliceOp, Upsert
from wink.session._view import SliceView

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

_MARK = "__wink_reduces__"


def append_all(_view: SliceView[T], event: T) -> Append[T]:
    """Keep every event; what a slice without reducers does."""
    return Append(event)


def replace_latest(_view: SliceView[T], event: T) -> Replace[T]:
    """Keep only the last event."""
    return Replace((event,))


class _UpsertBy(Generic[T]):
    """`key` tells the slice to keep its items by it."""

    __slots__ = ("key",)
    name = "upsert_by"

    def __init__(self, key: Callable[[T], Hashable]) -> None:
        self.key = key

    def __call__(self, _view: SliceView[T], event: T) -> Upsert[T]:
        return Upsert(self.key(event), event)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)


def upsert_by(key: Callable[[T], Hashable]) -> Callable[[SliceView[T], T], Upsert[T]]:
    """Keep one item a key, each at the place where its key first came, in constant time.

    The slice is then kept by key, and `session[T].get(key)` finds an item in constant time.

    >>> from dataclasses import dataclass
    >>> from wink.session import Session
    >>> @dataclass(frozen=True)
    ... class Page:
    ...     path: str
    ...     text: str
    >>> session = Session()
    >>> session[Page].register(Page, upsert_by(lambda page: page.path))
    >>> for path, text in ("a", "1"), ("b", "2"), ("a", "3"):
    ...     session.dispatch(Page(path, text))
    >>> session[Page].all()
    (Page(path='a', text='3'), Page(path='b', text='2'))
    >>> session[Page].get("b").text
    '2'
    """
    return _UpsertBy(key)


def replace_latest_by(key: Callable[[T], Hashable]) -> Callable[[SliceView[T], T], Replace[T]]:
    """Keep one item a key, the one that came last at the end; each event costs as much as the slice is long."""

    def replace_latest_by(view: SliceView[T], event: T) -> Replace[T]:
        its = key(event)
        return Replace((*(item for item in view if key(item) != its), event))

    return replace_latest_by


def reducer(*, on: type) -> Callable[[F], F]:
    """Mark a method of a state dataclass as its reducer for events of type `on`; see `Session.install`.

    The method takes the event and returns the new state, or a slice operation.
    """

    def mark(method: F) -> F:
        setattr(method, _MARK, (*getattr(method, _MARK, ()), on))
        return method

    return mark


@dataclass(frozen=True, slots=True)
class MethodReducer:
    """Calls a marked method on the latest state."""

    cls: type
    method: str
    initial: object = None

    @property
    def name(self) -> str:
        """`Plan.add_step`."""
        return f"{self.cls.__qualname__}.{self.method}"

    def __call__(self, view: SliceView[Any], event: object) -> SliceOp[Any]:
        """Reduce; without a state, and without an initial one, the event passes by."""
        state = view.latest()
        if state is None:
            state = self.initial() if callable(self.initial) else self.initial
            if state is None:
                return Extend(())
        outcome = getattr(state, self.method)(event)
        # Anything else is refused, with this reducer's name, by whoever called it.
        return Replace((outcome,)) if type(outcome) is self.cls else outcome


def method_reducers(cls: type, initial: object) -> list[tuple[type, MethodReducer]]:
    """The marked methods of a state class, with the events that they reduce."""
    params = getattr(cls, "__dataclass_params__", None)
    if params is None or not params.frozen:
        raise SliceTypeError(cls.__qualname__, "a state with reducers must not change; use @dataclass(frozen=True)")
    if initial is not None and not callable(initial) and type(initial) is not cls:
        raise SliceTypeError(
            cls.__qualname__, f"initial is {initial!r:.200}; pass a {cls.__qualname__} or what makes one"
        )
    names = {name: None for base in reversed(cls.__mro__) for name in vars(base)}
    found = [
        (event, MethodReducer(cls, name, initial)) for name in names for event in getattr(getattr(cls, name), _MARK, ())
    ]
    if not found:
        raise SliceTypeError(cls.__qualname__, "no method is marked; put @reducer(on=Event) on one")
    return found
