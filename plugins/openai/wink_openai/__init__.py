"""Models behind OpenAI's protocols, at OpenAI or at any server that speaks them; needs the official SDK, the extra `wink[openai]`."""

from __future__ import annotations

from typing import Any

from wink_models import ModelSettings
from wink_openai._chat import OpenAIChat
from wink_openai._responses import OpenAIResponses

__all__ = ["OpenAIChat", "OpenAIResponses", "openai_chat", "openai_responses"]


def openai_responses(
    *, model: str, settings: ModelSettings | None = None, api_key: str | None = None, **changes: Any
) -> OpenAIResponses:
    """A model behind OpenAI's Responses protocol; `changes` are fields of the settings."""
    return OpenAIResponses(model, api_key=api_key, settings=(settings or ModelSettings()).changed(**changes))


def openai_chat(
    *, model: str, settings: ModelSettings | None = None, api_key: str | None = None, **changes: Any
) -> OpenAIChat:
    """A model behind the Chat Completions protocol, OpenAI's or a compatible server's; `changes` are fields of the settings."""
    return OpenAIChat(model, api_key=api_key, settings=(settings or ModelSettings()).changed(**changes))
