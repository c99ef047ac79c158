"""Whole runs over the real SDKs: what is sent keeps to the protocol, and what comes back becomes calls."""

from __future__ import annotations

import asyncio
import base64
import json
from contextlib import closing
from typing import Any

import pytest
from plugins.models.tests.conftest import KEY, TOOLS, Agent, Line
from plugins.models.tests.server import serving
from plugins.models.tests.speaking import Fail, Say

from wink.adapters import (
    Exchange,
    ModelDelta,
    ModelReplied,
    ModelTurn,
    ModelUnusable,
    PromptEvaluationError,
    RequestSent,
    RunState,
)
from wink.limits import Budget, TokenUsage
from wink.runtime import PromptExecuted, ToolCall, ToolInvoked, ToolReply
from wink.tools import Audio, EmbeddedResource, Image, Tool, ToolContext, ToolResult
from wink_models import ModelSettings
from wink_openai import OpenAIResponses


def test_calls_are_executed_and_answered(agent: Agent) -> None:
    """Several in one turn, with thinking that is returned unchanged, and told to who watches; the usage adds up."""
    told: list[ModelReplied] = []
    agent.session.dispatcher.subscribe(ModelReplied, told.append)
    response, server = agent.run(
        Say(
            "I write.", calls=(("append", '{"text": "a"}', "id-1"), ("append", '{"text": "b"}', "id-2")), thinking="hm"
        ),
        Say(calls=(("look", '{"path": "log.txt"}', "id-3"),)),
        Say("Done."),
    )
    assert server.problems == []
    assert response.text == "Done."
    assert agent.log() == "a\nb\n"
    assert "appended b" in json.dumps(server.bodies[1])
    assert "a\\nb\\n" in json.dumps(server.bodies[2])
    assert "hm" in json.dumps(server.bodies[1])
    (executed,) = agent.session[PromptExecuted].all()
    assert executed.usage == TokenUsage(300, 30, 120)
    assert [one.turn.thinking for one in told] == ["hm", "", ""]
    assert {bool(one.turn.model) for one in told} == {True}


@pytest.mark.parametrize("is_async", [False, True])
def test_the_calls_of_a_turn_run_in_its_order(agent: Agent, is_async: bool) -> None:
    """Those that run programs too: each sees what stands before it, and nothing of what stands behind it."""

    async def command(params: Line, *, context: ToolContext) -> ToolResult[None]:
        await asyncio.sleep(0.01)
        files = context.filesystem
        files.append("log.txt", f"{params.text} after {files.read('log.txt').content.split()}\n")
        return ToolResult("ran", None)

    agent.tools = (*TOOLS, Tool[Line, None]("command", "Run.", command, effects="process"))
    calls = ("append a", "command b", "append c", "look log.txt", "command d", "look log.txt")
    answers = [
        (name, json.dumps({"path" if name == "look" else "text": text}), f"id-{at}")
        for at, (name, text) in enumerate(map(str.split, calls))
    ]
    with serving([Say(calls=tuple(answers)), Say("Done.")]) as server, closing(agent.adapter(server)) as adapter:
        if is_async:
            asyncio.run(adapter.aevaluate(agent.prompt(), session=agent.session))
        else:
            adapter.evaluate(agent.prompt(), session=agent.session)

    first = "a\nb after ['a']\nc\n"
    assert agent.log().startswith(f"{first}d after ")
    assert server.problems == []
    invoked = agent.session[ToolInvoked].all()
    assert [event.call_id for event in invoked] == [call_id for *_, call_id in answers]
    assert [event.rendered_output for event in invoked if event.name == "look"] == [first, agent.log()]


@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        ("append", '{"text": ', "not valid"),
        ("append", "", "not valid"),
        ("append", '["a"]', "not valid"),
        ("append", '{"text": "a", "more": 1}', "more"),
        ("unknown", '{"text": "a"}', "there is no tool"),
        ("append", '{"text": "boom"}', "failed with ValueError"),
        ("append", '{"text": "\\ud800"}', "failed with UnicodeEncodeError"),
    ],
)
def test_a_bad_call_is_answered(agent: Agent, name: str, arguments: str, answer: str) -> None:
    """In its place, with text that says what was wrong; the run goes on."""
    response, server = agent.run(Say(calls=((name, arguments, "id-1"),)), Say("Done."))
    assert server.problems == []
    assert response.text == "Done."
    assert answer in json.dumps(server.bodies[1])
    assert [event.success for event in agent.session[ToolInvoked].all()] == [False]


def test_ids_that_are_missing_or_equal_are_replaced(agent: Agent) -> None:
    """Within a turn and between turns; each call is answered exactly once, under the id that the provider is shown."""
    calls = (("append", '{"text": "a"}', "x"), ("append", '{"text": "b"}', "x"), ("append", '{"text": "c"}', ""))
    response, server = agent.run(Say(calls=calls, thinking="hm"), Say(calls=calls[:1], thinking="hm"), Say("Done."))
    assert server.problems == []
    assert response.text == "Done."
    assert agent.log() == "a\nb\nc\na\n"


def test_pieces_are_told_as_they_arrive(agent: Agent) -> None:
    """Text, thinking and arguments, to whoever watches the session; whole answers come in no pieces."""
    seen: list[ModelDelta] = []
    sent: list[RequestSent] = []
    agent.session.dispatcher.subscribe(ModelDelta, seen.append)
    agent.session.dispatcher.subscribe(RequestSent, sent.append)
    agent.run(Say("Hello.", calls=(("append", '{"text": "a"}', "1"),), thinking="hm"), Say("Done."))
    told = {
        kind: "".join(piece.text for piece in seen if piece.kind == kind) for kind in ("text", "thinking", "arguments")
    }
    whole = {"text": "Hello.Done.", "thinking": "hm", "arguments": '{"text": "a"}'}
    assert told == (whole if agent.streams else dict.fromkeys(whole, ""))
    assert [(event.model, event.attempt) for event in sent] == [("test-model", 1)] * 2


def test_an_answer_that_was_cut_off_is_not_executed(agent: Agent) -> None:
    """Its calls may be half; the model is told to go on."""
    cut = Say("I wri", calls=(("append", '{"text": "half"}', "1"),), stop="length")
    response, server = agent.run(cut, Say("Done."))
    assert server.problems == []
    assert response.text == "Done."
    assert agent.log() == ""
    assert "cut off" in json.dumps(server.bodies[1])


def test_a_model_that_is_always_cut_off_ends_the_run(agent: Agent) -> None:
    """After a few attempts, with a phase of its own."""
    with pytest.raises(PromptEvaluationError) as raised:
        agent.run(*[Say("x", stop="length")] * 9)
    assert raised.value.phase == "length"


def test_a_refusal_is_an_answer(agent: Agent) -> None:
    """The run ends with its text."""
    response, server = agent.run(Say("I will not.", stop="refusal"))
    assert server.problems == []
    assert response.text == "I will not."


def test_empty_answers_are_asked_for_again(agent: Agent) -> None:
    """Twice; then the run ends with nothing, as the model wanted."""
    response, server = agent.run(Say(), Say("Done."))
    assert (response.text, len(server.bodies)) == ("Done.", 2)
    response, server = agent.run(Say(), Say(), Say())
    assert (response.text, len(server.bodies)) == ("", 3)


def test_a_budget_counts_what_the_provider_reports(agent: Agent) -> None:
    """And ends the run before anything more is done."""
    with pytest.raises(PromptEvaluationError, match="110 total tokens used of 100 allowed"):
        agent.run(Say(calls=(("append", '{"text": "a"}', "1"),)), Say("x"), budget=Budget(max_total_tokens=100))
    assert agent.log() == ""


def test_settings_reach_the_provider(agent: Agent) -> None:
    """Headers, limits, and fields of the body that no SDK knows."""
    settings = {"options": {"top_k": 3}, "headers": {"x-team": "blue"}, "max_output_tokens": 77}
    _, server = agent.run(Say("Done."), settings=settings)
    assert server.problems == []
    assert server.bodies[0]["top_k"] == 3
    assert 77 in server.bodies[0].values()
    assert server.headers[0]["x-team"] == "blue"


@pytest.mark.parametrize("bad", [{"timeout": 0}, {"retries": -1}, {"max_output_tokens": 0}])
def test_settings_that_make_no_sense_are_refused(bad: dict[str, Any]) -> None:
    """When they are made, and not by a provider."""
    with pytest.raises(ValueError, match=next(iter(bad))):
        ModelSettings(**bad)
    with pytest.raises(ModelUnusable, match="no model was named"):
        OpenAIResponses(" ", settings=ModelSettings())


def test_the_key_is_sent_and_told_nobody(agent: Agent) -> None:
    """Not in events, errors or the adapter's own description."""
    said: list[str] = []
    agent.session.dispatcher.subscribe(RequestSent, lambda event: said.append(repr(event)))
    _, server = agent.run(Say("Done."))
    assert KEY in json.dumps(server.headers)
    assert KEY not in json.dumps(server.bodies) + "".join(said)


def see(params: None, *, context: ToolContext) -> ToolResult[None]:
    """Show a small image, and one that is too large."""
    return ToolResult(
        "two images", None, attachments=(Image(b"GIF89a" + b"x" * 30), Image(b"GIF89a" + bytes(4_000_000)))
    )


def test_images_are_shown_where_the_protocol_wants_them(agent: Agent) -> None:
    """In the result, or in a user's message when all results have been given; one that is too large is told of."""
    agent.tools = (*agent.tools, Tool[None, None](name="see", description="Look.", handler=see, effects="read"))
    calls = (("see", "{}", "id-1"), ("append", '{"text": "a"}', "id-2"))
    response, server = agent.run(Say(calls=calls), Say("A cat."))
    assert server.problems == []
    assert response.text == "A cat."
    sent = json.dumps(server.bodies[1])
    assert sent.count(base64.b64encode(b"GIF89a" + b"x" * 30).decode()) == 1
    assert "[image, image/gif, 4000 kB; too large to be shown]" in sent
    assert sent.count('"type": "input_image"') == sent.count('"detail": "auto"')
    turn = ModelTurn(calls=(ToolCall("see", "{}", "1"),))
    state = RunState("t", (Exchange(turn, (reply_with_image(),)),))
    assert "is not kept" in RunState.from_json(state.to_json()).exchanges[0].replies[0].text


def hear(params: None, *, context: ToolContext) -> ToolResult[None]:
    """Attach what is no image: sounds, a file that is text, one that is a picture, and one that is neither."""
    attached = (
        Audio(b"RIFF....WAVE" + b"x" * 30),
        Audio(b"x", "audio/aac"),
        EmbeddedResource("memo://text", "the memo", "text/plain"),
        EmbeddedResource("memo://picture", b"GIF89a" + b"y" * 30),
        EmbeddedResource("memo://archive", b"PK", "application/zip"),
    )
    return ToolResult("listen", None, attachments=attached)


def test_what_else_is_attached_is_shown_or_told_of(agent: Agent) -> None:
    """Text is text, a picture is shown wherever it came in, and of what a protocol does not take the model is told."""
    agent.tools = (*agent.tools, Tool[None, None](name="hear", description="Listen.", handler=hear, effects="read"))
    response, server = agent.run(Say(calls=(("hear", "{}", "id-1"),)), Say("Music."))
    assert server.problems == []
    assert response.text == "Music."
    sent = json.dumps(server.bodies[1])
    assert "[resource memo://text, text/plain]\\nthe memo" in sent
    assert sent.count(base64.b64encode(b"GIF89a" + b"y" * 30).decode()) == 1
    assert "[resource memo://archive, application/zip, 2 bytes; not shown to you]" in sent
    assert "[audio, audio/aac, 1 bytes; not played to you]" in sent
    wave = base64.b64encode(b"RIFF....WAVE" + b"x" * 30).decode()
    assert (wave in sent) is (agent.provider == "openai-chat")
    assert ("[audio, audio/wav, 42 bytes; not played to you]" in sent) is (agent.provider != "openai-chat")


def test_a_model_that_takes_no_images_goes_on_without_them(agent: Agent) -> None:
    """It is told what it does not see; a run does not end for it."""
    agent.tools = (*agent.tools, Tool[None, None](name="see", description="Look.", handler=see, effects="read"))
    refusal = Fail(400, "this model does not support image input")
    response, server = agent.run(Say(calls=(("see", "{}", "id-1"),)), refusal, Say("Words."))
    assert response.text == "Words."
    assert base64.b64encode(b"GIF89a" + b"x" * 30).decode() in json.dumps(server.bodies[1])
    assert base64.b64encode(b"GIF89a" + b"x" * 30).decode() not in json.dumps(server.bodies[2])
    assert "[image, image/gif, 36 bytes; not shown to you]" in json.dumps(server.bodies[2])


def reply_with_image() -> ToolReply:
    return ToolReply("1", "see", "x", True, ToolResult("x", None, attachments=(Image(b"GIF89a"),)))


@pytest.mark.parametrize("attached", [("x",), [Image(b"GIF89a")], None])
def test_what_is_no_attachment_fails_the_call(attached: object) -> None:
    """A provider would refuse the whole request for it."""
    agent = Agent("openai", False)

    def bad(params: None, *, context: ToolContext) -> ToolResult[None]:
        return ToolResult("x", None, attachments=attached)  # type: ignore[arg-type]

    agent.tools = (Tool[None, None](name="bad", description="Look.", handler=bad),)
    _, server = agent.run(Say(calls=(("bad", "{}", "1"),)), Say("Done."))
    assert "attachments are not a tuple of Image, Audio and EmbeddedResource" in json.dumps(server.bodies[1])
    with pytest.raises(ValueError, match="no PNG, JPEG, GIF or WebP"):
        Image(b"<svg/>")
