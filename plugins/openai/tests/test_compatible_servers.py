"""Servers that speak OpenAI's protocols not quite as they are written: the run goes on, and keeps to the protocols itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from plugins.models.tests.conftest import TOOLS, Agent
from plugins.models.tests.speaking import Fail, Raw, Say

from wink.adapters import ModelUnusable, PromptEvaluationError
from wink_models import ModelSettings
from wink_openai import OpenAIChat

DONE = Say("Done.")


def chat(message: dict[str, Any], *deltas: dict[str, Any], finish: str = "stop") -> Raw:
    """An answer of a compatible server, without the fields that such servers leave out."""
    last = {"choices": [{"delta": {}, "finish_reason": finish}]}
    chunks = [{"choices": []}, *({"choices": [{"delta": delta}]} for delta in deltas), last]
    return Raw({"choices": [{"message": message, "finish_reason": finish}]}, tuple(chunks))


def call(arguments: Any, **facts: Any) -> dict[str, Any]:
    return {"function": {"name": "append", "arguments": arguments}, **facts}


A, B = call('{"text": "a"}', id="x1"), call('{"text": "b"}', id="x2")
NAMELESS = [call('{"text": "a"}'), call('{"text": "b"}')]
PIECES = [call("", id="x1", index=0), {"index": 0, "function": {"arguments": '{"text": "a"}'}, "id": ""}]

ODD: dict[str, Raw] = {
    "every index is 0": chat(
        {"tool_calls": [A, B]}, {"tool_calls": [{**A, "index": 0}]}, {"tool_calls": [{**B, "index": 0}]}
    ),
    "no index": chat({"content": None, "tool_calls": [A, B]}, {"tool_calls": [A]}, {"tool_calls": [B]}),
    "no ids": chat({"tool_calls": NAMELESS}, {"tool_calls": NAMELESS[:1]}, {"tool_calls": NAMELESS[1:]}),
    "arguments are objects": chat(
        {"tool_calls": [call({"text": "a"}, id="x1"), call({"text": "b"}, id="x2")]},
        {"tool_calls": [call({"text": "a"}, id="x1", index=0), call({"text": "b"}, id="x2", index=1)]},
    ),
    "the name is repeated": chat(
        {"tool_calls": [A, B]},
        {"tool_calls": PIECES[:1]},
        {"tool_calls": [{**PIECES[1], "id": "x1"}]},
        {"tool_calls": [{**B, "index": 1}]},
    ),
    "content in parts": chat(
        {"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "I write."}], "tool_calls": [A, B]},
        {"content": [{"type": "thinking", "thinking": []}]},
        {"content": [{"type": "text", "text": "I write."}]},
        {"tool_calls": [{**A, "index": 0}, {**B, "index": 1}]},
    ),
}


@pytest.mark.parametrize("odd", ODD)
def test_calls_of_compatible_servers_are_understood(streams: bool, odd: str) -> None:
    """Whatever they make of indexes, ids, arguments, the reason of the end, and usage, which they leave out."""
    agent = Agent("openai-chat", streams)
    response, server = agent.run(ODD[odd], DONE)
    assert server.problems == []
    assert response.text == "Done."
    assert agent.log() == "a\nb\n"
    assert agent.waited == []


def test_what_a_server_signed_is_sent_back_with_its_call(streams: bool) -> None:
    """And thoughts, as long as calls are answered: between answers some servers refuse them."""
    agent = Agent("openai-chat", streams)
    signed = {**A, "extra_content": {"google": {"thought_signature": "s1"}}}
    message = {"reasoning_content": "hm", "tool_calls": [signed, B]}
    said = chat(message, {"reasoning_content": "hm"}, {"tool_calls": [{**signed, "index": 0}, {**B, "index": 1}]})
    _, server = agent.run(said, DONE)
    assistant = server.bodies[1]["messages"][2]
    assert assistant["reasoning_content"] == "hm"
    assert [one.get("extra_content") for one in assistant["tool_calls"]] == [signed["extra_content"], None]


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "upstream is busy", "code": 502}},
        {
            "choices": [
                {"error": {"message": "upstream is busy"}, "finish_reason": "error", "message": {"content": "x"}}
            ]
        },
        {"choices": []},
    ],
)
def test_an_error_in_an_answer_that_says_it_is_well_is_tried_again(body: dict[str, Any]) -> None:
    """Gateways put what failed behind them into a 200."""
    agent = Agent("openai-chat", False)
    response, _ = agent.run(Raw(body, ()), DONE)
    assert response.text == "Done."
    assert len(agent.waited) == 1
    with pytest.raises(PromptEvaluationError, match=r"busy|no choices"):
        agent.run(Raw(body, ()), settings={"retries": 0})


@pytest.mark.parametrize(
    ("provider", "message", "field"),
    [
        ("openai", "Encrypted content is not supported with this model.", "include"),
        ("openai-chat", "stream_options: extra inputs are not permitted", "stream_options"),
    ],
)
def test_a_field_that_a_server_does_not_take_is_left_out(provider: str, message: str, field: str) -> None:
    """What a request can do without fails it once, and not the run."""
    agent = Agent(provider, streams=True)
    response, server = agent.run(Fail(400, message), Say(calls=(("append", '{"text": "a"}', "id-1"),)), DONE)
    assert response.text == "Done."
    assert [field in body for body in server.bodies] == [True, False, False]


REFUSALS = {
    "in words": Fail(400, "tools.0.strict: extra inputs are not permitted"),
    "by its place": Fail(400, body={"error": {"message": "Unknown parameter.", "param": "tools[0].strict"}}),
    "by a list": Fail(
        422,
        body={"detail": [{"type": "extra_forbidden", "loc": ["body", "tools", 0, "strict"], "msg": "Extra inputs"}]},
    ),
}
"""How servers say that they do not take a field."""


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
@pytest.mark.parametrize("provider", ["openai", "openai-chat"])
def test_a_server_that_does_not_take_strict_tools_is_asked_again_without(
    provider: str, streams: bool, refusal: Fail
) -> None:
    """Compatible servers know the tools and not the promise to keep to their schemas; the run must not end for it."""
    agent = Agent(provider, streams)
    response, server = agent.run(refusal, Say(calls=(("append", '{"text": "a"}', "id-1"),)), DONE)
    assert response.text == "Done."
    assert ['"strict"' in json.dumps(body["tools"]) for body in server.bodies] == [True, False, False]
    assert [len(body["tools"]) for body in server.bodies] == [len(TOOLS)] * 3


@pytest.mark.parametrize("provider", ["openai", "openai-chat"])
def test_a_failed_call_is_told_as_a_failure(provider: str, streams: bool) -> None:
    """These protocols have no place for it but the text: a model must not take a failure for an answer."""
    agent = Agent(provider, streams)
    calls = (("append", '{"text": "a"}', "id-1"), ("append", '{"text": "boom"}', "id-2"))
    _, server = agent.run(Say(calls=calls), DONE)
    body = server.bodies[1]
    if provider == "openai":
        told = [item["output"] for item in body["input"] if item.get("type") == "function_call_output"]
    else:
        told = [message["content"] for message in body["messages"] if message["role"] == "tool"]
    assert told[0] == "appended a"
    assert told[1].startswith("Error: append failed with ValueError")


def test_a_variable_that_is_empty_holds_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server of one's own is asked without one, a provider is not asked at all."""
    monkeypatch.setenv("OPENAI_API_KEY", "")
    OpenAIChat("m", settings=ModelSettings(base_url="http://127.0.0.1:1/v1")).check()
    with pytest.raises(ModelUnusable, match="there is no key"):
        OpenAIChat("m").check()
