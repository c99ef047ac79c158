"""Models and servers that are not quite as the protocols say: the run goes on, and keeps to the protocols itself."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from plugins.models.tests.conftest import TOOLS, Agent
from plugins.models.tests.server import serving
from plugins.models.tests.speaking import Say

from wink.adapters import Exchange, ModelTurn, RunState
from wink.filesystem import Filesystem
from wink.prompt import MarkdownSection, Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolReply
from wink.tools import ToolResult

DONE = Say("Done.")


@pytest.mark.parametrize(
    "name", ["multi_tool_use.parallel", "functions.append", "", "a" * 99, "h\u00e9llo", "append<|channel|>json"]
)
def test_a_tool_that_was_never_there_is_not_named_back(agent: Agent, name: str) -> None:
    """Providers hold the names of earlier calls to the same pattern as those of tools."""
    response, server = agent.run(Say(calls=((name, "{}", "id-1"),), thinking="hm"), DONE)
    assert server.problems == []
    assert response.text == "Done."


@pytest.mark.parametrize("arguments", ['{"text": ', "", "[1]", "null", '{"text": NaN}', '{"text": 1e999}', "nonsense"])
def test_arguments_that_are_no_object_are_sent_back_as_one(agent: Agent, arguments: str) -> None:
    """Servers parse what they said before, and would fail at every later request of the run."""
    response, server = agent.run(Say(calls=(("append", arguments, "id-1"),), thinking="hm"), DONE)
    assert server.problems == []
    assert response.text == "Done."
    assert agent.log() == ""


def test_ids_of_another_provider_are_sent_as_this_one_takes_them(agent: Agent) -> None:
    """A run may be resumed with another model; calls and results still belong together."""
    calls = tuple(ToolCall("append", '{"text": "a"}', call_id) for call_id in ("functions.append:0", "x" * 99, "ok"))
    replies = tuple(ToolReply(call.call_id, "append", "x", True, ToolResult("x", None)) for call in calls)
    others = {"anthropic": [7, {"type": "thinking"}], "openai": "x", "openai-chat": 7}
    state = RunState("t", (Exchange(ModelTurn("", calls, provider_data=others), replies),))
    response, server = agent.run(DONE, resume=RunState.from_json(state.to_json()))
    assert server.problems == []
    assert response.text == "Done."
    assert '"ok"' in json.dumps(server.bodies[0])


@dataclass(frozen=True)
class Answer:
    """What is found out."""

    total: int


def test_a_thought_with_nothing_after_it_is_not_sent_back(agent: Agent) -> None:
    """A model may think and say nothing at all; it is told so, and the next request has to be valid."""
    section = MarkdownSection("T", "Count.", "t", tools=TOOLS)
    prompt = Prompt(PromptTemplate[Answer](ns="t", key="t", sections=[section])).bind(
        resources={Filesystem: agent.files}
    )
    with serving([*[Say(thinking="hm")] * 3, Say('{"total": 3}')]) as server:
        adapter = agent.adapter(server)
        assert adapter.evaluate(prompt, session=agent.session).output == Answer(3)
        adapter.close()
    assert server.problems == []
