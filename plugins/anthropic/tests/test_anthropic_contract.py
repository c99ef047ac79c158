"""The adapter of Anthropic's protocol keeps what every adapter promises."""

from __future__ import annotations

from typing import Any

from plugins.models.tests.promised import Remote


class TestAnthropic(Remote):
    """Blocks in the user's messages."""

    provider = "anthropic"

    def answers(self, body: Any) -> list[tuple[str, str]]:
        blocks = [
            one for message in body["messages"] if isinstance(message["content"], list) for one in message["content"]
        ]
        return [(one["tool_use_id"], str(one["content"])) for one in blocks if one["type"] == "tool_result"]
