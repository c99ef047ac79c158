"""The rules of each protocol hold whatever happens between the requests: every call answered once, in its place."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from plugins.models.tests.conftest import TOOLS, Agent
from plugins.models.tests.server import serving
from plugins.models.tests.speaking import Say

from wink.adapters import RunState, RunSuspended
from wink.filesystem import Filesystem
from wink.prompt import (
    FeedbackProviderConfig,
    FeedbackTrigger,
    MarkdownSection,
    Prompt,
    PromptTemplate,
    SectionVisibility,
    StaticFeedbackProvider,
)
from wink.tools import Image
from wink_rules import Rule, RulesPolicy

APPEND = ("append", '{"text": "a"}', "id-1")
LOOK = ("look", '{"path": "log.txt"}', "id-2")


@dataclass(frozen=True)
class Answer:
    """What is found out."""

    total: int


def test_a_section_that_is_opened_brings_its_tools(agent: Agent) -> None:
    """In the next request of the same run, beside the replies to the call's siblings."""
    hidden = MarkdownSection(
        "More", "The word is xyzzy.", "more", tools=TOOLS, summary="More.", visibility=SectionVisibility.SUMMARY
    )
    prompt = Prompt(PromptTemplate(ns="t", key="t", sections=[hidden])).bind(resources={Filesystem: agent.files})
    opening = ("open_sections", '{"section_keys": ["more"], "reason": "to see"}', "id-0")
    answers = [Say(calls=(opening, APPEND), thinking="hm"), Say(calls=(APPEND,)), Say("Done.")]
    with serving(answers) as server:
        adapter = agent.adapter(server)
        assert adapter.evaluate(prompt, session=agent.session).text == "Done."
        adapter.close()
    assert server.problems == []
    assert ["xyzzy" in json.dumps(body) for body in server.bodies] == [False, True, True]
    assert "append" not in json.dumps(server.bodies[0]["tools"])
    assert "append" in json.dumps(server.bodies[1]["tools"])
    assert agent.log() == "a\n"


def test_a_run_that_was_suspended_goes_on_by_the_rules(agent: Agent) -> None:
    """With what the provider wants back unchanged, after its state was text; siblings are not executed again."""
    rules = RulesPolicy([Rule("ask", tools="append", arguments={"text": "b"}, reason="look at it")])
    section = MarkdownSection("T", "Write.", "t", tools=TOOLS)

    def prompt(*policies: Any) -> Prompt[Any]:
        template = PromptTemplate(ns="t", key="t", sections=[section.clone()], policies=policies)
        return Prompt(template).bind(resources={Filesystem: agent.files})

    asked = ("append", '{"text": "b"}', "id-3")
    with serving([Say("I write.", calls=(APPEND, asked), thinking="hm"), Say("Done.", thinking="hm again")]) as server:
        adapter = agent.adapter(server)
        with pytest.raises(RunSuspended) as suspended:
            adapter.evaluate(prompt(rules), session=agent.session, approvals=Nobody())
        assert agent.log() == "a\n"
        state = RunState.from_json(suspended.value.state.to_json())
        adapter.close()
        adapter = agent.adapter(server)
        assert adapter.evaluate(prompt(), session=agent.session, resume=state).text == "Done."
        adapter.close()
    assert server.problems == []
    assert agent.log() == "a\nb\n"
    assert "hm" in json.dumps(server.bodies[1])


class Nobody:
    """Is there to answer."""

    suspends = True

    async def answer(self, request: Any) -> None:
        return None


def test_a_denied_call_is_answered_in_its_place(agent: Agent) -> None:
    """Between two that are executed."""
    rules = RulesPolicy([Rule("deny", tools="append", arguments={"text": "b"}, reason="not b")])
    section = MarkdownSection("T", "Write.", "t", tools=TOOLS)
    prompt = Prompt(PromptTemplate(ns="t", key="t", sections=[section], policies=[rules]))
    prompt.bind(resources={Filesystem: agent.files})
    denied = ("append", '{"text": "b"}', "id-3")
    with serving([Say(calls=(APPEND, denied, LOOK)), Say("Done.")]) as server:
        adapter = agent.adapter(server)
        adapter.evaluate(prompt, session=agent.session)
        adapter.close()
    assert server.problems == []
    assert "not b" in json.dumps(server.bodies[1])
    assert agent.log() == "a\n"


def test_notes_follow_the_replies(agent: Agent) -> None:
    """Feedback after calls, and what is wrong with an answer, each where the protocol lets a user speak."""
    section = MarkdownSection("T", "Count.", "t", tools=TOOLS)
    feedback = [FeedbackProviderConfig(StaticFeedbackProvider("Be brief."), FeedbackTrigger(every_n_calls=1))]
    template = PromptTemplate[Answer](ns="t", key="t", sections=[section], feedback_providers=feedback)
    prompt = Prompt(template).bind(resources={Filesystem: agent.files})
    answers = [
        Say(calls=(APPEND,), thinking="hm"),
        Say("Many.", thinking="hm"),
        Say('{"total": "x"}'),
        Say('{"total": 3}'),
    ]
    with serving(answers) as server:
        adapter = agent.adapter(server)
        assert adapter.evaluate(prompt, session=agent.session).output == Answer(3)
        adapter.close()
    assert server.problems == []
    assert "Be brief." in json.dumps(server.bodies[1])
    assert "could not be read" in json.dumps(server.bodies[2])
    assert "total" in json.dumps(server.bodies[3])


def test_what_the_user_shows_comes_first(agent: Agent) -> None:
    """In the first message, and in every request of the run."""
    response, server = agent.run(Say(calls=(APPEND,)), Say("A cat."), images=[Image(b"GIF89a" + b"x" * 30)])
    assert response.text == "A cat."
    assert server.problems == []
    for body in server.bodies:
        assert json.dumps(body).count("R0lGODlhe") == 1
