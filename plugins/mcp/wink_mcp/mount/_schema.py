"""Check arguments against the JSON Schema that a server gives, which nobody here has seen before.

A schema comes from outside: its regular expressions must not be able to hang us, its references lead nowhere but into
itself, and it is turned down as a whole when it makes no sense.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import Any, Final, cast

from wink.errors import Problem

MAX_SCHEMA_CHARACTERS: Final = 200_000
MAX_DEPTH: Final = 60

_MAPS: Final = ("properties", "$defs", "definitions", "dependentSchemas")
_VALUES: Final = ("const", "enum", "default", "examples")
_BY_PATTERN: Final = ("patternProperties", "additionalProperties", "unevaluatedProperties")
_OPENING: Final = ("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas")
_MOST: Final = 20
_MOST_REFERENCES: Final = 10_000
_references: ContextVar[list[int]] = ContextVar("references")


class BadSchema(Exception):
    """Why a schema cannot be used."""


class ArgumentSchema:
    """The schema of one tool's arguments, compiled."""

    __slots__ = ("_validator", "is_open", "names", "text")

    def __init__(self, schema: object) -> None:
        """Raises `BadSchema`."""
        self.text = _text_of(schema)
        given: dict[str, Any] = json.loads(self.text)
        if given.get("type", "object") != "object":
            raise BadSchema(f"it describes {given['type']!r} and not an object")
        properties = given.get("properties", {})
        self.names = frozenset(cast("dict[str, Any]", properties)) if isinstance(properties, dict) else frozenset[str]()
        """The arguments that it names."""
        self.is_open = _is_open(given)
        """Whether it provides for arguments that it does not name, or may do so in a part that is not looked into."""
        self._validator = _compiled(_within_reach(given))

    def document(self) -> dict[str, Any]:
        """The schema as the server gave it; a new dict each time."""
        return json.loads(self.text)

    def problems(self, arguments: Mapping[str, Any]) -> list[Problem]:
        """All that is wrong with a call's arguments, at most twenty of it."""
        found: list[Problem] = []
        token = _references.set([_MOST_REFERENCES])
        try:
            for error in self._validator.iter_errors(arguments):
                found.append(Problem(_path(error.absolute_path), _words(error)))
                if len(found) == _MOST:
                    break
        except Exception as error:  # foreign code: a reference into nothing, a schema that contains itself
            return [Problem("$", f"cannot be checked, the server's schema is at fault ({type(error).__name__})")]
        finally:
            _references.reset(token)
        return found


def _text_of(schema: object) -> str:
    if not isinstance(schema, dict):
        raise BadSchema("it is not an object")
    try:
        text = json.dumps(schema, allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        raise BadSchema(f"it is not JSON: {error}") from error
    if len(text) > MAX_SCHEMA_CHARACTERS:
        raise BadSchema(f"it has {len(text)} characters; {MAX_SCHEMA_CHARACTERS} are read")
    if _depth(cast("dict[str, Any]", schema)) > MAX_DEPTH:
        raise BadSchema(f"it is nested more than {MAX_DEPTH} levels deep")
    return text


def _depth(value: object) -> int:
    level, depth = [value], 0
    while level:
        depth += 1
        level = [inner for outer in level for inner in _inside(outer)]
    return depth


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast("dict[str, object]", value).values()
    return cast("list[object]", value) if isinstance(value, list) else ()


def _is_open(schema: Mapping[str, Any]) -> bool:
    if "patternProperties" in schema:
        return True
    if "additionalProperties" in schema:
        return schema["additionalProperties"] is not False
    return any(key in schema for key in _OPENING)


def _within_reach(schema: Any) -> Any:
    """The schema without what only Python's own regular expressions could check; the server checks it anyway."""
    if isinstance(schema, list):
        return [_within_reach(part) for part in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    keywords = cast("dict[str, Any]", schema)
    dropped = _BY_PATTERN if "patternProperties" in keywords else ()
    for key, value in keywords.items():
        if key in dropped or key == "format":
            continue
        if key in _MAPS and isinstance(value, dict):
            out[key] = {name: _within_reach(part) for name, part in cast("dict[str, Any]", value).items()}
        else:
            out[key] = value if key in _VALUES else _within_reach(value)
    return out


def _compiled(schema: dict[str, Any]) -> Any:
    from jsonschema import Draft202012Validator, SchemaError, validators
    from referencing import Registry

    jsonschema: Any = validators
    found: Any = jsonschema.validator_for(schema, default=Draft202012Validator)
    try:
        found.check_schema(schema)
    except SchemaError as error:
        raise BadSchema(f"it is not a JSON Schema: {_path(error.absolute_path)}: {error.message[:200]}") from error
    except Exception as error:  # foreign code
        raise BadSchema(f"it cannot be checked: {type(error).__name__}") from error
    ours: dict[str, Any] = {"pattern": _pattern}
    ours |= {key: _counted(found.VALIDATORS[key]) for key in ("$ref", "$dynamicRef") if key in found.VALIDATORS}
    # An empty registry: references lead into the schema itself, and nothing is fetched.
    return jsonschema.extend(found, ours)(schema, registry=cast("Any", Registry)())


def _counted(follow: Callable[..., Any]) -> Callable[..., Any]:
    """Follow a reference, but not without end: a few lines can refer to each other a billion times."""

    def followed(validator: Any, reference: Any, instance: Any, schema: Any) -> Any:
        left = _references.get()
        left[0] -= 1
        if left[0] < 0:
            raise BadSchema("it refers to itself too often")
        return follow(validator, reference, instance, schema)

    return followed


def _pattern(validator: Any, pattern: Any, instance: Any, schema: Any) -> Iterable[Any]:
    """JSON Schema's `pattern`, by an engine that takes linear time; what that one cannot read is the server's to check."""
    del schema
    if not validator.is_type(instance, "string") or not isinstance(pattern, str):
        return
    import re2  # pyright: ignore[reportMissingTypeStubs]
    from jsonschema import ValidationError

    linear: Any = re2
    try:
        options = linear.Options()
        options.log_errors = False
        matches = linear.compile(pattern, options).search(instance) is not None
    except (linear.error, ValueError):
        return
    if not matches:
        yield ValidationError(f"does not match {pattern!r}")


def _path(steps: Iterable[object]) -> str:
    """A place in JSON as wink writes it.

    >>> _path(["steps", 0, "title"])
    '$.steps[0].title'
    """
    path = "$"
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += f".{step}" if str(step).isidentifier() else f"[{json.dumps(str(step))}]"
    return path


def _words(error: Any) -> str:
    text = str(error.message)
    return text if len(text) <= 300 else f"{text[:200]} ... {text[-80:]}"
