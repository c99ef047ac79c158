"""The items of a slice at one moment, sharing their storage with the moments before and after.

Rules, all under the session's lock:

* A `ListView` is the first `length` items of a buffer that only grows. The view that ends where its buffer ends may
  grow it in place; any other view copies first. So a call costs the same at any length, and old views stay true.
* A `KeyedView` has a dictionary. It is changed in place only while nobody has pinned it; otherwise it is copied once,
  and the copy is changed in place from then on. `version` counts the changes made in place.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Key: TypeAlias = str | int
"""Text for an item that has a key; for one that has none a number that no other item of the process has."""

new_number: Final = itertools.count().__next__


class SliceView(Protocol[T_co]):
    """The items of a slice, in order, as a reducer sees them; valid while the reducer runs."""

    def all(self) -> tuple[T_co, ...]:
        """Every item."""
        ...

    def latest(self) -> T_co | None:
        """The last item; None when there is none."""
        ...

    def where(self, predicate: Callable[[T_co], bool], /) -> tuple[T_co, ...]:
        """The items for which `predicate` is true."""
        ...

    def get(self, key: str, /) -> T_co | None:
        """The item with this key, in constant time; None when there is none."""
        ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[T_co]: ...


class ListView(Generic[T]):
    """Items without keys."""

    __slots__ = ("_all", "_buffer", "_length", "_owned", "version")

    def __init__(self, buffer: list[T], *, length: int | None = None, owned: bool = True) -> None:
        self._buffer = buffer
        self._length = len(buffer) if length is None else length
        self._owned = owned
        self._all: tuple[T, ...] | None = None
        self.version = 0

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        return itertools.islice(self._buffer, self._length)

    def all(self) -> tuple[T, ...]:
        """Every item."""
        if self._all is None:
            self._all = tuple(self)
        return self._all

    def latest(self) -> T | None:
        """The last item."""
        return self._buffer[self._length - 1] if self._length else None

    def where(self, predicate: Callable[[T], bool], /) -> tuple[T, ...]:
        """The items for which `predicate` is true."""
        return tuple(item for item in self if predicate(item))

    def get(self, _key: Key, /) -> T | None:
        """Nothing: no item has a key."""
        return None

    def __contains__(self, key: Key) -> bool:
        return False

    def items(self) -> Iterator[tuple[Key, T]]:
        """Keys and items."""
        return ((new_number(), item) for item in self)

    def last_key(self) -> Key | None:
        """The key of the last item; None when it has none."""
        return None

    def with_changes(self, changes: Mapping[Key, T], *, keyed: bool) -> View[T]:
        """The view after these changes; `keyed` tells whether any of them has a key."""
        if keyed:
            return KeyedView(dict(self.items())).with_changes(changes, keyed=True)
        return self.extended(changes.values())

    def extended(self, items: Iterable[T]) -> ListView[T]:
        """The view with `items` at the end."""
        buffer = self._buffer
        if not self._owned or len(buffer) != self._length:
            buffer = buffer[: self._length]
        buffer.extend(items)
        return ListView(buffer)

    def pin(self) -> None:
        """Nothing to do: a list view never changes."""

    def unpin(self) -> None:
        """Nothing to do."""

    def borrowed(self) -> ListView[T]:
        """The same items for another session, whose lock does not guard this buffer."""
        return ListView(self._buffer, length=self._length, owned=False)


class KeyedView(Generic[T]):
    """Items of which some or all have keys, in the order in which their keys first came."""

    __slots__ = ("_all", "_entries", "_pins", "version")

    def __init__(self, entries: dict[Key, T]) -> None:
        self._entries = entries
        self._pins = 0
        self._all: tuple[T, ...] | None = None
        self.version = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[T]:
        return iter(self.all())

    def all(self) -> tuple[T, ...]:
        """Every item."""
        if self._all is None:
            self._all = tuple(self._entries.values())
        return self._all

    def latest(self) -> T | None:
        """The item whose key came last."""
        return next(reversed(self._entries.values()), None)

    def where(self, predicate: Callable[[T], bool], /) -> tuple[T, ...]:
        """The items for which `predicate` is true."""
        return tuple(item for item in self.all() if predicate(item))

    def get(self, key: Key, /) -> T | None:
        """The item with this key."""
        return self._entries.get(key)

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    def items(self) -> Iterator[tuple[Key, T]]:
        """Keys and items."""
        return iter(self._entries.items())

    def last_key(self) -> Key | None:
        """The key of the last item."""
        return next(reversed(self._entries), None)

    def with_changes(self, changes: Mapping[Key, T], *, keyed: bool) -> KeyedView[T]:  # noqa: ARG002 - like ListView's
        """The view after these changes: this one, changed, unless somebody has pinned it."""
        if self._pins:
            return KeyedView({**self._entries, **changes})
        self._entries.update(changes)
        self._all = None
        self.version += 1
        return self

    def pin(self) -> None:
        """Keep this view as it is until `unpin`."""
        self._pins += 1

    def unpin(self) -> None:
        """Give up one `pin`."""
        self._pins -= 1

    def borrowed(self) -> KeyedView[T]:
        """The same items for another session."""
        return KeyedView(dict(self._entries))


View: TypeAlias = ListView[T] | KeyedView[T]


def view_of(entries: dict[Key, T]) -> View[T]:
    """The cheapest view of these entries."""
    if any(type(key) is str for key in entries):
        return KeyedView(entries)
    return ListView(list(entries.values()))
