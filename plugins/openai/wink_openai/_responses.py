"""OpenAI's Responses protocol."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, ClassVar, cast

import wink_models as remote
from wink.adapters import Conversation, Exchange, ModelTurn, compile_tools
from wink.runtime import ToolCall
from wink.tools import Image
from wink_openai._common import STRICT, OpenAIModel, data_url, told, usage_of


class OpenAIResponses(OpenAIModel):
    """A model behind OpenAI's Responses protocol.

    Nothing is stored at the provider (`store: false`); items of reasoning come back encrypted and are returned unchanged, as
    the protocol demands. Tools are strict where that says the same as their schema.
    """

    provider: ClassVar[str] = "openai"
    optional: ClassVar[Mapping[str, str]] = {"include": "encrypted", remote.IMAGES: "image", STRICT: "strict"}

    def request(self, conversation: Conversation) -> dict[str, Any]:
        """The body of `POST /responses`."""
        tools, _ = compile_tools(conversation.prompt, "openai", without=self.refused)
        takes = frozenset({remote.IMAGES}) - self.left_out
        first = remote.shown_first(conversation, takes)
        items: list[dict[str, Any]] = [_user(first.text(remote.BEGIN))]
        items[0]["content"] += [_image(*image) for image in first.images]
        for exchange in conversation.exchanges:
            items += _items(exchange, takes)
        body: dict[str, Any] = {
            "model": self.model,
            "instructions": conversation.prompt.text,
            "input": items,
            "store": False,
        }
        if "include" not in self.left_out:  # models that do not reason may refuse it
            body["include"] = ["reasoning.encrypted_content"]
        if tools:
            body["tools"] = [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.schema),
                    **self._strict(tool.strict),
                }
                for tool in tools
            ]
        if self.settings.max_output_tokens is not None:
            body["max_output_tokens"] = self.settings.max_output_tokens
        return body

    def _strict(self, strict: bool) -> dict[str, Any]:
        """Whether the model is held to a tool's schema. The provider itself holds it to any that does not say no."""
        if STRICT not in self.left_out:
            return {STRICT: strict}
        return {STRICT: False} if self.settings.base_url is None else {}

    async def answer(self, client: Any, request: dict[str, Any], tell: Callable[[str, str], object]) -> ModelTurn:
        """Send the request, and read the answer whole or in pieces."""
        if not self.settings.stream:
            return _turn(
                (await client.responses.create(**request, extra_body=self.more)).model_dump(
                    mode="json", exclude_unset=True, warnings=False
                )
            )
        stream = await client.responses.create(**request, extra_body=self.more, stream=True)
        response: dict[str, Any] | None = None
        async with stream, remote.reading(stream):
            async for event in stream:
                kind = _DELTAS.get(event.type)
                if kind is not None:
                    tell(kind, event.delta)
                elif event.type in ("response.completed", "response.incomplete", "response.failed"):
                    response = event.response.model_dump(mode="json", exclude_unset=True, warnings=False)
                    break
                elif event.type == "error":
                    raise remote.AnswerCut(str(getattr(event, "message", "") or "an error without a message"))
        if response is None:
            raise remote.AnswerCut("the stream ended before the answer did")
        return _turn(response)


_DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "text",
    "response.reasoning_summary_text.delta": "thinking",
    "response.reasoning_text.delta": "thinking",
    "response.function_call_arguments.delta": "arguments",
}


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "input_text", "text": text}]}


def _image(image: Image, data: str) -> dict[str, Any]:
    return {"type": "input_image", "detail": "auto", "image_url": data_url(image, data)}


def _items(exchange: Exchange, takes: AbstractSet[str]) -> Iterable[dict[str, Any]]:
    """One turn, unchanged where it is known how it came, then the replies and the note."""
    yield from _said(exchange.turn)
    for reply in exchange.replies:
        shown = remote.shown_with(reply, takes)
        output: Any = shown.text(told(reply))
        if shown.images:
            output = [{"type": "input_text", "text": output}, *(_image(*image) for image in shown.images)]
        yield {"type": "function_call_output", "call_id": remote.sent_id(reply.call_id), "output": output}
    if exchange.note:
        yield _user(exchange.note)


def _said(turn: ModelTurn) -> Iterable[dict[str, Any]]:
    calls = list(turn.calls)
    kept = remote.kept_items(turn, "openai", "function_call")
    if kept is not None:
        for item in remote.without_tail(kept, "reasoning"):
            if item.get("type") != "function_call":
                # What is null was left out by the provider, which may refuse to be told so.
                yield {name: value for name, value in item.items() if value is not None}
            else:  # the ids are those of the run, which are unique
                yield {**item, **_call(calls.pop(0))}
        return
    if turn.text.strip():
        yield {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": turn.text}]}
    for call in calls:
        yield {"type": "function_call", **_call(call)}


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        "call_id": remote.sent_id(call.call_id),
        "name": remote.sent_name(call),
        "arguments": remote.object_text(call.arguments),
    }


def _turn(response: dict[str, Any]) -> ModelTurn:
    """The answer in wink's words; one that failed raises, one that was cut off keeps its text alone."""
    status, output = response.get("status"), cast("list[dict[str, Any]]", response.get("output") or [])
    if status == "failed" or response.get("error"):
        error = cast("dict[str, Any]", response.get("error") or {})
        raise remote.AnswerCut(str(error.get("message") or "the answer failed at the provider"))
    usage = usage_of(response.get("usage"))
    texts: list[str] = []
    calls: list[ToolCall] = []
    for item in output:
        if item.get("type") == "message":
            texts += [str(part.get("text") or part.get("refusal") or "") for part in item.get("content") or ()]
        elif item.get("type") == "function_call":
            calls.append(
                ToolCall(str(item.get("name", "")), str(item.get("arguments") or "{}"), str(item.get("call_id") or ""))
            )
    text = "".join(texts)
    reason = cast("dict[str, Any]", response.get("incomplete_details") or {}).get("reason")
    if status == "incomplete":
        if reason == "max_output_tokens":
            return ModelTurn(text, (), usage, cut_off=True)
        if not text.strip():
            return ModelTurn(f"The provider withheld the answer ({reason or 'no reason given'}).", (), usage)
        return ModelTurn(text, (), usage)
    kept = {"openai": json.loads(json.dumps(output))}
    return ModelTurn(text, tuple(calls), usage, kept, thinking=_thinking(output))


def _thinking(output: list[dict[str, Any]]) -> str:
    """What the model was thinking, or the summary that the provider gives of it, for people."""
    parts = (
        part
        for item in output
        if item.get("type") == "reasoning"
        for part in cast("list[dict[str, Any]]", item.get("content") or item.get("summary") or [])
    )
    return "\n\n".join(str(part["text"]) for part in parts if part.get("text"))
