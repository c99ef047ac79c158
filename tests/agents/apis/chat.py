"""OpenAI's Chat Completions API, as most other servers and agents speak it, too."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.agents.script import Answer, Api, Offered, Result, texts


def offered(request: Mapping[str, Any]) -> list[Offered]:
    """The tools of a request."""
    return [Offered(tool["function"]["name"]) for tool in request.get("tools") or ()]


def whole(answer: Answer, request: Mapping[str, Any]) -> dict[str, Any]:
    """An answer that is not streamed."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.calls:
        message["tool_calls"] = [
            {
                "index": at,
                "id": call.id,
                "type": "function",
                "function": {"name": call.tool.name, "arguments": json.dumps(dict(call.arguments))},
            }
            for at, call in enumerate(answer.calls)
        ]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": request.get("model", "scripted"),
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if answer.calls else "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def events(completion: dict[str, Any]) -> Iterator[str]:
    """The same answer as server-sent events."""
    choice = completion["choices"][0]
    for delta, reason in ((choice["message"], None), ({}, choice["finish_reason"])):
        chunk = {**completion, "object": "chat.completion.chunk"}
        chunk["choices"] = [{"index": 0, "delta": delta, "finish_reason": reason}]
        if reason is None:
            del chunk["usage"]
        yield f"data: {json.dumps(chunk)}\n\n"
    yield "data: [DONE]\n\n"


def results(request: Mapping[str, Any]) -> Iterator[Result]:
    """Every tool result in a request; the API has no mark for a failure."""
    for message in request.get("messages", ()):
        if message.get("role") == "tool":
            yield Result(message["tool_call_id"], texts(message["content"]))


CHAT = Api("/chat/completions", offered, whole, events, results)
