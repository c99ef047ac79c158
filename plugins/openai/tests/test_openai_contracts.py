"""The adapters of OpenAI's protocols keep what every adapter promises."""

from __future__ import annotations

from typing import Any

from plugins.models.tests.promised import Remote


class TestOpenAIResponses(Remote):
    """Items of a response."""

    provider = "openai"

    def answers(self, body: Any) -> list[tuple[str, str]]:
        return [
            (item["call_id"], str(item["output"]))
            for item in body["input"]
            if item.get("type") == "function_call_output"
        ]


class TestOpenAIChat(Remote):
    """Messages of the role `tool`."""

    provider = "openai-chat"

    def answers(self, body: Any) -> list[tuple[str, str]]:
        return [(one["tool_call_id"], str(one["content"])) for one in body["messages"] if one["role"] == "tool"]
