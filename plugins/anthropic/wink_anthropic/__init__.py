"""Models behind Anthropic's protocol; needs the official SDK, the extra `wink[anthropic]`."""

from __future__ import annotations

from typing import Any

from wink_anthropic._messages import AnthropicMessages
from wink_models import ModelSettings

__all__ = ["AnthropicMessages", "anthropic_messages"]


def anthropic_messages(
    *, model: str, settings: ModelSettings | None = None, api_key: str | None = None, **changes: Any
) -> AnthropicMessages:
    """A model behind Anthropic's Messages protocol; `changes` are fields of the settings."""
    return AnthropicMessages(model, api_key=api_key, settings=(settings or ModelSettings()).changed(**changes))
