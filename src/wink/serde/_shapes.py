"""Sort annotations into the few shapes that JSON can take."""

import collections
import collections.abc as abc
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

from wink.dataclass import dataclass
from wink.serde._fields import LENGTHS, NUMERIC, FieldPlan, field_plans, is_dataclass_type

Kind = Literal["dataclass", "union", "items", "tuple", "mapping", "leaf"]

_ITEMS: Final = frozenset(
    {list, set, frozenset, collections.deque, abc.Sequence, abc.MutableSequence, abc.Set, abc.MutableSet}
    | {abc.Collection, abc.Iterable}
)
_MAPPINGS: Final = frozenset({dict, abc.Mapping, abc.MutableMapping, collections.OrderedDict, collections.defaultdict})


@dataclass(frozen=True, slots=True)
class Shape:
    """An annotation taken apart.

    `type` is the bare type (for a generic one its origin), `args` its arguments (for a union its members without
    `None`), `metadata` what `Annotated` added.
    """

    kind: Kind
    type: Any
    args: tuple[Any, ...] = ()
    nullable: bool = False
    metadata: tuple[Any, ...] = ()


def shape_of(annotation: Any) -> Shape:
    """The shape of a resolved annotation.

    >>> shape_of(list[int])
    Shape(kind='items', type=<class 'list'>, args=(<class 'int'>,), nullable=False, metadata=())
    >>> shape_of(int | None).nullable
    True
    """
    annotation, metadata = _unwrapped(annotation)
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Union or origin is types.UnionType:
        members = tuple(member for member in args if member is not types.NoneType)
        nullable = len(members) < len(args)
        if len(members) == 1:
            inner = shape_of(members[0])
            return Shape(inner.kind, inner.type, inner.args, nullable or inner.nullable, (*inner.metadata, *metadata))
        return Shape("union", typing.Union, members, nullable, metadata)
    plain = origin or annotation
    if is_dataclass_type(plain):
        return Shape("dataclass", plain, args, metadata=metadata)
    if plain is tuple and args and args[-1] is not Ellipsis:
        return Shape("tuple", tuple, args, metadata=metadata)
    if plain is tuple or plain in _ITEMS:
        return Shape("items", plain, args[:1] or (Any,), metadata=metadata)
    if plain in _MAPPINGS:
        return Shape("mapping", plain, args or (Any, Any), metadata=metadata)
    return Shape("leaf", annotation, metadata=metadata)


def fields_of(shape: Shape) -> Iterator[tuple[FieldPlan, Any]]:
    """The fields of a dataclass shape, each with its type after type arguments are put in."""
    variables = _variables(shape.type, shape.args)
    for plan in field_plans(shape.type):
        yield plan, _substituted(plan.type, variables)


def type_name(annotation: Any) -> str:
    """A type as its author would write it, without modules.

    >>> type_name(list[int | None])
    'list[int | None]'
    """
    if annotation is None or annotation is types.NoneType:
        return "None"
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return type_name(args[0])
    if origin is typing.Union or origin is types.UnionType:
        return " | ".join(map(type_name, args))
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, args))}]"
    if origin is not None and args:
        inside = ("..." if arg is Ellipsis else type_name(arg) for arg in args)
        return f"{type_name(origin)}[{', '.join(inside)}]"
    if isinstance(annotation, type):
        return annotation.__qualname__.rpartition(".<locals>.")[2]
    return str(annotation).replace("typing.", "")


def applies(constraint: str, annotation: Any) -> bool:
    """Whether a metadata key means something for a type."""
    shape = annotation if isinstance(annotation, Shape) else shape_of(annotation)
    if constraint in NUMERIC:
        return shape.kind == "leaf" and _is_ordered(shape.type)
    if constraint in LENGTHS:
        return shape.kind in ("items", "mapping") or shape.type in (str, bytes)
    return shape.type is str


def _is_ordered(kind: Any) -> bool:
    if kind in (int, float):
        return True
    names = {"Decimal", "datetime", "date", "time", "timedelta"}
    return getattr(kind, "__module__", "") in ("decimal", "datetime") and kind.__name__ in names


def _unwrapped(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    metadata: tuple[Any, ...] = ()
    while True:
        if typing.get_origin(annotation) is Annotated:
            annotation, metadata = annotation.__origin__, (*annotation.__metadata__, *metadata)
        elif isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif isinstance(annotation, typing.TypeVar):
            bound = annotation.__bound__
            constraints = annotation.__constraints__
            annotation = bound if bound is not None else typing.Union[constraints] if constraints else Any  # noqa: UP007
        elif typing.get_origin(annotation) in (typing.Required, typing.NotRequired, typing.Final):
            annotation = typing.get_args(annotation)[0]
        elif hasattr(annotation, "__value__") and not _mentions(annotation.__value__, annotation):
            annotation = annotation.__value__  # `type Name = ...`; a recursive one is left to pydantic
        else:
            return annotation, metadata


def _mentions(annotation: Any, alias: Any) -> bool:
    return annotation is alias or any(_mentions(part, alias) for part in typing.get_args(annotation))


def _variables(cls: type, args: tuple[Any, ...]) -> dict[Any, Any]:
    variables: dict[Any, Any] = dict(zip(getattr(cls, "__parameters__", ()), args, strict=False))
    for base in vars(cls).get("__orig_bases__", ()):
        origin = typing.get_origin(base)
        if isinstance(origin, type) and origin is not typing.Generic:
            inherited = tuple(_substituted(part, variables) for part in typing.get_args(base))
            variables = {**_variables(origin, inherited), **variables}
    for base in cls.__bases__:
        if "__orig_bases__" not in vars(cls) and base is not object:
            variables = {**_variables(base, ()), **variables}
    return variables


def _substituted(annotation: Any, variables: Mapping[Any, Any]) -> Any:
    if isinstance(annotation, typing.TypeVar):
        return variables.get(annotation, annotation)
    parameters: tuple[Any, ...] = getattr(annotation, "__parameters__", ())
    if not variables or not parameters or isinstance(annotation, type):
        return annotation
    return annotation[tuple(variables.get(parameter, parameter) for parameter in parameters)]
