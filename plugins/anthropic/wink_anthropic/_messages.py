"""Anthropic's Messages protocol."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, ClassVar, Final, cast

import wink_models as remote
from wink.adapters import Conversation, Exchange, ModelTurn, compile_tools
from wink.errors import ExtraMissing, ModelUnusable
from wink.limits import TokenUsage
from wink.runtime import ToolCall
from wink.tools import Image

MAX_TOKENS: Final = 16_000
"""The limit of one answer, in tokens, where the settings have none: the protocol demands one."""


class AnthropicMessages(remote.RemoteAdapter):
    """A model behind Anthropic's Messages protocol.

    Blocks of thinking are returned unchanged, as the protocol demands. The prompt and the conversation are marked for the
    provider's cache.
    """

    provider: ClassVar[str] = "anthropic"
    optional: ClassVar[Mapping[str, str]] = {remote.IMAGES: "image"}

    def client(self) -> Any:
        """An `anthropic.AsyncAnthropic` that makes no attempts of its own."""
        try:
            import anthropic
        except ImportError as error:
            raise ExtraMissing(f"the model {self.model!r}", "anthropic", "anthropic") from error
        try:
            client = anthropic.AsyncAnthropic(
                api_key=self.api_key or os.environ.get("ANTHROPIC_API_KEY") or None,
                base_url=self.settings.base_url,
                default_headers=dict(self.settings.headers),
                timeout=self.settings.timeout,
                max_retries=0,
                http_client=anthropic.DefaultAsyncHttpxClient(
                    timeout=self.settings.timeout, verify=remote.ssl_context()
                ),
            )
        except anthropic.AnthropicError as error:
            raise ModelUnusable("anthropic", f"it cannot be set up: {error}") from error
        if not client.api_key and not client.auth_token and "x-api-key" not in map(str.lower, self.settings.headers):
            raise ModelUnusable("anthropic", "there is no key; set ANTHROPIC_API_KEY")
        return client

    def problem(self, error: Exception) -> remote.Problem | None:
        """What an exception of the SDK comes to."""
        import anthropic

        return remote.sdk_problem(error, anthropic)

    def request(self, conversation: Conversation) -> dict[str, Any]:
        """The body of `POST /v1/messages`."""
        tools, _ = compile_tools(conversation.prompt, "anthropic", without=self.refused)
        takes = frozenset({remote.IMAGES}) - self.left_out
        messages: list[dict[str, Any]] = [
            {"role": "user", "content": _content(remote.BEGIN, remote.shown_first(conversation, takes))}
        ]
        for exchange in conversation.exchanges:
            said = _said(exchange.turn)
            if said:
                messages.append({"role": "assistant", "content": said})
            answered = _answered(exchange, takes)
            if messages[-1]["role"] == "user":
                messages[-1]["content"] += answered
            else:
                messages.append({"role": "user", "content": answered})
        messages[-1]["content"][-1] = {**messages[-1]["content"][-1], "cache_control": {"type": "ephemeral"}}
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": self.settings.max_output_tokens or MAX_TOKENS,
            "messages": messages,
        }
        if conversation.prompt.text.strip():
            body["system"] = [{**_text(conversation.prompt.text), "cache_control": {"type": "ephemeral"}}]
        if tools:
            body["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}
                for tool in tools
            ]
        return body

    async def answer(self, client: Any, request: dict[str, Any], tell: Callable[[str, str], object]) -> ModelTurn:
        """Send the request, and read the answer whole or in pieces."""
        if not self.settings.stream:
            message = (await client.messages.create(**request, extra_body=self.more)).model_dump(
                mode="json", exclude_unset=True, warnings=False
            )
            return _turn(message.get("content") or [], message.get("stop_reason"), message.get("usage") or {})
        stream = await client.messages.create(**request, extra_body=self.more, stream=True)
        blocks = _Blocks(tell)
        async with stream, remote.reading(stream):
            async for event in stream:
                blocks.take(event.model_dump(mode="json", exclude_unset=True, warnings=False))
        return blocks.turn()


class _Blocks:
    """Puts the events of a streamed answer together."""

    def __init__(self, tell: Callable[[str, str], object]) -> None:
        self._tell = tell
        self._blocks: dict[int, dict[str, Any]] = {}
        self._arguments: dict[int, list[str]] = {}
        self._usage: dict[str, Any] = {}
        self._stop: str | None = None
        self._is_complete = False

    def take(self, event: dict[str, Any]) -> None:
        kind = event.get("type")
        if kind == "message_start":
            self._usage.update(event.get("message", {}).get("usage") or {})
        elif kind == "content_block_start":
            self._blocks[event["index"]] = dict(event["content_block"])
        elif kind == "content_block_delta":
            self._add(event["index"], event["delta"])
        elif kind == "message_delta":
            self._stop = event.get("delta", {}).get("stop_reason") or self._stop
            usage = cast("dict[str, Any]", event.get("usage") or {})
            self._usage.update((name, count) for name, count in usage.items() if count is not None)
        elif kind == "message_stop":
            self._is_complete = True
        elif kind == "error":
            raise remote.AnswerCut(remote.said_in(event) or "an error without a message")

    def _add(self, index: int, delta: dict[str, Any]) -> None:
        block = self._blocks.setdefault(index, {"type": "text", "text": ""})
        kind = delta.get("type")
        if kind == "text_delta":
            block["text"] = block.get("text", "") + delta["text"]
            self._tell("text", delta["text"])
        elif kind == "thinking_delta":
            block["thinking"] = block.get("thinking", "") + delta["thinking"]
            self._tell("thinking", delta["thinking"])
        elif kind == "signature_delta":
            block["signature"] = block.get("signature", "") + delta["signature"]
        elif kind == "input_json_delta":
            self._arguments.setdefault(index, []).append(delta["partial_json"])
            self._tell("arguments", delta["partial_json"])

    def turn(self) -> ModelTurn:
        if not self._is_complete or self._stop is None:
            raise remote.AnswerCut("the stream ended before the answer did")
        for index, pieces in self._arguments.items():
            self._blocks[index]["input"] = "".join(pieces)
        return _turn([self._blocks[index] for index in sorted(self._blocks)], self._stop, self._usage)


def _turn(blocks: list[dict[str, Any]], stop: str | None, usage: dict[str, Any]) -> ModelTurn:
    """The answer in wink's words; the input of a call is an object, or text where it came in pieces."""
    text = "".join(str(block.get("text") or "") for block in blocks if block.get("type") == "text")
    spent = _usage(usage)
    thoughts = [block for block in blocks if block.get("type") in ("thinking", "redacted_thinking")]
    thinking = "\n\n".join(str(block.get("thinking") or "") for block in thoughts if block.get("thinking"))
    if stop in ("max_tokens", "model_context_window_exceeded"):
        return ModelTurn(text, (), spent, cut_off=True, thinking=thinking)
    if stop == "refusal":
        return ModelTurn(text or "The model declined to answer.", (), spent)
    calls = tuple(
        ToolCall(str(block.get("name") or ""), _argument_text(block.get("input")), str(block.get("id") or ""))
        for block in blocks
        if block.get("type") == "tool_use"
    )
    kept = {"anthropic": json.loads(json.dumps(blocks))} if thoughts else None
    return ModelTurn(text, calls, spent, kept, thinking=thinking)


def _argument_text(given: Any) -> str:
    return given or "{}" if isinstance(given, str) else json.dumps(given if given is not None else {})


def _said(turn: ModelTurn) -> list[dict[str, Any]]:
    """The content of the assistant's message: blocks with thinking stay in their order, unchanged."""
    calls = list(turn.calls)
    kept = remote.kept_items(turn, "anthropic", "tool_use")
    if kept is not None:
        blocks: list[dict[str, Any]] = []
        for block in kept:
            if block.get("type") == "tool_use":
                blocks.append(_tool_use(calls.pop(0)))  # the ids are those of the run, which are unique
            elif block.get("type") != "text" or str(block.get("text") or "").strip():
                blocks.append(block)
        return remote.without_tail(blocks, "thinking", "redacted_thinking")
    said = [_text(turn.text)] if turn.text.strip() else []
    return [*said, *map(_tool_use, calls)]


def _tool_use(call: ToolCall) -> dict[str, Any]:
    given = remote.argument_object(call.arguments)
    return {"type": "tool_use", "id": remote.sent_id(call.call_id), "name": remote.sent_name(call), "input": given}


def _answered(exchange: Exchange, takes: AbstractSet[str]) -> list[dict[str, Any]]:
    """The results come first in the user's message, whatever else it says: the protocol demands it."""
    content: list[dict[str, Any]] = [
        {
            "type": "tool_result",
            "tool_use_id": remote.sent_id(reply.call_id),
            "content": _content(reply.text, remote.shown_with(reply, takes)),
            **({} if reply.success else {"is_error": True}),
        }
        for reply in exchange.replies
    ]
    if exchange.note.strip() or not content:
        content.append(_text(exchange.note if exchange.note.strip() else "Go on."))
    return content


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _content(text: str, shown: remote.Shown) -> list[dict[str, Any]]:
    return [_text(shown.text(text)), *(_image(*image) for image in shown.images)]


def _image(image: Image, data: str) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": data}}


def _usage(usage: dict[str, Any]) -> TokenUsage:
    def count(name: str) -> int:
        value = usage.get(name)
        return value if isinstance(value, int) and value > 0 else 0

    cached, written = count("cache_read_input_tokens"), count("cache_creation_input_tokens")
    # The provider counts what was in the cache apart; a budget means all that was sent.
    return TokenUsage(count("input_tokens") + cached + written, count("output_tokens"), cached)
