"""What a reducer may ask its slice to do.

These dataclasses are not frozen: a frozen one costs three times as much to make, and on Python 3.11 a generic one that
is frozen and slotted cannot be made through `Append[Plan](...)`. Nothing changes them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import Enum
from typing import Final, Generic, TypeAlias, TypeVar

T = TypeVar("T")


class SlicePolicy(Enum):
    """What becomes of a slice when a call fails."""

    STATE = "state"
    """Working state: rolled back with the call that wrote it."""
    LOG = "log"
    """A record of what happened: written through at once, never rolled back."""


@dataclass(slots=True)
class Append(Generic[T]):
    """Add one item at the end."""

    item: T


@dataclass(slots=True)
class Extend(Generic[T]):
    """Add several items at the end; none is fine, and changes nothing."""

    items: tuple[T, ...]


@dataclass(slots=True)
class Replace(Generic[T]):
    """Let the slice hold exactly these items."""

    items: tuple[T, ...]


@dataclass(slots=True)
class Clear(Generic[T]):
    """Remove the items for which `predicate` is true, or all of them."""

    predicate: Callable[[T], bool] | None = None


@dataclass(slots=True)
class Upsert(Generic[T]):
    """Put `item` where the item with this key is, or at the end when there is none.

    Keys are kept as text, so that they survive being stored; see `session[T].get(key)`.
    """

    key: Hashable
    item: T


SliceOp: TypeAlias = Append[T] | Extend[T] | Replace[T] | Clear[T] | Upsert[T]
"""What a reducer returns."""

OPS: Final = (Append, Extend, Replace, Clear, Upsert)


@dataclass(slots=True)
class InitializeSlice(Generic[T]):
    """An event for `session.dispatch`: let the slice of a type hold exactly these items."""

    slice_type: type[T]
    values: tuple[T, ...]


@dataclass(slots=True)
class ClearSlice(Generic[T]):
    """An event for `session.dispatch`: remove items of a slice, all without a predicate."""

    slice_type: type[T]
    predicate: Callable[[T], bool] | None = None
