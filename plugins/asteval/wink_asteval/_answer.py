"""Read what an evaluating process says, trusting none of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from wink_asteval._params import EvalFileWrite, WriteMode


class Unreadable(Exception):
    """The answer is not one that our own code gives: the script got the better of the interpreter."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a script; `error` is its traceback and `kind` the error's type, `""` where it was not even run."""

    value: str | None = None
    stdout: str = ""
    error: str | None = None
    kind: str | None = None
    globals: dict[str, Any] = field(default_factory=dict[str, Any])
    writes: tuple[EvalFileWrite, ...] = ()


def read_answer(text: bytes) -> Answer:
    """The answer; raises `Unreadable`.

    >>> read_answer(b'{"value": "3", "stdout": "", "error": null, "kind": null, "globals": {}, "writes": []}').value
    '3'
    >>> read_answer(b'{"value": 3}')
    Traceback (most recent call last):
    ...
    wink_asteval._answer.Unreadable: {"value": 3}
    """
    try:
        found = json.loads(text.decode("ascii"))
        answer = Answer(
            value=_maybe_text(found["value"]),
            stdout=_text(found["stdout"]),
            error=_maybe_text(found["error"]),
            kind=_maybe_text(found["kind"]),
            globals=_mapping(found["globals"]),
            writes=tuple(_write(*one) for one in found["writes"]),
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        raise Unreadable(text[:200].decode("ascii", "replace")) from None
    return answer


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _maybe_text(value: object) -> str | None:
    return None if value is None else _text(value)


def _mapping(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    json.dumps(value, allow_nan=False)  # what `json` reads and nobody else does
    return cast("dict[str, Any]", value)


def _write(path: object, content: object, mode: object) -> EvalFileWrite:
    if mode not in get_args(WriteMode):
        raise ValueError
    return EvalFileWrite(_text(path), _text(content), cast("WriteMode", mode))
