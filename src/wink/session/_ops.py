"""What a reducer may ask its slice to do.

These are plain classes: one is made for each event, in a third of the time that a frozen dataclass takes, and on Python
3.11 a generic dataclass that is frozen and slotted cannot be made through `Append[Plan](...)`. Nothing changes them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from enum import Enum
from typing import ClassVar, Final, Generic, TypeAlias, TypeVar

T = TypeVar("T")


class SlicePolicy(Enum):
    """What becomes of a slice when a call fails."""

    STATE = "state"
    """Working state: rolled back with the call that wrote it."""
    LOG = "log"
    """A record of what happened: written through at once, never rolled back."""


class _Value:
    """Equal when type and fields are."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()

    def _fields(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__match_args__)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash((type(self), self._fields()))

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}({', '.join(map(repr, self._fields()))})"


class Append(_Value, Generic[T]):
    """Add one item at the end.

    >>> Append("item")
    Append('item')
    """

    __slots__ = ("item",)
    __match_args__ = ("item",)

    def __init__(self, item: T) -> None:
        self.item = item


class Extend(_Value, Generic[T]):
    """Add several items at the end; none is fine, and changes nothing."""

    __slots__ = ("items",)
    __match_args__ = ("items",)

    def __init__(self, items: tuple[T, ...]) -> None:
        self.items = items


class Replace(_Value, Generic[T]):
    """Let the slice hold exactly these items."""

    __slots__ = ("items",)
    __match_args__ = ("items",)

    def __init__(self, items: tuple[T, ...]) -> None:
        self.items = items


class Clear(_Value, Generic[T]):
    """Remove the items for which `predicate` is true, or all of them."""

    __slots__ = ("predicate",)
    __match_args__ = ("predicate",)

    def __init__(self, predicate: Callable[[T], bool] | None = None) -> None:
        self.predicate = predicate


class Upsert(_Value, Generic[T]):
    """Put `item` where the item with this key is, or at the end when there is none.

    Keys are kept as text, so that they survive being stored; see `session[T].get(key)`.
    """

    __slots__ = ("item", "key")
    __match_args__ = ("key", "item")

    def __init__(self, key: Hashable, item: T) -> None:
        self.key = key
        self.item = item


SliceOp: TypeAlias = Append[T] | Extend[T] | Replace[T] | Clear[T] | Upsert[T]
"""What a reducer returns."""

OPS: Final = (Append, Extend, Replace, Clear, Upsert)


class InitializeSlice(_Value, Generic[T]):
    """An event for `session.dispatch`: let the slice of a type hold exactly these items."""

    __slots__ = ("slice_type", "values")
    __match_args__ = ("slice_type", "values")

    def __init__(self, slice_type: type[T], values: tuple[T, ...]) -> None:
        self.slice_type = slice_type
        self.values = values


class ClearSlice(_Value, Generic[T]):
    """An event for `session.dispatch`: remove items of a slice, all without a predicate."""

    __slots__ = ("predicate", "slice_type")
    __match_args__ = ("slice_type", "predicate")

    def __init__(self, slice_type: type[T], predicate: Callable[[T], bool] | None = None) -> None:
        self.slice_type = slice_type
        self.predicate = predicate
