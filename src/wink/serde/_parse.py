"""Read JSON as a type, reporting everything that is wrong at once."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from wink.errors import ParseError, Problem, SerdeError
from wink.serde._dump import dumps
from wink.serde._plain import NotPlain, plain_reader
from wink.serde._reading import Extra, Reading
from wink.serde._text import text_problems

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic_core import ValidationError

T = TypeVar("T")

_KEPT: Final = 4096
_validators: dict[tuple[object, ...], "Callable[[str | bytes], Any]"] = {}


@overload
def parse(
    cls: type[T],
    data: object,
    *,
    extra: Extra = "forbid",
    aliases: Mapping[str, str] | None = None,
    coerce: bool = False,
) -> T: ...
@overload
def parse(
    cls: Any, data: object, *, extra: Extra = "forbid", aliases: Mapping[str, str] | None = None, coerce: bool = False
) -> Any: ...
def parse(
    cls: Any, data: object, *, extra: Extra = "forbid", aliases: Mapping[str, str] | None = None, coerce: bool = False
) -> Any:
    """Read `data` as `cls`: a dataclass, or any type that JSON can hold (`list[Step]`, `Step | None`).

    `str` and `bytes` are JSON text. Anything else is written as JSON first, so that Python values and text behave alike.
    JSON types are taken at their word: `"5"` is not an integer, unless `coerce` asks for that. Unknown fields are refused,
    dropped (`extra="ignore"`) or kept aside (`"allow"`, see `extras`). `aliases` maps field names of `cls` to the keys used
    in `data`, before the fields' own `alias` metadata.

    Raises `ParseError` with every problem and its path, and `SerdeError` for a `cls` that JSON cannot hold.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> parse(Point, '{"x": 1}')
    Point(x=1, y=0)
    >>> parse(Point, {"x": "1", "z": 2})
    Traceback (most recent call last):
    ...
    wink.errors.ParseError: $.x: must be an integer, not "1"
    $.z: is not a known field; the fields are 'x', 'y'
    """
    validate = _validators.get((cls, extra, coerce)) if not aliases else None
    if validate is None:
        validate = _validator(cls, extra, coerce, aliases or {})
    if isinstance(data, (str, bytes)):
        text = data
    elif isinstance(data, bytearray):
        text = bytes(data)
    else:
        try:
            text = dumps(data)
        except SerdeError as error:
            raise ParseError([Problem(error.path, error.reason)]) from error
    return validate(text)


def compiled(cls: Any, extra: Extra) -> None:
    """Compile `cls` for reading, if it is not yet; raises `SerdeError` when it cannot be read."""
    _validator(cls, extra, False, {})


def _validator(cls: Any, extra: Extra, coerce: bool, aliases: Mapping[str, str]) -> "Callable[[str | bytes], Any]":
    key: tuple[object, ...] = (cls, extra, coerce, *sorted(aliases.items())) if aliases else (cls, extra, coerce)
    try:
        known = _validators.get(key)
    except TypeError:  # an annotation with an unhashable part
        return _build(cls, extra, coerce, aliases)
    if known is None:
        if len(_validators) >= _KEPT:
            _validators.clear()  # classes made on the fly would otherwise be held for ever
        known = _validators[key] = _build(cls, extra, coerce, aliases)
    return known


def _build(cls: Any, extra: Extra, coerce: bool, aliases: Mapping[str, str]) -> "Callable[[str | bytes], Any]":
    reading = Reading(extra, coerce, tuple(sorted(aliases.items())))
    read = plain_reader(cls, reading)
    if read is None:
        return _build_thorough(cls, reading)
    thorough: Callable[[str | bytes], Any] | None = None

    def validate(text: str | bytes) -> Any:
        nonlocal thorough
        try:
            return read(text)
        except NotPlain:
            pass  # leave the handler first, or what pydantic raises would seem to follow from this
        if thorough is None:
            thorough = _build_thorough(cls, reading)
        return thorough(text)

    return validate


def _build_thorough(cls: Any, reading: Reading) -> "Callable[[str | bytes], Any]":
    from pydantic_core import ValidationError

    from wink.serde._adapters import compile_adapter

    validate_json = compile_adapter(cls, reading).validator.validate_json

    def validate(text: str | bytes) -> Any:
        try:
            value = validate_json(text)
        except ValidationError as error:
            return _retried(cls, text, error, validate_json)
        except ParseError:
            raise
        except Exception as error:  # foreign code: a `__post_init__` that raises something else than ValueError
            raise ParseError([Problem("$", f"cannot be used ({type(error).__name__}: {error})")]) from error
        problems = text_problems(text if isinstance(text, str) else text.decode())
        if problems:
            raise ParseError(problems)
        return value

    return validate


def _retried(cls: Any, text: str | bytes, error: "ValidationError", validate_json: "Callable[[str], Any]") -> Any:
    """The value after all when only lone surrogates were in the way, otherwise the problems."""
    from pydantic_core import ValidationError

    from wink.serde import _surrogates
    from wink.serde._problems import problems_in

    first = error.errors(include_url=False)[0]
    if first["type"] in ("json_invalid", "string_unicode") and not first["loc"]:
        masked = _surrogates.mask(text)
        if masked is not None:
            try:
                value = _surrogates.unmask(validate_json(masked.text), masked)
            except ValidationError as inner:
                error = inner
            else:
                # What is masked was read before, each key once.
                if problems := text_problems(text if isinstance(text, str) else text.decode()):
                    raise ParseError(problems)
                return value
    problems = problems_in(error, cls)
    if not (len(problems) == 1 and first["type"] == "json_invalid"):
        with suppress(json.JSONDecodeError):  # half of a surrogate pair may stand where no string is, too
            problems += text_problems(text if isinstance(text, str) else text.decode())
    raise ParseError(problems) from None
