"""Google's generateContent API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.agents.script import Answer, Api, Offered, Result


def offered(request: Mapping[str, Any]) -> list[Offered]:
    """The tools of a request."""
    return [
        Offered(function["name"])
        for tool in request.get("tools") or ()
        for function in tool.get("functionDeclarations", ())
    ]


def whole(answer: Answer, request: Mapping[str, Any]) -> dict[str, Any]:
    """An answer that is not streamed."""
    del request
    parts: list[dict[str, Any]] = [{"text": answer.text}] if answer.text else []
    parts += [
        {"functionCall": {"id": call.id, "name": call.tool.name, "args": dict(call.arguments)}} for call in answer.calls
    ]
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
        "modelVersion": "scripted",
    }


def events(response: dict[str, Any]) -> Iterator[str]:
    """The same answer as server-sent events: one."""
    yield f"data: {json.dumps(response)}\n\n"


def results(request: Mapping[str, Any]) -> Iterator[Result]:
    """Every tool result in a request."""
    for content in request.get("contents", ()):
        for part in content.get("parts", ()):
            if "functionResponse" in part:
                told = part["functionResponse"]
                response = told["response"]
                yield Result(told["id"], str(response.get("output", response.get("error"))), "error" in response)


GEMINI = Api("GenerateContent", offered, whole, events, results, lambda path, request: "stream" in path)
