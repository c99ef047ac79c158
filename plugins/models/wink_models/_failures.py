"""What the failure of a request comes to, in plain words: of an SDK, of an answer's status, of the connection."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from wink_models._remote import Problem

_PASSING = frozenset({408, 409, 425, 429, 500})


@cache
def ssl_context() -> Any:
    """What checks certificates, an `ssl.SSLContext` that all clients share: to read those of the authorities takes longer than a request.

    It is httpx2's, which the SDKs of the providers bring; raises `ImportError` without it.
    """
    from httpx2 import create_ssl_context

    return create_ssl_context()


def sdk_problem(error: Exception, sdk: Any) -> Problem | None:
    """What an exception of an SDK, or of the connection under it, comes to; None for one that is of neither's making.

    `sdk` is a module whose errors are named as those of `openai` and `anthropic` are: `APITimeoutError`, `APIConnectionError`,
    `APIStatusError` with the `status_code` and the `body` of an answer, and `APIError` above them.
    """
    raised: Any = error
    if isinstance(raised, sdk.APITimeoutError):
        return Problem("the request timed out", is_passing=True)
    if isinstance(raised, sdk.APIConnectionError):
        return Problem(f"the connection failed: {type(raised.__cause__ or error).__name__}", is_passing=True)
    if isinstance(raised, sdk.APIStatusError):
        if raised.status_code < 400:  # an error that came in the middle of a stream
            return Problem(said_in(raised.body) or raised.message, is_passing=True)
        return _status_problem(raised.status_code, raised.message, raised.response.headers, raised.body)
    if isinstance(raised, sdk.APIError):  # of a stream, too
        return Problem(str(raised.message), is_passing=True)
    return _wire_problem(error)


def _status_problem(status: int, message: str, headers: Mapping[str, str], body: object) -> Problem:
    """What an answer with a status of failure comes to."""
    passing = status in _PASSING or (status > 500 and status not in (501, 505))
    passing = {"true": True, "false": False}.get(headers.get("x-should-retry", ""), passing)  # both providers' own word
    if status == 429 and "insufficient_quota" in str(body):
        passing = False
    after = _retry_after(headers) if passing else None
    said = " ".join((said_in(body) or message.removeprefix(f"Error code: {status} - ")).split())
    return Problem(f"{status}: {said}", passing, after, is_refused=status in (400, 422))


def said_in(body: object) -> str:
    """The message in the body of a failure and the place it speaks of; SDKs hand over the body with or without what is around.

    Servers that are made with FastAPI (vLLM is) have a `detail`: a text, or a list of places and messages.

    >>> said_in({"error": {"message": "Unknown parameter.", "param": "tools[0].strict"}})
    'Unknown parameter. (tools[0].strict)'
    >>> said_in({"detail": [{"loc": ["body", "tools", 0, "strict"], "msg": "Extra inputs are not permitted", "input": True}]})
    'body.tools.0.strict: Extra inputs are not permitted'
    """
    if not isinstance(body, dict):
        return ""
    failure = cast("dict[str, Any]", body)
    inner: Any = failure.get("error", failure.get("detail", failure))
    if isinstance(inner, list):
        return "; ".join(map(_placed, cast("list[object]", inner)))
    if not isinstance(inner, dict):
        return str(inner or "")
    message, place = (cast("dict[str, Any]", inner).get(key) for key in ("message", "param"))
    said = str(message or "")
    return f"{said} ({place})" if isinstance(place, str) and place and place not in said else said


def _placed(problem: object) -> str:
    if not isinstance(problem, dict):
        return str(problem)
    found = cast("dict[str, Any]", problem)
    place = found.get("loc")
    where = ".".join(map(str, cast("list[object]", place))) if isinstance(place, list) else ""
    return f"{where}: {found.get('msg', '')}"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """How many seconds a server wants to be left alone (RFC 9110, 10.2.3; `retry-after-ms` is OpenAI's)."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * scale
        except KeyError:
            continue
        except ValueError:
            seconds = _until(headers[name])
        if seconds is not None and 0 < seconds < float("inf"):
            return seconds
    return None


def _until(date: str) -> float | None:
    from email.utils import parsedate_to_datetime

    from wink.limits import utc_now

    try:
        return max(0.0, (parsedate_to_datetime(date) - utc_now()).total_seconds())
    except (TypeError, ValueError):
        return None


def _wire_problem(error: Exception) -> Problem | None:
    """A connection that broke, or a stream that is not one; None for anything else."""
    import json

    names = {cls.__name__ for cls in type(error).__mro__}
    if names & {"TransportError", "HTTPError", "StreamError"}:
        return Problem(f"the connection broke: {type(error).__name__}", is_passing=True)
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
        return Problem("the answer was damaged", is_passing=True)
    return None
