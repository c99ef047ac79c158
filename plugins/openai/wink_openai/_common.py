"""What both of OpenAI's protocols have in common: the client, what a request cost, the mark of a call that failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from wink.errors import ExtraMissing, ModelUnusable
from wink.limits import TokenUsage
from wink.runtime import ToolReply
from wink.tools import Image
from wink_models import Problem, RemoteAdapter, sdk_problem, ssl_context

STRICT: Final = "strict"

FAILED: Final = "Error: "
"""How the text of a failed call begins: the protocols have no other place to say so."""


class OpenAIModel(RemoteAdapter):
    """A model behind one of the two protocols."""

    def client(self) -> Any:
        """An `openai.AsyncOpenAI` that makes no attempts of its own: the adapter does, and tells of them.

        A server of one's own may want no key, but the SDK does.
        """
        try:
            import openai
        except ImportError as error:
            raise ExtraMissing(f"the model {self.model!r}", "openai", "openai") from error
        settings = self.settings
        for key in (self.api_key or None, None if settings.base_url is None else "none"):
            try:
                client = openai.AsyncOpenAI(
                    api_key=key,
                    base_url=settings.base_url,
                    default_headers=dict(settings.headers),
                    timeout=settings.timeout,
                    max_retries=0,
                    http_client=openai.DefaultAsyncHttpxClient(timeout=settings.timeout, verify=ssl_context()),
                )
            except openai.OpenAIError:
                continue
            if client.api_key.strip():  # a variable may be set, and empty
                return client
        raise ModelUnusable(self.provider, "there is no key; set OPENAI_API_KEY")

    def problem(self, error: Exception) -> Problem | None:
        """What an exception of the SDK comes to."""
        import openai

        return sdk_problem(error, openai)


def usage_of(reported: Any) -> TokenUsage:
    """What a request cost; whatever is missing or makes no sense counts as nothing."""
    if not isinstance(reported, Mapping):
        return TokenUsage()
    usage = cast("Mapping[str, Any]", reported)
    details: Any = usage.get("input_tokens_details") or usage.get("prompt_tokens_details") or {}
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else 0  # type: ignore[reportUnknownMemberType]
    return TokenUsage(
        _count(usage.get("input_tokens", usage.get("prompt_tokens"))),
        _count(usage.get("output_tokens", usage.get("completion_tokens"))),
        _count(cached),  # type: ignore[reportUnknownArgumentType]
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def told(reply: ToolReply) -> str:
    """The text of a reply, which says itself that the call failed."""
    return reply.text if reply.success or reply.text.startswith(FAILED) else FAILED + reply.text


def data_url(image: Image, data: str) -> str:
    """An image as a URL that holds it (RFC 2397)."""
    return f"data:{image.media_type};base64,{data}"
