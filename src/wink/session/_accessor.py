"""What `session[T]` gives: the slice of one type, to read and to write."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from wink.session._ops import Append, Clear, Replace, SliceOp, SlicePolicy
from wink.session._slice import Slice, key_text
from wink.session._view import SliceView

if TYPE_CHECKING:
    from wink.session._state import State

T = TypeVar("T")
E = TypeVar("E")


class SliceAccessor(Generic[T]):
    """The items of one type, in order, as the call that asks sees them: with its own writes, before they are committed."""

    __slots__ = ("_slice", "_state")

    def __init__(self, state: State, slice_: Slice[T]) -> None:
        self._slice, self._state = slice_, state

    def all(self) -> tuple[T, ...]:
        """Every item, oldest first."""
        with self._state.lock:
            return self._state.view(self._slice).all()

    def latest(self) -> T | None:
        """The last item, in constant time; None when the slice is empty."""
        with self._state.lock:
            return self._state.view(self._slice).latest()

    def where(self, predicate: Callable[[T], bool]) -> tuple[T, ...]:
        """The items for which `predicate` is true."""
        return tuple(item for item in self.all() if predicate(item))

    def get(self, key: Hashable) -> T | None:
        """The item that was put under `key` (see `upsert_by`), in constant time; None when there is none."""
        text = key if type(key) is str else key_text(key)
        with self._state.lock:
            return self._state.view(self._slice).get(text)

    def __len__(self) -> int:
        with self._state.lock:
            return len(self._state.view(self._slice))

    def __iter__(self) -> Iterator[T]:
        return iter(self.all())

    def append(self, item: T) -> None:
        """Add `item`: through the reducers that this slice has for its own type, at the end when it has none."""
        own = [step for step in self._state.steps_for(item) if step[0] is self._slice]
        self._state.run(own or [(self._slice, None, Append(item))])

    def seed(self, items: T | Iterable[T]) -> None:
        """Let the slice hold exactly `items`, one or several; no reducer is asked.

        Outside of calls this works on what is stored and cannot be read any more, too; so does `clear()`.
        """
        several = (items,) if type(items) is self._slice.cls else tuple(cast("Iterable[T]", items))
        self._state.give_up_unreadable(self._slice)
        self._state.run([(self._slice, None, Replace(several))])

    def clear(self, predicate: Callable[[T], bool] | None = None) -> None:
        """Remove the items for which `predicate` is true, or all."""
        if predicate is None:
            self._state.give_up_unreadable(self._slice)
        self._state.run([(self._slice, None, Clear(predicate))])

    def register(
        self,
        event_type: type[E],
        reducer: Callable[[SliceView[T], E], SliceOp[Any]],
        *,
        policy: SlicePolicy | None = None,
    ) -> None:
        """Let `reducer(view, event)` decide what events of exactly this type do to the slice.

        Several reducers for one event run in the order of their registration, each on what the one before left; the
        same one registered again changes nothing. `policy` says what a failing call does to the slice; without it the
        slice keeps the policy that it has, which is `STATE` at first.
        """
        self._state.register(self._slice, event_type, reducer, policy)

    def __repr__(self) -> str:
        return f"<slice {self._slice.cls.__qualname__} of {self._state.session!r}: {len(self)} items>"
