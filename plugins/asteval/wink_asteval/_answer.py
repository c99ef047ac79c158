"""Read what an evaluating process says, trusting none of it."""

from __future__ import annotations

import json
from typing import Any, cast, get_args

from wink.dataclass import dataclass, field
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


def read_answer(text: bytes, limit: int) -> Answer:
    """The answer, of which the model may be shown `limit` characters of each part; raises `Unreadable`.

    >>> read_answer(b'{"value": "3", "stdout": "", "error": null, "kind": null, "globals": {}, "writes": []}', 9).value
    '3'
    >>> read_answer(b'{"value": 3}', 9)
    Traceback (most recent call last):
    ...
    wink_asteval._answer.Unreadable: {"value": 3}
    """
    try:
        found = json.loads(text.decode("ascii"))
        answer = Answer(
            value=_maybe_shown(found["value"]),
            stdout=_shown(found["stdout"]),
            error=_maybe_shown(found["error"]),
            kind=_maybe_shown(found["kind"]),
            globals=_mapping(found["globals"]),
            writes=tuple(_write(*one) for one in found["writes"]),
        )
        shown = (answer.value, answer.stdout, answer.error, answer.kind, json.dumps(answer.globals, allow_nan=False))
        # What is left out is named, and lone surrogates are written as \udXXX: both make a text longer.
        if any(len(one or "") > 8 * limit + 1000 for one in shown):
            raise ValueError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise Unreadable(text[:200].decode("ascii", "replace")) from None
    return answer


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _shown(value: object) -> str:
    text = _text(value)
    text.encode()  # raises for a lone surrogate, which no request to a model can carry
    return text


def _maybe_shown(value: object) -> str | None:
    return None if value is None else _shown(value)


def _mapping(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    json.dumps(value, ensure_ascii=False).encode()
    return cast("dict[str, Any]", value)


def _write(path: object, content: object, mode: object) -> EvalFileWrite:
    if mode not in get_args(WriteMode):
        raise ValueError
    return EvalFileWrite(_text(path), _text(content), cast("WriteMode", mode))
