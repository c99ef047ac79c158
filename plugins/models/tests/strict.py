"""Check a request as strictly as the provider does, or more so: each function gives what is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema

_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def problems(provider: str, body: dict[str, Any]) -> list[str]:
    return list({"openai": _responses, "openai-chat": _chat, "anthropic": _messages}[provider](body))


def _schema(schema: Any, *, root_combinators: bool) -> Iterator[str]:
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        yield f"invalid schema: {error.message}"
    if schema.get("type") != "object":
        yield "a tool's schema is of type object"
    if not root_combinators and {"anyOf", "oneOf", "allOf", "not", "enum"} & set(schema):
        yield "input_schema does not support oneOf, allOf, or anyOf at the top level"


def _strict(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if schema.get("type") == "object" or "properties" in schema:
            if schema.get("additionalProperties") is not False:
                yield "strict: additionalProperties must be false"
            if sorted(schema.get("required", [])) != sorted(schema.get("properties", {})):
                yield "strict: all properties are required"
        unknown = {"oneOf", "allOf", "not", "pattern", "minimum", "maximum", "default", "minLength", "format"} & set(
            schema
        )
        if unknown:
            yield f"strict: {unknown} not permitted"
        for value in [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), schema.get("items")]:
            yield from _strict(value)


def _names(names: list[str]) -> Iterator[str]:
    if len(set(names)) != len(names):
        yield "tool names must be unique"
    yield from (f"bad tool name {name!r}" for name in names if not _NAME.fullmatch(name))


def _called(call_id: str, name: str) -> Iterator[str]:
    if not _ID.fullmatch(call_id):
        yield f"bad id {call_id!r}"
    if not _NAME.fullmatch(name):
        yield f"the name {name!r} of a call does not match the pattern"


def _object(text: str) -> Iterator[str]:
    """Many compatible servers parse the arguments of earlier calls, and fail at what is no object."""
    try:
        if isinstance(json.loads(text, parse_constant=float), dict):
            return
    except ValueError:
        pass
    yield f"arguments are no object: {text!r}"


def _responses(body: dict[str, Any]) -> Iterator[str]:
    known = {
        "model",
        "instructions",
        "input",
        "store",
        "include",
        "tools",
        "stream",
        "max_output_tokens",
        "temperature",
        "top_k",
    }
    yield from (f"unknown parameter {name}" for name in set(body) - known)
    if body.get("tools") == []:
        yield "tools is empty"
    for tool in body.get("tools", []):
        yield from _schema(tool["parameters"], root_combinators=False)
        if tool.get("strict"):
            yield from _strict(tool["parameters"])
    yield from _names([tool["name"] for tool in body.get("tools", [])])
    open_calls: list[str] = []
    seen: set[str] = set()
    after_reasoning = False
    for item in body["input"]:
        kind = item.get("type", "message")
        if after_reasoning and (kind == "function_call_output" or item.get("role") == "user"):
            yield "a reasoning item was provided without its required following item"
        after_reasoning = kind == "reasoning"
        if kind == "function_call":
            if item["call_id"] in seen:
                yield f"duplicate call_id {item['call_id']}"
            seen.add(item["call_id"])
            open_calls.append(item["call_id"])
            yield from _called(item["call_id"], item["name"])
            yield from _object(item["arguments"])
            if not isinstance(item["arguments"], str):
                yield "arguments are text"
        elif kind == "function_call_output":
            if item["call_id"] not in open_calls:
                yield f"no tool call found for function call output {item['call_id']}"
            else:
                open_calls.remove(item["call_id"])
            if not item["output"] or (isinstance(item["output"], str) and not item["output"].strip()):
                yield "empty output"
        elif kind == "reasoning":
            if not item.get("encrypted_content"):
                yield "a reasoning item without its content"
        elif kind == "message":
            if item["role"] == "user" and open_calls:
                yield f"no tool output found for function call {open_calls}"
            if not all(part.get("text") or part.get("refusal") or part.get("image_url") for part in item["content"]):
                yield "empty text"
        else:
            yield f"unknown item {kind}"
    if after_reasoning:
        yield "a reasoning item was provided without its required following item"
    if open_calls:
        yield f"no tool output found for function call {open_calls}"


def _chat(body: dict[str, Any]) -> Iterator[str]:
    known = {
        "model",
        "messages",
        "tools",
        "stream",
        "stream_options",
        "max_tokens",
        "max_completion_tokens",
        "temperature",
        "top_k",
    }
    yield from (f"unknown parameter {name}" for name in set(body) - known)
    if body.get("tools") == []:
        yield "tools is empty"
    for tool in body.get("tools", []):
        yield from _schema(tool["function"]["parameters"], root_combinators=False)
        if tool["function"].get("strict"):
            yield from _strict(tool["function"]["parameters"])
    yield from _names([tool["function"]["name"] for tool in body.get("tools", [])])
    open_calls: list[str] = []
    seen: set[str] = set()
    for message in body["messages"]:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                yield "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
            else:
                open_calls.remove(message["tool_call_id"])
            if not message["content"].strip():
                yield "empty content"
            continue
        if open_calls:
            yield f"tool_call_ids did not have response messages: {open_calls}"
            open_calls = []
        if message["role"] == "assistant":
            if not message.get("content") and not message.get("tool_calls"):
                yield "an assistant's message needs content or tool_calls"
            if message.get("tool_calls") == []:
                yield "tool_calls is empty"
            for call in message.get("tool_calls", []):
                if not call["id"] or call["id"] in seen:
                    yield f"bad id {call['id']!r}"
                seen.add(call["id"])
                open_calls.append(call["id"])
                yield from _called(call["id"], call["function"]["name"])
                yield from _object(call["function"]["arguments"])
        elif not message["content"]:
            yield "empty content"
    if open_calls:
        yield f"tool_call_ids did not have response messages: {open_calls}"


def _messages(body: dict[str, Any]) -> Iterator[str]:
    known = {"model", "messages", "tools", "stream", "system", "max_tokens", "temperature", "top_k"}
    yield from (f"unknown parameter {name}" for name in set(body) - known)
    if not isinstance(body.get("max_tokens"), int):
        yield "max_tokens: field required"
    if any(not block["text"].strip() for block in body.get("system", [])):
        yield "system: text content blocks must be non-empty"
    for tool in body.get("tools", []):
        yield from _schema(tool["input_schema"], root_combinators=False)
    yield from _names([tool["name"] for tool in body.get("tools", [])])
    wanted: list[str] = []
    seen: set[str] = set()
    marks = 0
    for number, message in enumerate(body["messages"]):
        if message["role"] != ("user", "assistant")[number % 2]:
            yield "roles must alternate, beginning with user"
        kinds = [block["type"] for block in message["content"]]
        if not kinds:
            yield "empty content"
        marks += sum("cache_control" in block for block in message["content"])
        if any(block["type"] == "text" and not block["text"].strip() for block in message["content"]):
            yield "text content blocks must be non-empty"
        results = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        if message["role"] == "user":
            if sorted(results) != sorted(wanted):
                yield f"tool_use ids were found without tool_result blocks immediately after: {wanted} {results}"
            if kinds != sorted(kinds, key=lambda kind: kind != "tool_result"):
                yield "tool_result blocks must come first"
            wanted = []
        else:
            if kinds[-1:] == ["thinking"]:
                yield "the final block in an assistant message cannot be `thinking`"
            for block in message["content"]:
                if block["type"] == "tool_use":
                    yield from _called(block["id"], block["name"])
            wanted = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
            if seen & set(wanted) or len(set(wanted)) != len(wanted):
                yield "tool_use ids must be unique"
            seen |= set(wanted)
            yield from (
                "input should be a valid dictionary"
                for block in message["content"]
                if block["type"] == "tool_use" and not isinstance(block["input"], dict)
            )
            yield from (
                "thinking blocks cannot be modified"
                for block in message["content"]
                if block["type"] == "thinking" and block["signature"] != f"sealed:{block['thinking']}"
            )
            if "thinking" in kinds and kinds[0] != "thinking":
                yield "the first block must be thinking"
    if wanted:
        yield f"tool_use ids without tool_result: {wanted}"
    if marks + sum("cache_control" in block for block in body.get("system", [])) > 4:
        yield "a maximum of 4 blocks with cache_control may be provided"
