"""Dataclasses to JSON, JSON to dataclasses, and dataclasses to JSON Schema."""

from wink.errors import ParseError, Problem, SerdeError
from wink.serde._adapters import Extra
from wink.serde._dump import dump, dumps
from wink.serde._extras import extras
from wink.serde._hints import type_hints
from wink.serde._parse import parse
from wink.serde._schema import schema

__all__ = [
    "Extra",
    "ParseError",
    "Problem",
    "SerdeError",
    "dump",
    "dumps",
    "extras",
    "parse",
    "schema",
    "type_hints",
]
