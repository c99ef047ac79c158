"""OpenAI's Responses API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.agents.apis.messages import event
from tests.agents.script import Answer, Api, Offered, Result, texts


def offered(request: Mapping[str, Any]) -> list[Offered]:
    """The tools of a request; some lie in a namespace."""
    found: list[Offered] = []
    for tool in request.get("tools") or ():
        if tool["type"] == "namespace":
            found += [Offered(inner["name"], tool["name"]) for inner in tool["tools"]]
        else:
            found.append(Offered(tool.get("name", tool["type"])))
    return found


def whole(answer: Answer, request: Mapping[str, Any]) -> dict[str, Any]:
    """An answer that is not streamed."""
    items: list[dict[str, Any]] = []
    if answer.text:
        part = {"type": "output_text", "text": answer.text, "annotations": []}
        items.append({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]})
    for call in answer.calls:
        item = {"type": "function_call", "id": f"fc_{call.id}", "call_id": call.id, "name": call.tool.name}
        item |= {"arguments": json.dumps(dict(call.arguments)), "status": "completed"}
        items.append(item | ({"namespace": call.tool.namespace} if call.tool.namespace else {}))
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": request.get("model", "scripted"),
        "output": items,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "usage": {
            "input_tokens": 1,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 1,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 2,
        },
    }


def events(response: dict[str, Any]) -> Iterator[str]:
    """The same answer as server-sent events."""
    yield event("response.created", response={**response, "output": [], "status": "in_progress"})
    for at, item in enumerate(response["output"]):
        yield event("response.output_item.added", output_index=at, item={**item, "status": "in_progress"})
        yield event("response.output_item.done", output_index=at, item=item)
    yield event("response.completed", response=response)


def results(request: Mapping[str, Any]) -> Iterator[Result]:
    """Every tool result in a request; the API has no mark for a failure."""
    given = request.get("input")
    for item in given if isinstance(given, list) else ():
        if item.get("type") == "function_call_output":
            yield Result(item["call_id"], texts(item["output"]))


RESPONSES = Api("/responses", offered, whole, events, results)
