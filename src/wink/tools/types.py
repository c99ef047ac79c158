"""Sort out which dataclasses a tool takes and gives back."""

import collections.abc
from types import NoneType
from typing import Annotated, Any, Final, Literal, cast, get_args, get_origin

from wink.dataclass import dataclass, is_dataclass
from wink.serde import type_name

__all__ = ["BadType", "Container", "Result", "matches", "params_type", "plain", "result_type", "shown"]

Container = Literal["object", "array"]
"""What an answer may be: an object, or an array of objects."""

_SEQUENCES: Final = (list, collections.abc.Sequence)


@dataclass(frozen=True, slots=True)
class Result:
    """A result type taken apart: `type` is the dataclass, of which an array holds any number."""

    annotation: Any
    type: "type[Any] | None"
    container: Container


class BadType(Exception):
    """Why something cannot be a tool's parameters or result."""


def plain(annotation: Any) -> Any:
    """What an annotation means: without what `Annotated` adds, and `None` for each way to write it.

    >>> plain(Annotated[int, "a note"]), plain(Literal[None])
    (<class 'int'>, None)
    """
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if annotation is NoneType or (get_origin(annotation) is Literal and get_args(annotation) == (None,)):
        return None
    return annotation


def params_type(annotation: Any) -> "type[Any] | None":
    """The dataclass of the parameters, or `None` for a tool that takes none."""
    meant = plain(annotation)
    if meant is None:
        return None
    cls = get_origin(meant) or meant
    if isinstance(cls, type) and is_dataclass(cls):
        return cls
    raise BadType(f"the parameters must be a dataclass or None, not {shown(annotation)}")


def result_type(annotation: Any) -> Result:
    """A dataclass, `None`, or `list[D]`, `Sequence[D]`, `tuple[D, ...]` of a dataclass."""
    annotation = plain(annotation)
    if annotation is None:
        return Result(None, None, "object")
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in _SEQUENCES and len(args) == 1:
        return Result(annotation, _dataclass(args[0], annotation), "array")
    if origin is tuple:
        if len(args) != 2 or args[1] is not Ellipsis:
            raise BadType(f"the result {shown(annotation)} has a fixed length; use tuple[D, ...] or a dataclass")
        return Result(annotation, _dataclass(args[0], annotation), "array")
    return Result(annotation, _dataclass(annotation, annotation), "object")


def matches(result: Result, value: object) -> bool:
    """Whether `value` is what a tool with this result type gives back."""
    if result.type is None:
        return value is None
    if result.container == "object":
        return isinstance(value, result.type)
    if not isinstance(value, (list, tuple)):
        return False
    return all(isinstance(item, result.type) for item in cast("tuple[object, ...]", value))


def shown(annotation: Any) -> str:
    """A type as its author would write it."""
    return type_name(annotation)


def _dataclass(candidate: Any, annotation: Any) -> "type[Any]":
    meant = plain(candidate)
    cls = get_origin(meant) or meant
    if isinstance(cls, type) and is_dataclass(cls):
        return cls
    raise BadType(f"the result must be a dataclass, a list or tuple of one, or None, not {shown(annotation)}")
