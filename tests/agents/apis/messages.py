"""Anthropic's Messages API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.agents.script import Answer, Api, Offered, Result, texts


def offered(request: Mapping[str, Any]) -> list[Offered]:
    """The tools of a request."""
    return [Offered(tool["name"]) for tool in request.get("tools") or ()]


def whole(answer: Answer, request: Mapping[str, Any]) -> dict[str, Any]:
    """An answer that is not streamed."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text else []
    blocks += [
        {"type": "tool_use", "id": call.id, "name": call.tool.name, "input": dict(call.arguments)}
        for call in answer.calls
    ]
    return {
        "id": f"msg_{len(request.get('messages', ())):08}",
        "type": "message",
        "role": "assistant",
        "model": request.get("model", "scripted"),
        "content": blocks,
        "stop_reason": "tool_use" if answer.calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def events(message: dict[str, Any]) -> Iterator[str]:
    """The same answer as server-sent events."""
    yield event("message_start", message={**message, "content": [], "stop_reason": None})
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            yield event("content_block_start", index=index, content_block={"type": "text", "text": ""})
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            yield event("content_block_start", index=index, content_block={**block, "input": {}})
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=delta, usage={"output_tokens": 1})
    yield event("message_stop")


def results(request: Mapping[str, Any]) -> Iterator[Result]:
    """Every tool result in a request."""
    for message in request.get("messages", ()):
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if block.get("type") == "tool_result":
                yield Result(block["tool_use_id"], texts(block.get("content")), bool(block.get("is_error")))


def event(kind: str, **values: object) -> str:
    """One server-sent event that has its kind in both places."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **values})}\n\n"


MESSAGES = Api("/messages", offered, whole, events, results)
