"""Turn Python values into plain JSON values."""

import dataclasses
import enum
import functools
import json
from collections import deque
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

from wink.errors import SerdeError
from wink.serde._extras import ANY, extras
from wink.serde._fields import field_plans
from wink.serde._text import MAX_DEPTH, has_lone_surrogate, step, too_deep

_PLAIN: Final = frozenset({str, int, bool, type(None)})


def _writer(*, ascii_only: bool) -> Callable[[Any], str]:
    """`JSONEncoder.encode` without the encoder in C that it makes anew for every value, at the cost of the value itself.

    Circles need no looking for: what is written was copied just before.
    """
    encoder = json.JSONEncoder(ensure_ascii=ascii_only, allow_nan=False, separators=(",", ":"))
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return encoder.encode
    quote = json.encoder.encode_basestring_ascii if ascii_only else json.encoder.encode_basestring
    chunks = make(None, encoder.default, quote, None, ":", ",", False, False, False)
    return lambda value: "".join(chunks(value, 0))


_compact: Final = _writer(ascii_only=False)
_escaped: Final = _writer(ascii_only=True)


def dump(obj: object, *, exclude_none: bool = False, by_alias: bool = True, computed: bool = False) -> Any:
    """`obj` as plain JSON values: dicts with string keys, lists, strings, numbers, booleans, `None`.

    `exclude_none` leaves out dataclass fields that are `None`; `computed` adds public properties and fields that
    `__init__` does not take. What `parse` kept aside with `extra="allow"` is written back. Sets come sorted, so that equal
    values give equal JSON. Raises `SerdeError` naming the path of a value that JSON cannot hold.

    >>> @dataclasses.dataclass
    ... class Step:
    ...     title: str
    ...     note: str | None = None
    >>> dump(Step("read"), exclude_none=True)
    {'title': 'read'}
    """
    encoder = _ENCODERS[exclude_none, by_alias, computed]
    try:
        return encoder.encode(obj)
    except _Unwritable as error:
        raise SerdeError(error.path(), error.reason) from error.__cause__
    except RecursionError as error:
        raise SerdeError("$", "is nested too deeply, or contains itself") from error


def dumps(obj: object, *, exclude_none: bool = False, by_alias: bool = True, computed: bool = False) -> str:
    """`obj` as compact JSON text, which `parse` reads back as an equal value.

    Text that no file or socket can take as UTF-8 (half of a surrogate pair, as in undecodable file names) is escaped.

    >>> dumps({"b": [1, 2.5], "a": None})
    '{"b":[1,2.5],"a":null}'
    """
    value = dump(obj, exclude_none=exclude_none, by_alias=by_alias, computed=computed)
    try:
        text = _compact(value)
    except ValueError as error:
        raise SerdeError("$", "has an integer with too many digits for JSON") from error
    except RecursionError as error:
        raise SerdeError("$", "is nested too deeply, or contains itself") from error
    if not text.isascii() and has_lone_surrogate(text):
        text = _escaped(value)
    if too_deep(text):
        raise SerdeError("$", f"is nested too deeply; at most {MAX_DEPTH} levels can be read back")
    return text


class _Unwritable(Exception):
    """A value that JSON cannot hold; each level that it passes adds its step."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.steps: list[object] = []
        super().__init__(reason)

    def path(self) -> str:
        path = "$"
        for key in reversed(self.steps):
            path = step(path, key)
        return path


class _Encoder:
    """Encodes values by their own type; what was learnt of a type is kept."""

    __slots__ = ("_by_alias", "_computed", "_exclude_none", "_known")

    def __init__(self, exclude_none: bool, by_alias: bool, computed: bool) -> None:
        self._exclude_none, self._by_alias, self._computed = exclude_none, by_alias, computed
        self._known: dict[type, Callable[[Any], Any]] = {}

    def encode(self, value: object) -> Any:
        kind = type(value)
        if kind in _PLAIN:
            return value
        encode = self._known.get(kind)
        if encode is None:
            encode = self._known[kind] = self._learn(kind)
        return encode(value)

    def _learn(self, kind: type[Any]) -> Callable[[Any], Any]:
        if kind is float:
            return _float
        if issubclass(kind, enum.Enum):
            return lambda value: self.encode(value.value)
        if dataclasses.is_dataclass(kind):
            return self._dataclass(kind)
        if issubclass(kind, Mapping):
            return self._mapping
        if issubclass(kind, (list, tuple, deque)):
            return self._items
        if issubclass(kind, AbstractSet):
            return lambda value: sorted(self._items(list(value)), key=_compact)
        if hasattr(kind, "__pydantic_serializer__"):
            return self._model
        from wink.serde._scalars import scalar_encoder

        encode = scalar_encoder(kind)
        if encode is not None:
            return _scalar(encode)
        raise _Unwritable(f"JSON cannot hold a value of type {kind.__qualname__!r}")

    def _dataclass(self, cls: type[Any]) -> Callable[[Any], dict[str, Any]]:
        plans = [plan for plan in field_plans(cls) if not plan.init_only and (plan.in_init or self._computed)]
        names = [(plan.name, plan.key if self._by_alias else plan.name) for plan in plans]
        if self._computed:
            names += [(name, name) for name in _properties(cls)]
        encode, exclude_none = self.encode, self._exclude_none

        def encode_fields(value: Any) -> dict[str, Any]:
            out: dict[str, Any] = {}
            for name, key in names:
                try:
                    item = getattr(value, name)
                    if type(item) not in _PLAIN:
                        item = encode(item)
                    elif item is None and exclude_none:
                        continue
                except _Unwritable as error:
                    error.steps.append(key)
                    raise
                except RecursionError:
                    raise
                except Exception as error:  # foreign code: a property, or a slot that was never set
                    failure = _Unwritable(f"cannot be read ({type(error).__name__}: {error})")
                    failure.steps.append(key)
                    raise failure from error
                out[key] = item
            if any(ANY):
                for key, item in extras(value).items():
                    out.setdefault(key, encode(item))
            return out

        return encode_fields

    def _model(self, value: Any) -> Any:
        try:
            plain = value.model_dump(mode="json", by_alias=self._by_alias, exclude_none=self._exclude_none)
        except ValueError as error:  # foreign code: a serializer, or a value that JSON cannot hold
            raise _Unwritable(str(error)) from error
        return self.encode(plain)

    def _mapping(self, value: Mapping[Any, Any]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        encode = self.encode
        for key, item in value.items():
            text = key if type(key) is str else _key_text(key)
            if text in out:
                raise _Unwritable(f"two keys are both written as {text!r}")
            try:
                out[text] = encode(item)
            except _Unwritable as error:
                error.steps.append(text)
                raise
        return out

    def _items(self, value: Any) -> list[Any]:
        out: list[Any] = []
        encode = self.encode
        for item in value:
            try:
                out.append(item if type(item) in _PLAIN else encode(item))
            except _Unwritable as error:
                error.steps.append(len(out))
                raise
        return out


def _float(value: float) -> float:
    if value - value == 0:  # neither NaN nor infinite
        return value
    raise _Unwritable(f"{value!r} is not a JSON number")


def _scalar(encode: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def encode_scalar(value: Any) -> Any:
        try:
            return encode(value)
        except ValueError as error:
            raise _Unwritable(str(error)) from error

    return encode_scalar


def _properties(cls: type) -> list[str]:
    found: dict[str, None] = {}
    for owner in reversed(cls.__mro__):
        for name, member in vars(owner).items():
            if isinstance(member, (property, functools.cached_property)) and not name.startswith("_"):
                found[name] = None
    return list(found)


def _key_text(key: object) -> str:
    if isinstance(key, enum.Enum):
        return _key_text(key.value)
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, str):
        return str.__str__(key)
    if isinstance(key, int):
        return str(int(key))
    from wink.serde._scalars import scalar_encoder

    encode = scalar_encoder(type(key))
    if encode is not None and not isinstance(key, float):
        return str(_scalar(encode)(key))
    raise _Unwritable(f"JSON keys are strings; {type(key).__qualname__!r} cannot be one")


_ENCODERS: Final = {
    (exclude_none, by_alias, computed): _Encoder(exclude_none, by_alias, computed)
    for exclude_none in (False, True)
    for by_alias in (False, True)
    for computed in (False, True)
}
