"""The adapters that wink itself offers to catalogs, and the settings that they take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wink.adapters._anthropic import AnthropicMessages
from wink.adapters._openai_chat import OpenAIChat
from wink.adapters._openai_responses import OpenAIResponses
from wink.adapters._remote import ModelSettings
from wink.plugins import hookimpl


def openai_responses(
    *, model: str, settings: ModelSettings | None = None, api_key: str | None = None, **changes: Any
) -> OpenAIResponses:
    """A model behind OpenAI's Responses protocol; `changes` are fields of the settings."""
    return OpenAIResponses(model, api_key=api_key, settings=changed(settings, changes))


def openai_chat(
    *, model: str, settings: ModelSettings | None = None, api_key: str | None = None, **changes: Any
) -> OpenAIChat:
    """A model behind the Chat Completions protocol, OpenAI's or a compatible server's; `changes` are fields of the settings."""
    return OpenAIChat(model, api_key=api_key, settings=changed(settings, changes))


def anthropic_messages(
    *, model: str, settings: ModelSettings | None = None, api_key: str | None = None, **changes: Any
) -> AnthropicMessages:
    """A model behind Anthropic's Messages protocol; `changes` are fields of the settings."""
    return AnthropicMessages(model, api_key=api_key, settings=changed(settings, changes))


def changed(settings: ModelSettings | None, changes: Mapping[str, Any]) -> ModelSettings:
    """The settings with some fields changed; one that is None stays as it is."""
    return replace(settings or ModelSettings(), **{name: value for name, value in changes.items() if value is not None})


class _Settings:
    """Says what `[tool.wink.plugins.openai]` and `[tool.wink.plugins.anthropic]` may hold."""

    @hookimpl
    def wink_settings(self) -> type[ModelSettings]:
        """Where the models are and how they are asked; keys come from the environment alone."""
        return ModelSettings


OPENAI, ANTHROPIC = _Settings(), _Settings()
