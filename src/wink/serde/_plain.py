"""Read JSON that is plainly right without pydantic, whose import takes longer than a whole command.

It only ever accepts. Whatever is wrong, or odd, or of a type that is not plain is left to pydantic, which has the words for it;
so nothing here decides differently, and `tests/serde/test_plain.py` holds the two against each other.
"""

import json
import math
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING
from types import MappingProxyType
from typing import Any, Final, Literal

from wink.errors import SerdeError
from wink.serde._fields import FieldPlan
from wink.serde._reading import Reading
from wink.serde._shapes import Shape, applies, fields_of, shape_of
from wink.serde._text import has_lone_surrogate, too_deep

Reader = Callable[[Any], Any]
"""Turns a decoded JSON value into the value asked for, or raises `NotPlain`."""

_SAFE: Final = 1 << 63  # beyond this, parsers of JSON differ
_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


class NotPlain(Exception):
    """A value, a text or a type that is left to pydantic."""


def plain_reader(annotation: Any, reading: Reading) -> Callable[[str | bytes], Any] | None:
    """Reads JSON text as `annotation`, or raises `NotPlain`; `None` when the type itself is not plain.

    >>> plain_reader(tuple[int, ...], Reading("forbid"))("[1, 2]")
    (1, 2)
    """
    if reading.coerce or reading.aliases or reading.extra == "allow":
        return None
    try:
        read = _Compiler(reading.extra == "forbid").reader(shape_of(annotation))
    except (NotPlain, SerdeError, TypeError):
        return None

    def read_text(text: str | bytes) -> Any:
        return read(_decoded(text))

    return read_text


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise NotPlain
    return found


def _refuse(name: str) -> Any:
    raise NotPlain(name)


_decoder = json.JSONDecoder(parse_constant=_refuse)
_scan: Callable[[str, int], tuple[object, int]] | None = getattr(
    _decoder, "scan_once", None
)  # in C, and not in typeshed
_decode_each = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse).decode


def _decode(text: str) -> Any:
    if _scan is not None:
        try:
            found, end = _scan(text, 0)
        except StopIteration:
            pass  # it begins with white space, or is wrong
        else:
            if end == len(text):
                return found
    return _decoder.decode(text)


def _decoded(text: str | bytes) -> Any:
    try:
        if isinstance(text, bytes):
            text = text.decode()
        if "\\u" in text or not (text.isascii() or not has_lone_surrogate(text)):
            raise NotPlain
        if text.count("{") <= 1 and text.count("[") <= 1:
            found: Any = _decode(text)
            if type(found) is not dict or text.count(":") == len(found):  # pyright: ignore[reportUnknownArgumentType]
                return found  # pyright: ignore[reportUnknownVariableType]  # one colon a key: no key is there twice
        elif too_deep(text):
            raise NotPlain
        return _decode_each(text)
    except (ValueError, RecursionError) as error:
        raise NotPlain from error


class _Compiler:
    """Turns shapes into readers."""

    def __init__(self, is_closed: bool) -> None:
        self._is_closed = is_closed
        self._begun: set[object] = set()

    def reader(self, shape: Shape, constraints: Mapping[str, Any] = _NONE) -> Reader:
        """The reader of a shape; raises `NotPlain`."""
        if shape.metadata:
            raise NotPlain
        read = self._bare(shape)
        if constraints:
            read = _limited(read, shape, constraints)
        return _nullable(read) if shape.nullable else read

    def _bare(self, shape: Shape) -> Reader:
        match shape.kind:
            case "dataclass":
                return self._dataclass(shape)
            case "items" if shape.type in (list, tuple):
                return _items(shape.type, self.reader(shape_of(shape.args[0])))
            case "items" if shape.type in (set, frozenset):
                return _unique(shape.type, self.reader(shape_of(shape.args[0])))
            case "tuple":
                return _fixed([self.reader(shape_of(part)) for part in shape.args])
            case "mapping" if shape.type is dict and shape.args[0] is str:
                return _mapping(self.reader(shape_of(shape.args[1])))
            case "leaf":
                return _leaf(shape.type)
            case _:
                raise NotPlain

    def _dataclass(self, shape: Shape) -> Reader:
        cls: type = shape.type
        if (cls, shape.args) in self._begun or cls.__new__ is not object.__new__:
            raise NotPlain  # recursive, or with ideas of its own
        self._begun.add((cls, shape.args))
        fields = [
            (plan.name, self._field(plan, annotation), plan.default, plan.default_factory)
            for plan, annotation in fields_of(shape)
        ]
        self._begun.discard((cls, shape.args))
        return _builder(cls, fields, self._is_closed)

    def _field(self, plan: FieldPlan, annotation: Any) -> Reader:
        if plan.key != plan.name or not plan.in_init or plan.init_only:
            raise NotPlain
        return self.reader(shape_of(annotation), plan.constraints)


def _builder(cls: type, fields: list[tuple[str, Reader, Any, Any]], is_closed: bool) -> Reader:
    """Builds as pydantic does: no `__init__`, fields in their order, then `__post_init__`."""
    new = typing.cast("Callable[[type], object]", object.__new__)
    put = object.__setattr__
    post_init: Callable[[Any], None] | None = getattr(cls, "__post_init__", None)
    has_slots = hasattr(cls, "__slots__")

    def build(found: Any) -> Any:
        if type(found) is not dict:
            raise NotPlain
        values: dict[str, Any] = {}
        unused = len(typing.cast("dict[str, Any]", found))
        for name, read, default, factory in fields:
            if name in found:
                values[name] = read(found[name])
                unused -= 1
            elif default is not MISSING:
                values[name] = default
            elif factory is not MISSING:
                values[name] = factory()
            else:
                raise NotPlain
        if unused and is_closed:
            raise NotPlain
        obj = new(cls)
        if has_slots:
            for name, value in values.items():
                put(obj, name, value)
        else:
            put(obj, "__dict__", values)
        if post_init is not None:
            try:
                post_init(obj)
            except Exception as error:  # foreign code: it will raise again, where its words are put in place
                raise NotPlain from error
        return obj

    return build


def _nullable(read: Reader) -> Reader:
    def read_nullable(value: Any) -> Any:
        return None if value is None else read(value)

    return read_nullable


def _items(kind: type, read: Reader) -> Reader:
    def read_items(value: Any) -> Any:
        if type(value) is not list:
            raise NotPlain
        return kind([read(item) for item in typing.cast("list[Any]", value)])

    return read_items


def _unique(kind: type, read: Reader) -> Reader:
    items = _items(list, read)

    def read_items(value: Any) -> Any:
        try:
            found = kind(listed := items(value))
        except TypeError as error:  # an item has no hash
            raise NotPlain from error
        if len(found) != len(listed):
            raise NotPlain
        return found

    return read_items


def _fixed(readers: list[Reader]) -> Reader:
    def read_items(value: Any) -> Any:
        if type(value) is not list or len(typing.cast("list[Any]", value)) != len(readers):
            raise NotPlain
        return tuple([read(item) for read, item in zip(readers, typing.cast("list[Any]", value), strict=True)])

    return read_items


def _mapping(read: Reader) -> Reader:
    def read_mapping(value: Any) -> Any:
        if type(value) is not dict:
            raise NotPlain
        return {key: read(item) for key, item in typing.cast("dict[str, Any]", value).items()}

    return read_mapping


def _leaf(kind: Any) -> Reader:
    reader = _LEAVES.get(kind) if isinstance(kind, type) or kind is Any else None
    if reader is not None:
        return reader
    choices = typing.get_args(kind) if typing.get_origin(kind) is Literal else ()
    if not choices or not all(type(choice) is str for choice in choices):
        raise NotPlain
    return _choice(frozenset(choices))


def _choice(choices: frozenset[str]) -> Reader:
    def read_choice(value: Any) -> str:
        if type(value) is not str or value not in choices:
            raise NotPlain
        return value

    return read_choice


def _str(value: Any) -> str:
    if type(value) is not str:
        raise NotPlain
    return value


def _int(value: Any) -> int:
    if type(value) is not int or not -_SAFE < value < _SAFE:
        raise NotPlain
    return value


def _float(value: Any) -> float:
    if type(value) is not float or not math.isfinite(value):
        raise NotPlain
    return value


def _bool(value: Any) -> bool:
    if type(value) is not bool:
        raise NotPlain
    return value


def _any(value: Any) -> Any:
    """Any value, unless there is a number in it that parsers differ about."""
    if isinstance(value, dict):
        for item in typing.cast("dict[str, Any]", value).values():
            _any(item)
    elif isinstance(value, list):
        for item in typing.cast("list[Any]", value):
            _any(item)
    elif type(value) is int:
        _int(value)
    elif type(value) is float:
        _float(value)
    return typing.cast("object", value)


_LEAVES: Final[dict[Any, Reader]] = {str: _str, int: _int, float: _float, bool: _bool, Any: _any}


def _limited(read: Reader, shape: Shape, constraints: Mapping[str, Any]) -> Reader:
    """`read` for values that keep the constraints; the others, and constraints that are odd, are not plain."""
    least: float = -math.inf
    most: float = math.inf
    shortest, longest = 0, math.inf
    for key, limit in constraints.items():
        if not applies(key, shape) or type(limit) is not int:
            raise NotPlain
        match key:
            case "ge":
                least = limit
            case "le":
                most = limit
            case "min_length":
                shortest = limit
            case "max_length":
                longest = limit
            case _:
                raise NotPlain
    if shape.type in (int, float):

        def read_number(value: Any) -> Any:
            number = read(value)
            if not least <= number <= most:
                raise NotPlain
            return number

        return read_number

    def read_sized(value: Any) -> Any:
        sized = read(value)
        if not shortest <= len(sized) <= longest:
            raise NotPlain
        return sized

    return read_sized
