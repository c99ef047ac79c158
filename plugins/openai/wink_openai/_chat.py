"""OpenAI's Chat Completions protocol, which many other servers speak as well."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, ClassVar, cast

import wink_models as remote
from wink.adapters import Conversation, Exchange, ModelTurn, compile_tools
from wink.runtime import ToolCall
from wink_openai._common import STRICT, OpenAIModel, data_url, told, usage_of

# Some servers send what the model thought in a field of their own, and refuse a conversation that comes without it.
_THOUGHTS = ("reasoning_content", "reasoning", "reasoning_details")

# Google's server signs its calls here, and refuses them without the signature.
_EXTRA = "extra_content"


class OpenAIChat(OpenAIModel):
    """A model behind the Chat Completions protocol: OpenAI's, or that of any compatible server with `base_url`."""

    provider: ClassVar[str] = "openai-chat"
    optional: ClassVar[Mapping[str, str]] = {
        "stream_options": "stream_options",
        remote.AUDIO: "audio",
        remote.IMAGES: "image",
        STRICT: "strict",
    }

    def request(self, conversation: Conversation) -> dict[str, Any]:
        """The body of `POST /chat/completions`."""
        tools, _ = compile_tools(conversation.prompt, "openai-chat", without=self.refused)
        takes = frozenset({remote.IMAGES, remote.AUDIO}) - self.left_out
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": conversation.prompt.text or remote.BEGIN},
            {"role": "user", "content": _said(remote.BEGIN, remote.shown_first(conversation, takes))},
        ]
        for exchange in conversation.exchanges:
            messages += _messages(exchange, takes)
        body: dict[str, Any] = {"model": self.model, "messages": messages}
        if tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": dict(tool.schema),
                        **({STRICT: True} if tool.strict and STRICT not in self.left_out else {}),
                    },
                }
                for tool in tools
            ]
        if self.settings.max_output_tokens is not None:
            # `max_tokens` is what compatible servers know, and OpenAI's newer models refuse.
            name = "max_completion_tokens" if self.settings.base_url is None else "max_tokens"
            body[name] = self.settings.max_output_tokens
        return body

    async def answer(self, client: Any, request: dict[str, Any], tell: Callable[[str, str], object]) -> ModelTurn:
        """Send the request, and read the answer whole or in pieces."""
        if not self.settings.stream:
            completed = await client.chat.completions.create(**request, extra_body=self.more)
            completion = completed.model_dump(mode="json", exclude_unset=True, warnings=False)
            choices = cast("list[dict[str, Any]]", completion.get("choices") or [])
            problem = _error_in(completion) or (_error_in(choices[0]) if choices else "the answer has no choices")
            if problem is not None:
                raise remote.AnswerCut(problem)
            return _turn(choices[0].get("message") or {}, choices[0].get("finish_reason"), completion.get("usage"))
        options: dict[str, Any] = {"stream_options": {"include_usage": True}}
        stream = await client.chat.completions.create(
            **request, extra_body=self.more, stream=True, **({} if "stream_options" in self.left_out else options)
        )
        parts = _Parts(tell)
        async with stream, remote.reading(stream):
            async for chunk in stream:
                parts.take(chunk.model_dump(mode="json", exclude_unset=True, warnings=False))
        return parts.turn()


class _Parts:
    """Puts the pieces of a streamed answer together."""

    def __init__(self, tell: Callable[[str, str], object]) -> None:
        self._tell = tell
        self._text: list[str] = []
        self._thoughts: dict[str, Any] = {}
        self._calls: list[dict[str, Any]] = []
        self._places: dict[int, int] = {}
        self._finish: str | None = None
        self._usage: Any = None

    def take(self, chunk: dict[str, Any]) -> None:
        if (problem := _error_in(chunk)) is not None:
            raise remote.AnswerCut(problem)
        self._usage = chunk.get("usage") or self._usage
        for choice in (chunk.get("choices") or ())[:1]:
            self._finish = choice.get("finish_reason") or self._finish
            delta = cast("dict[str, Any]", choice.get("delta") or {})
            text = _text(delta.get("content")) or delta.get("refusal") or ""
            self._text.append(text)
            self._tell("text", text)
            for name in _THOUGHTS:
                self._think(name, delta.get(name))
            for number, piece in enumerate(delta.get("tool_calls") or ()):
                self._call(piece, number)

    def _think(self, name: str, piece: Any) -> None:
        if isinstance(piece, str):
            self._thoughts[name] = self._thoughts.get(name, "") + piece
            self._tell("thinking", piece)
        elif isinstance(piece, list):
            self._thoughts.setdefault(name, []).extend(cast("list[Any]", piece))

    def _call(self, piece: dict[str, Any], number: int) -> None:
        told = cast("dict[str, Any]", piece.get("function") or {})
        given = told.get("arguments") or ""
        arguments = given if isinstance(given, str) else remote.argument_text(given)
        index = piece.get("index")
        place = self._places.setdefault(index if isinstance(index, int) else number, len(self._calls))
        if place < len(self._calls) and _is_another(self._calls[place], piece, told, arguments):
            # Some servers count every call as the first.
            place = self._places[index if isinstance(index, int) else number] = len(self._calls)
        if place == len(self._calls):
            self._calls.append({"id": "", "function": {"name": "", "arguments": ""}})
        call = self._calls[place]
        call["id"] = call["id"] or piece.get("id") or ""
        if piece.get(_EXTRA):
            call[_EXTRA] = piece[_EXTRA]
        function = call["function"]
        function["name"] = function["name"] or told.get("name") or ""
        function["arguments"] += arguments
        self._tell("arguments", arguments)

    def turn(self) -> ModelTurn:
        if self._finish is None:
            raise remote.AnswerCut("the stream ended before the answer did")
        message = {"content": "".join(self._text), "tool_calls": self._calls, **self._thoughts}
        return _turn(message, self._finish, self._usage)


def _is_another(call: dict[str, Any], piece: dict[str, Any], told: dict[str, Any], arguments: str) -> bool:
    """Whether a piece with the index of a call begins another one: it is named, and has an id of its own."""
    if not told.get("name") or not call["function"]["name"]:
        return False
    if call["id"] and piece.get("id"):
        return call["id"] != piece["id"]
    try:  # without ids: an object that is complete goes on in no other one
        return bool(arguments.strip()) and isinstance(json.loads(call["function"]["arguments"]), dict)
    except (ValueError, RecursionError):
        return False


def _messages(exchange: Exchange, takes: AbstractSet[str]) -> Iterable[dict[str, Any]]:
    turn = exchange.turn
    said: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    if turn.calls:
        # Between an answer and the next question the servers that gave the thoughts do not want them.
        thoughts = _thoughts(turn.provider_data)
        extra = cast("list[Any]", thoughts.pop(_EXTRA, None) or [])
        said |= thoughts
        said["tool_calls"] = [
            {
                "id": remote.sent_id(call.call_id),
                "type": "function",
                "function": {"name": remote.sent_name(call), "arguments": remote.object_text(call.arguments)},
            }
            for call in turn.calls
        ]
        for call, more in zip(said["tool_calls"], extra, strict=False):
            call |= {_EXTRA: more} if more else {}
    if turn.text or turn.calls:
        yield said
    attached = [remote.shown_with(reply, takes) for reply in exchange.replies]
    for reply, shown in zip(exchange.replies, attached, strict=True):
        yield {"role": "tool", "tool_call_id": remote.sent_id(reply.call_id), "content": shown.text(told(reply))}
    # The protocol takes text alone from tools; a user may show something, when all calls have been answered.
    for reply, shown in zip(exchange.replies, attached, strict=True):
        if shown.images or shown.sounds:
            words = f"What {reply.name} (call {reply.call_id}) shows:"
            yield {"role": "user", "content": _said(words, replace(shown, notes=()))}
    if exchange.note:
        yield {"role": "user", "content": exchange.note}


def _thoughts(given: object) -> dict[str, Any]:
    kept: object = cast("dict[str, Any]", given).get("openai-chat") if isinstance(given, dict) else None
    known = cast("dict[str, Any]", kept) if isinstance(kept, dict) else {}
    return {name: known[name] for name in (*_THOUGHTS, _EXTRA) if name in known}


def _said(text: str, shown: remote.Shown) -> Any:
    """What a user says; text alone stays text, which every compatible server takes."""
    parts: list[dict[str, Any]] = [
        {"type": "image_url", "image_url": {"url": data_url(*image)}} for image in shown.images
    ]
    parts += [{"type": "input_audio", "input_audio": {"data": data, "format": kind}} for kind, data in shown.sounds]
    text = shown.text(text)
    return [{"type": "text", "text": text}, *parts] if parts else text


def _turn(message: dict[str, Any], finish: str | None, usage: Any) -> ModelTurn:
    text = _text(message.get("content")) or str(message.get("refusal") or "")
    if finish == "error":
        raise remote.AnswerCut("the answer failed at the provider")
    if finish == "length":
        return ModelTurn(text, (), usage_of(usage), cut_off=True)
    if finish == "content_filter":
        return ModelTurn(text or "The provider withheld the answer (content_filter).", (), usage_of(usage))
    given = cast("list[dict[str, Any]]", message.get("tool_calls") or [])
    calls = tuple(_call(call) for call in given)
    thoughts = {name: message[name] for name in _THOUGHTS if message.get(name)}
    if any(call.get(_EXTRA) for call in given):
        thoughts[_EXTRA] = [call.get(_EXTRA) for call in given]
    thinking = next((thought for thought in thoughts.values() if isinstance(thought, str)), "")
    return ModelTurn(text, calls, usage_of(usage), {"openai-chat": thoughts} if thoughts else None, thinking=thinking)


def _text(content: Any) -> str:
    """The text of an answer, which some servers send in parts."""
    if isinstance(content, list):
        parts = [cast("dict[str, Any]", part) for part in cast("list[Any]", content) if isinstance(part, dict)]
        return "".join(str(part.get("text") or "") for part in parts if part.get("type") in ("text", "output_text"))
    return str(content or "")


def _call(call: dict[str, Any]) -> ToolCall:
    function = cast("dict[str, Any]", call.get("function") or {})
    arguments = function.get("arguments")
    # Some servers send an object where the protocol wants its text.
    text = arguments if isinstance(arguments, str) else remote.argument_text(arguments or {})
    return ToolCall(str(function.get("name") or ""), text or "{}", str(call.get("id") or ""))


def _error_in(answer: dict[str, Any]) -> str | None:
    error = answer.get("error")
    if not error:
        return None
    said = cast("dict[str, Any]", error).get("message") if isinstance(error, dict) else error
    return str(said or "an error without a message")
