"""Read lines of the protocol, and write those of our own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NoReturn, cast

from wink.errors import ParseError
from wink_mcp import TooLong

INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
NOT_FOUND: Final = -32002
"""What the protocol calls a resource that does not exist."""

Message = dict[str, Any]
_ID_AT_THE_BEGINNING: Final = re.compile(
    rb'\A\s*\{(?:\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,)*\s*"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.){0,200}")\s*[,}]'
)


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, message: str, code: int = INTERNAL_ERROR) -> None:
        super().__init__(message)
        self.code = code


def message_of(line: bytes) -> Message | None:
    r"""The message in a line; None where there is none.

    >>> message_of(b'{"jsonrpc": "2.0", "method": "a"}')
    {'jsonrpc': '2.0', 'method': 'a'}
    >>> message_of(b"[1]"), message_of(b"Listening\xff"), message_of(b"[" * 100_000)
    (None, None, None)
    """
    try:
        found: object = json.loads(line.decode(), parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None
    return cast("Message", found) if isinstance(found, dict) else None


def id_of(line: TooLong) -> object:
    """The id of a message that is too long to be read, where it stands at the beginning; None for none."""
    found = _ID_AT_THE_BEGINNING.match(line.head)
    return None if found is None else json.loads(found[1])


def key_of(identity: object) -> str:
    """A request's id as what it can be found by: `1` and `"1"` are two."""
    return json.dumps(identity)


def params_of(message: Message) -> Message:
    """The parameters; raises `Refused` where they are no object."""
    found = message.get("params")
    if not isinstance(found, dict):
        raise Refused("params is no object", INVALID_PARAMS)
    return cast("Message", found)


def mapping(value: object) -> Message:
    """A value that may be an object, as one."""
    return cast("Message", value) if isinstance(value, dict) else {}


def sequence(value: object) -> list[Any]:
    """A value that may be an array, as one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def misfit(error: ParseError) -> Refused:
    """What is answered to parameters that do not fit."""
    return Refused("; ".join(str(error).splitlines()), INVALID_PARAMS)


def request(identity: str, method: str, params: Mapping[str, Any]) -> bytes:
    """A request of ours."""
    return line_of({"jsonrpc": "2.0", "id": identity, "method": method, "params": params})


def notification(method: str, params: Mapping[str, Any]) -> bytes:
    """A notification of ours."""
    return line_of({"jsonrpc": "2.0", "method": method, "params": params})


def response(identity: object, result: Mapping[str, Any]) -> bytes:
    """An answer."""
    return line_of({"jsonrpc": "2.0", "id": identity, "result": result})


def error(identity: object, refused: Refused) -> bytes:
    """An answer that says what went wrong."""
    return line_of({"jsonrpc": "2.0", "id": identity, "error": {"code": refused.code, "message": str(refused)}})


def line_of(message: Mapping[str, Any]) -> bytes:
    """A message as a line of ASCII: half of a pair of surrogates has no UTF-8."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
