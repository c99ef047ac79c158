"""Say the same answer in each provider's protocol, whole or as a stream of events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Call = tuple[str, str, str]
"""Name, arguments as text, id."""


@dataclass(frozen=True)
class Say:
    """An answer. `stop` is why it ended where that is not for the usual reason: `length` or `refusal`."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: str = ""
    stop: str = ""
    usage: tuple[int, int, int] = (100, 10, 40)


@dataclass(frozen=True)
class Fail:
    """An answer with a status of failure."""

    status: int
    message: str = "no"
    headers: dict[str, str] = field(default_factory=dict[str, str])
    code: str = ""
    body: Any = None
    """The whole body, where it is not the provider's own form."""


@dataclass(frozen=True)
class Cut:
    """The connection breaks in the middle of an answer."""

    said: Say


@dataclass(frozen=True)
class Broken:
    """An answer that is not one of the protocol."""

    text: str = "{nonsense"


@dataclass(frozen=True)
class ErrorInStream:
    """The stream begins well, and then tells of an error."""

    said: Say
    message: str = "Overloaded"


@dataclass(frozen=True)
class Raw:
    """An answer as it stands: the body of a whole one, or what each event of a stream holds."""

    body: Any
    events: tuple[Any, ...]


@dataclass(frozen=True)
class Silent:
    """The server takes the request and says nothing until the test is over."""


def error_body(provider: str, fail: Fail) -> Any:
    if fail.body is not None:
        return fail.body
    if provider == "anthropic":
        return {"type": "error", "error": {"type": fail.code or "api_error", "message": fail.message}}
    return {"error": {"message": fail.message, "type": "server_error", "code": fail.code or None, "param": None}}


def whole(provider: str, said: Say) -> dict[str, Any]:
    return {"openai": _response, "openai-chat": _completion, "anthropic": _message}[provider](said)


def events(provider: str, said: Say) -> Iterator[tuple[str, Any]]:
    """The events of a stream, each with its name (empty where the protocol has none)."""
    return {"openai": _response_events, "openai-chat": _chunks, "anthropic": _message_events}[provider](said)


def error_event(provider: str, message: str) -> tuple[str, Any]:
    if provider == "anthropic":
        return "error", {"type": "error", "error": {"type": "overloaded_error", "message": message}}
    if provider == "openai":
        return "error", {
            "type": "error",
            "code": "server_error",
            "message": message,
            "param": None,
            "sequence_number": 9,
        }
    return "", {"error": {"message": message, "type": "server_error"}}


# -- OpenAI Responses


def _response(said: Say) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if said.thinking:
        output.append(
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": said.thinking}],
                "encrypted_content": f"sealed:{said.thinking}",
            }
        )
    if said.text:
        part = (
            {"type": "refusal", "refusal": said.text}
            if said.stop == "refusal"
            else {"type": "output_text", "text": said.text, "annotations": []}
        )
        output.append({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]})
    for number, (name, arguments, call_id) in enumerate(said.calls):
        output.append(
            {"type": "function_call", "id": f"fc_{number}", "call_id": call_id, "name": name, "arguments": arguments}
        )
    given, made, cached = said.usage
    is_cut = said.stop == "length"
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "incomplete" if is_cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "usage": {
            "input_tokens": given,
            "output_tokens": made,
            "total_tokens": given + made,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def _response_events(said: Say) -> Iterator[tuple[str, Any]]:
    response = _response(said)
    number = 0

    def event(kind: str, **facts: Any) -> tuple[str, Any]:
        nonlocal number
        number += 1
        return kind, {"type": kind, "sequence_number": number, **facts}

    yield event("response.created", response={**response, "output": [], "status": "in_progress", "usage": None})
    for index, item in enumerate(response["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        yield event("response.output_item.added", output_index=index, item=item)
        if item["type"] == "reasoning":
            yield event("response.reasoning_summary_text.delta", **place, summary_index=0, delta=said.thinking)
        elif item["type"] == "message":
            kind = "response.refusal.delta" if said.stop == "refusal" else "response.output_text.delta"
            for piece in _halves(said.text):
                yield event(kind, **place, content_index=0, delta=piece, logprobs=[])
        else:
            for piece in _halves(item["arguments"]):
                yield event("response.function_call_arguments.delta", **place, delta=piece)
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response.incomplete" if said.stop == "length" else "response.completed", response=response)


# -- OpenAI Chat Completions


def _completion(said: Say) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None}
    if said.stop == "refusal":
        message = {"role": "assistant", "content": None, "refusal": said.text}
    if said.thinking:
        message["reasoning_content"] = said.thinking
    if said.calls:
        message["tool_calls"] = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for name, arguments, call_id in said.calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": _finish(said), "logprobs": None}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": _chat_usage(said),
    }


def _finish(said: Say) -> str:
    return "length" if said.stop == "length" else "tool_calls" if said.calls else "stop"


def _chat_usage(said: Say) -> dict[str, Any]:
    given, made, cached = said.usage
    return {
        "prompt_tokens": given,
        "completion_tokens": made,
        "total_tokens": given + made,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def _chunks(said: Say) -> Iterator[tuple[str, Any]]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> tuple[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return "", {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}

    yield chunk({"role": "assistant", "content": ""})
    if said.thinking:
        for piece in _halves(said.thinking):
            yield chunk({"reasoning_content": piece})
    for piece in _halves(said.text):
        yield chunk({"refusal": piece} if said.stop == "refusal" else {"content": piece})
    for index, (name, arguments, call_id) in enumerate(said.calls):
        head = {"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
        yield chunk({"tool_calls": [head]})
        for piece in _halves(arguments):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, _finish(said))
    yield (
        "",
        {
            "id": "c",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [],
            "usage": _chat_usage(said),
        },
    )


# -- Anthropic Messages


def _message(said: Say) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if said.thinking:
        content.append({"type": "thinking", "thinking": said.thinking, "signature": f"sealed:{said.thinking}"})
    if said.text:
        content.append({"type": "text", "text": said.text})
    for name, arguments, call_id in said.calls:
        content.append({"type": "tool_use", "id": call_id, "name": name, "input": _object(arguments)})
    return {**_message_head(said), "content": content, "stop_reason": _stop(said)}


def _message_head(said: Say) -> dict[str, Any]:
    given, made, cached = said.usage
    usage = {
        "input_tokens": given - cached,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": 0,
        "output_tokens": made,
    }
    return {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None, "usage": usage}


def _stop(said: Say) -> str:
    if said.stop:
        return {"length": "max_tokens", "refusal": "refusal"}[said.stop]
    return "tool_use" if said.calls else "end_turn"


def _object(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def _message_events(said: Say) -> Iterator[tuple[str, Any]]:
    def event(kind: str, **facts: Any) -> tuple[str, Any]:
        return kind, {"type": kind, **facts}

    yield event("message_start", message={**_message_head(said), "content": [], "stop_reason": None})
    yield event("ping")
    index = 0
    if said.thinking:
        yield event("content_block_start", index=0, content_block={"type": "thinking", "thinking": "", "signature": ""})
        for piece in _halves(said.thinking):
            yield event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": piece})
        signature = {"type": "signature_delta", "signature": f"sealed:{said.thinking}"}
        yield event("content_block_delta", index=0, delta=signature)
        yield event("content_block_stop", index=0)
        index += 1
    if said.text:
        yield event("content_block_start", index=index, content_block={"type": "text", "text": ""})
        for piece in _halves(said.text):
            yield event("content_block_delta", index=index, delta={"type": "text_delta", "text": piece})
        yield event("content_block_stop", index=index)
        index += 1
    for name, arguments, call_id in said.calls:
        block = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
        yield event("content_block_start", index=index, content_block=block)
        for piece in _halves(arguments):
            yield event("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": piece})
        yield event("content_block_stop", index=index)
        index += 1
    delta = {"stop_reason": _stop(said), "stop_sequence": None}
    yield event("message_delta", delta=delta, usage={"output_tokens": said.usage[1]})
    yield event("message_stop")


def _halves(text: str) -> Iterator[str]:
    half = len(text) // 2
    yield from (piece for piece in (text[:half], text[half:]) if piece)
