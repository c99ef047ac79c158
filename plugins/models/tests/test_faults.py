"""Every way in which a request can fail, on every provider, whole and streaming: the run goes on, or ends in plain words.

After each the session and the files are what the calls that were answered left, and no call was executed twice.
"""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from plugins.models.tests.conftest import KEY, Agent
from plugins.models.tests.server import Answer, Server, serving
from plugins.models.tests.speaking import Broken, Cut, ErrorInStream, Fail, Say, Silent

from wink.adapters import PromptEvaluationError, RequestFailed
from wink.limits import Deadline
from wink.runtime import ToolInvoked
from wink.workspace import Workspace

ONE = Say("I write.", calls=(("append", '{"text": "a"}', "id-1"),), thinking="hm")
TWO = Say(calls=(("append", '{"text": "b"}', "id-2"), ("look", '{"path": "log.txt"}', "id-3")))
DONE = Say("Done.")

PASSING: dict[str, Answer] = {
    "429": Fail(429, "slow down"),
    "429 with retry-after": Fail(429, "slow down", {"retry-after": "7"}),
    "429 with a date": Fail(429, "slow down", {"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}),
    "429 with nonsense": Fail(429, "slow down", {"retry-after": "soon"}),
    "500": Fail(500, "oh"),
    "502": Fail(502, "bad gateway"),
    "503 with milliseconds": Fail(503, "busy", {"retry-after-ms": "250"}),
    "529": Fail(529, "overloaded"),
    "cut": Cut(ONE),
    "broken": Broken(),
    "broken otherwise": Broken('{"object": "unknown"}'),
    "broken in its types": Broken('{"choices": [null], "output": [7], "content": [7], "type": "message_delta"}'),
    "error in the stream": ErrorInStream(ONE),
    "empty": Say(),
}

LASTING: dict[str, Fail] = {
    "400": Fail(400, "no such parameter"),
    "401": Fail(401, f"bad key {KEY}"),
    "403": Fail(403, "forbidden"),
    "404": Fail(404, "no such model"),
    "413": Fail(413, "too large"),
    "429 for money": Fail(429, "pay", code="insufficient_quota"),
}


def consistent(agent: Agent, log: str) -> None:
    """What the session says was executed is what the files show, each once."""
    appended = [
        event.params.text for event in agent.session[ToolInvoked].all() if event.name == "append" and event.success
    ]
    assert agent.log() == log == "".join(f"{text}\n" for text in appended)
    ids = [event.call_id for event in agent.session[ToolInvoked].all()]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("fault", PASSING)
def test_what_passes_is_tried_again(agent: Agent, fault: str, place: int) -> None:
    """In any request of a run; nothing of a failed answer is executed, and nothing twice."""
    answers: list[Answer] = [ONE, TWO, DONE]
    answers.insert(place, PASSING[fault])
    failed: list[RequestFailed] = []
    agent.session.dispatcher.subscribe(RequestFailed, failed.append)
    response, server = agent.run(*answers)
    assert server.problems == []
    assert response.text == "Done."
    consistent(agent, "a\nb\n")
    (event,) = failed
    assert event.attempt == 1
    assert [event.retry_in] == agent.waited
    if fault == "429 with retry-after":
        assert agent.waited == [7.0]
    if fault == "503 with milliseconds":
        assert agent.waited == [0.25]


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("fault", LASTING)
def test_what_lasts_ends_the_run_in_plain_words(agent: Agent, fault: str, place: int) -> None:
    """At once, with what was done before it kept."""
    with pytest.raises(PromptEvaluationError) as raised:
        agent.run(*[ONE, TWO][:place], LASTING[fault])
    assert raised.value.phase == "request"
    assert str(LASTING[fault].status) in str(raised.value)
    assert KEY not in "".join(traceback.format_exception(raised.value))
    assert agent.waited == []
    consistent(agent, "a\n" * place)


def test_a_fault_that_never_passes_ends_the_run(agent: Agent) -> None:
    """After as many attempts as were allowed, waiting longer each time."""
    with pytest.raises(PromptEvaluationError, match=r"500.*\(3 attempts\)"):
        agent.run(*[Fail(500, "oh")] * 9, settings={"retries": 2})
    assert len(agent.waited) == 2
    assert agent.waited[0] < agent.waited[1]


def test_a_silent_server_is_asked_again(agent: Agent) -> None:
    """When the time for one request is over."""
    response, _ = agent.run(Silent(), DONE, settings={"timeout": 0.2})
    assert response.text == "Done."


def test_a_deadline_ends_a_request(agent: Agent) -> None:
    """And no attempt is begun that could not end before it."""
    with pytest.raises(PromptEvaluationError) as raised:
        agent.run(Silent(), deadline=Deadline.after(0.3))
    assert raised.value.phase == "deadline"
    with pytest.raises(PromptEvaluationError, match="too near to try again"):
        agent.run(Fail(503, "busy", {"retry-after": "30"}), deadline=Deadline.after(10))


def test_a_server_that_is_not_there_is_said_so(agent: Agent) -> None:
    """With the attempts that were made."""
    with serving([]) as server:
        pass
    adapter = agent.adapter(server, retries=1)
    try:
        with pytest.raises(PromptEvaluationError, match=r"the connection failed.*\(2 attempts\)"):
            adapter.evaluate(agent.prompt(), session=agent.session)
    finally:
        adapter.close()


@pytest.mark.parametrize(
    "message", ["tools[1].parameters is wrong", "Invalid schema for function 'look'", "tools.1.custom"]
)
def test_a_tool_that_the_provider_refuses_is_left_out(agent: Agent, message: str) -> None:
    """One bad tool must not fail every request."""
    response, server = agent.run(Fail(400, message), ONE, DONE)
    assert response.text == "Done."
    names = [json.dumps(body["tools"]).count('"look"') for body in server.bodies]
    assert names == [1, 0, 0]
    consistent(agent, "a\n")


def test_cancelling_ends_the_request_and_the_run(agent: Agent) -> None:
    """On a running loop; the call that was answered stays."""

    async def main(server: Server) -> None:
        adapter = agent.adapter(server)
        run = asyncio.ensure_future(adapter.aevaluate(agent.prompt(), session=agent.session))
        while len(server.bodies) < 2:
            await asyncio.sleep(0.01)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        await adapter.aclose()

    with serving([ONE, Silent()]) as server:
        asyncio.run(main(server))
    consistent(agent, "a\n")


def test_runs_on_a_loop_share_a_connection_pool(agent: Agent) -> None:
    """Many at once, over one adapter."""

    def answers() -> Sequence[Any]:
        def answer(body: dict[str, Any]) -> Say:
            return DONE if "id-1" in json.dumps(body) else ONE

        return [answer] * 20

    async def main(server: Server) -> list[str]:
        adapter = agent.adapter(server)
        others = [Agent(agent.provider, agent.streams) for _ in range(5)]
        runs = [adapter.aevaluate(one.prompt(), session=one.session) for one in others]
        texts = [response.text for response in await asyncio.gather(*runs)]
        for one in others:
            consistent(one, "a\n")
        await adapter.aclose()
        return texts

    with serving(answers()) as server:
        assert asyncio.run(main(server)) == ["Done."] * 5
        assert server.problems == []


@pytest.mark.parametrize("fault", [*PASSING, *LASTING])
def test_a_workspace_is_consistent_after_any_fault(agent: Agent, fault: str, tmp_path: Path) -> None:
    """Files and record on the disk tell of the same calls, nothing is left to recover, and all of it can be taken back."""
    with Workspace.open(tmp_path) as workspace:
        agent.files, agent.session = workspace.filesystem, workspace.session()
        passes = fault in PASSING
        try:
            agent.run(ONE, {**PASSING, **LASTING}[fault], TWO, DONE)
        except PromptEvaluationError:
            assert not passes
        consistent(agent, "a\nb\n" if passes else "a\n")
    with Workspace.open(tmp_path) as workspace:
        assert workspace.recovered == ()
        made = [call for call in workspace.calls() if call.tool == "append"]
        assert [call.committed for call in made] == [True] * (2 if passes else 1)
        workspace.undo(n=len(made))
        assert not workspace.filesystem.exists("log.txt")
