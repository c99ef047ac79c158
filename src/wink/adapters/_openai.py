"""What both of OpenAI's protocols have in common: the client, the errors, the note of what a tool's reply is."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from wink.adapters._remote import ModelSettings, Problem
from wink.errors import ExtraMissing, ModelUnusable

_PASSING = frozenset({408, 409, 425, 429, 500})


@cache
def tls() -> Any:
    """What checks certificates, the same for all clients: reading those of the authorities takes longer than a request."""
    from httpx2 import create_ssl_context  # what the SDKs speak HTTP with

    return create_ssl_context()


def openai_client(provider: str, model: str, api_key: str | None, settings: ModelSettings) -> Any:
    """An `AsyncOpenAI` that makes no attempts of its own: the adapter does, and tells of them.

    A server of one's own may want no key, but the SDK does.
    """
    try:
        import openai
    except ImportError as error:
        raise ExtraMissing(f"the model {model!r}", "openai", "openai") from error
    for key in (api_key or None, None if settings.base_url is None else "none"):
        try:
            client = openai.AsyncOpenAI(
                api_key=key,
                base_url=settings.base_url,
                default_headers=dict(settings.headers),
                timeout=settings.timeout,
                max_retries=0,
                http_client=openai.DefaultAsyncHttpxClient(timeout=settings.timeout, verify=tls()),
            )
        except openai.OpenAIError:
            continue
        if client.api_key.strip():  # a variable may be set, and empty
            return client
    raise ModelUnusable(provider, "there is no key; set OPENAI_API_KEY")


def openai_problem(error: Exception) -> Problem | None:
    """What an exception of the SDK, or of the connection under it, comes to."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return Problem("the request timed out", is_passing=True)
    if isinstance(error, openai.APIConnectionError):
        return Problem(f"the connection failed: {type(error.__cause__ or error).__name__}", is_passing=True)
    if isinstance(error, openai.APIStatusError):
        return status_problem(error.status_code, error.message, error.response.headers, error.body)
    if isinstance(error, openai.APIError):  # an error that came in the middle of a stream
        return Problem(str(error.message), is_passing=True)
    return wire_problem(error)


def status_problem(status: int, message: str, headers: Mapping[str, str], body: object) -> Problem:
    """What an answer with a status of failure comes to."""
    passing = status in _PASSING or (status > 500 and status not in (501, 505))
    passing = {"true": True, "false": False}.get(headers.get("x-should-retry", ""), passing)  # both providers' own word
    if status == 429 and "insufficient_quota" in str(body):
        passing = False
    after = retry_after(headers) if passing else None
    said = " ".join((said_in(body) or message.removeprefix(f"Error code: {status} - ")).split())
    return Problem(f"{status}: {said}", passing, after, is_refused=status in (400, 422))


def said_in(body: object) -> str:
    """The message in the body of a failure, which SDKs hand over with or without what is around it."""
    if not isinstance(body, dict):
        return ""
    failure = cast("dict[str, Any]", body)
    inner: Any = failure.get("error", failure)
    return str(cast("dict[str, Any]", inner).get("message") or "") if isinstance(inner, dict) else str(inner or "")


def retry_after(headers: Mapping[str, str]) -> float | None:
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


def wire_problem(error: Exception) -> Problem | None:
    """A connection that broke, or a stream that is not one; None for anything else."""
    import json

    names = {cls.__name__ for cls in type(error).__mro__}
    if names & {"TransportError", "HTTPError", "StreamError"}:
        return Problem(f"the connection broke: {type(error).__name__}", is_passing=True)
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
        return Problem("the answer was damaged", is_passing=True)
    return None
