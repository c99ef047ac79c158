"""What a session knows about the slice of one type, apart from its items."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from enum import Enum
from typing import Any, Generic, TypeVar, cast

from wink.errors import SliceTypeError
from wink.session._ops import SliceOp, SlicePolicy
from wink.session._view import SliceView

T = TypeVar("T")
Reducer = Callable[[SliceView[Any], Any], SliceOp[Any]]
"""`reducer(view, event)` looks at the slice, and at the event, and says what the slice shall do; it has no effects."""


class Slice(Generic[T]):
    """The type, the policy and the key function of a slice; one per session and type.

    `policy` is STATE until something says otherwise; `decided` tells whether something has.
    """

    __slots__ = ("cls", "decided", "key", "name", "policy")

    def __init__(self, cls: type[T], policy: SlicePolicy | None) -> None:
        if not isinstance(cast("object", cls), type):
            raise SliceTypeError(repr(cls), "a slice is named by a class; pass a dataclass, not an instance")
        if not hasattr(cls, "__dataclass_fields__"):
            raise SliceTypeError(cls.__qualname__, "its type is no dataclass; decorate it with @dataclass(frozen=True)")
        self.cls = cls
        self.name = type_name(cls)
        self.policy = SlicePolicy.STATE if policy is None else policy
        self.decided = policy is not None
        self.key: Callable[[T], Hashable] | None = None


def type_name(cls: type) -> str:
    """How stored state names a type: `module:Qualname`."""
    return f"{cls.__module__}:{cls.__qualname__}"


def key_text(key: Hashable) -> str:
    """The key as it is stored: text as it is, anything else as its type and its repr.

    >>> key_text("a.txt"), key_text(7), key_text(("a", 1))
    ('a.txt', 'int:7', "tuple:('a', 1)")
    """
    if type(key) is str:
        return key
    if isinstance(key, str):
        return str.__str__(key.value if isinstance(key, Enum) else key)
    if type(key).__repr__ is object.__repr__:
        raise SliceTypeError(
            type(key).__qualname__, "a key whose repr() is not its value cannot be stored; use text, or give it a repr"
        )
    return f"{type(key).__name__}:{key!r}"
