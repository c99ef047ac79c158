"""Dataclasses to JSON, JSON to dataclasses, and dataclasses to JSON Schema."""

from wink.errors import ParseError, Problem, SerdeError
from wink.serde._dump import dump, dumps
from wink.serde._extras import extras
from wink.serde._hints import known_hints, learn_names, type_hints
from wink.serde._parse import parse
from wink.serde._reading import Extra
from wink.serde._schema import schema
from wink.serde._shapes import type_name
from wink.serde._stated import Stated, stated

__all__ = [
    "Extra",
    "ParseError",
    "Problem",
    "SerdeError",
    "Stated",
    "dump",
    "dumps",
    "extras",
    "known_hints",
    "learn_names",
    "parse",
    "schema",
    "stated",
    "type_hints",
    "type_name",
]
