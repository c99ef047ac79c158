"""Read one line as a JSON-RPC message, or say to whoever sent it what is wrong with it."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NoReturn, cast

import mcp_types as types
from mcp_types.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from wink_mcp._lines import TooLong

DEEPEST: Final = 200
"""How many objects and arrays of a message may lie within each other."""

_ID_AT_THE_END: Final = re.compile(
    rb'[{,]\s*"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.){0,200}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z'
)
_ID_AT_THE_BEGINNING: Final = re.compile(
    rb'\A\s*\{(?:\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,)*\s*"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.){0,200}")\s*[,}]'
)


def message_of(line: bytes | TooLong) -> JSONRPCMessage | None:
    """The message in a line; a `JSONRPCError` of ours, to be sent back, when it is none; `None` for an empty line."""
    if isinstance(line, TooLong):
        return _wrong(INVALID_REQUEST, f"the message has {line.length} bytes, which is too many", _id_in(line))
    if not line.strip():
        return None
    try:
        value = json.loads(line.decode("utf-8-sig"), parse_constant=_no_number)
    except UnicodeDecodeError:
        return _wrong(PARSE_ERROR, "the message is not UTF-8")
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "a number or a nesting that is out of bounds"
        return _wrong(PARSE_ERROR, f"the message is not JSON: {reason}")
    if not isinstance(value, dict):
        what = "a batch; send each message on a line of its own" if isinstance(value, list) else "no object"
        return _wrong(INVALID_REQUEST, f"the message is {what}")
    value = cast("dict[str, Any]", value)
    if _is_deep(value):
        return _wrong(INVALID_REQUEST, f"the message is nested deeper than {DEEPEST}", value.get("id"))
    try:
        message = jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        return _wrong(INVALID_REQUEST, "the message is no JSON-RPC 2.0 request or notification", value.get("id"))
    if isinstance(message, JSONRPCNotification) and "id" in value:  # or else nobody would answer it
        return _wrong(INVALID_REQUEST, "the id of a request is text or a whole number")
    return message


def too_much(request_id: int | str) -> JSONRPCMessage:
    """The answer to a request for which there is no room beside those that wait already."""
    return _wrong(INTERNAL_ERROR, "too much is waiting for an answer already; send this again later", request_id)


def is_refusal(message: JSONRPCMessage) -> bool:
    """Whether this is our answer to something that is no message."""
    return isinstance(message, _Refusal)


class _Refusal(JSONRPCError):
    """An answer to something that is no message."""


def _wrong(code: int, message: str, request_id: object = None) -> _Refusal:
    known = request_id if isinstance(request_id, int | str) and not isinstance(request_id, bool) else None
    return _Refusal(jsonrpc="2.0", id=known, error=types.ErrorData(code=code, message=message))


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _id_in(line: TooLong) -> object:
    """The id of a message that is too long to be read: it stands before the parameters, or after them."""
    found = _ID_AT_THE_BEGINNING.search(line.head) or _ID_AT_THE_END.search(line.tail)
    try:
        return None if found is None else json.loads(found[1])
    except ValueError:
        return None


def _is_deep(value: object) -> bool:
    level: list[object] = [value]
    for _ in range(DEEPEST):
        below: list[object] = []
        for one in level:
            if isinstance(one, dict):
                below += cast("dict[str, object]", one).values()
            elif isinstance(one, list):
                below += cast("list[object]", one)
        level = [one for one in below if isinstance(one, dict | list)]
        if not level:
            return False
    return True
