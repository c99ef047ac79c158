"""Keys stay secret, servers are left alone when they ask for it, and nothing stays behind."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import traceback

import pytest
from plugins.models.tests.conftest import KEY, Agent
from plugins.models.tests.server import serving
from plugins.models.tests.speaking import ErrorInStream, Fail, Say, Silent

from wink.adapters import Exchange, ModelTurn, ModelUnusable, PromptEvaluationError, RunState
from wink.errors import RunStateError
from wink.runtime import ToolCall, ToolReply
from wink.tools import ToolResult
from wink_models import ModelSettings

DONE = Say("Done.")


def shown(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


@pytest.mark.parametrize(
    "answer",
    [
        Fail(401, f"bad key {KEY}"),
        Fail(500, f"{'x' * 590} {KEY}"),
        ErrorInStream(Say("I write.", thinking="hm"), f"bad key {KEY}"),
    ],
)
def test_a_key_that_a_server_repeats_is_shown_nowhere(agent: Agent, answer: Fail | ErrorInStream) -> None:
    """Not where a text is cut, not in an error inside a stream, and not in a traceback."""
    with pytest.raises(PromptEvaluationError) as raised:
        agent.run(answer, settings={"retries": 0})
    assert KEY[:9] not in shown(raised.value)


@pytest.mark.parametrize("key", [f"{KEY}\n", f" {KEY}", "sk-…"])
def test_a_key_that_cannot_be_sent_is_said_to_be_so(agent: Agent, key: str) -> None:
    """Before it is sent: whoever fails to send it shows it."""
    adapter = agent.adapter(serving_nobody(), headers={"x-team": "blue"})
    adapter.api_key = key
    with pytest.raises(ModelUnusable, match="cannot be sent") as raised:
        adapter.evaluate(agent.prompt(), session=agent.session)
    adapter.close()
    assert key.strip() not in shown(raised.value)
    assert "blue" not in repr(ModelSettings(headers={"x-team": "blue"}))


def serving_nobody() -> object:
    class Nobody:
        url = "http://127.0.0.1:1"

    return Nobody()


def test_a_server_that_wants_to_be_left_alone_for_long_is(agent: Agent) -> None:
    """A run that waits for an hour helps nobody; for some minutes it does."""
    with pytest.raises(PromptEvaluationError, match="not to be asked again for 3600 s"):
        agent.run(Fail(429, "slow down", {"retry-after": "3600"}))
    assert agent.waited == []
    agent.run(Fail(429, "slow down", {"retry-after": "120"}), DONE)
    assert agent.waited == [120.0]


def test_the_servers_own_word_on_trying_again_counts(agent: Agent) -> None:
    """Both SDKs heed it."""
    with pytest.raises(PromptEvaluationError, match="500"):
        agent.run(Fail(500, "oh", {"x-should-retry": "false"}))
    agent.run(Fail(418, "wait", {"x-should-retry": "true", "retry-after": "0"}), DONE)
    assert agent.waited[-1] > 0


def test_closing_ends_the_requests_that_are_under_way(agent: Agent) -> None:
    """Whoever waits for one is told, and does not wait for ever."""
    errors: list[PromptEvaluationError] = []
    with serving([Silent(), DONE]) as server:
        adapter = agent.adapter(server)

        def work() -> None:
            try:
                adapter.evaluate(agent.prompt(), session=agent.session)
            except PromptEvaluationError as error:
                errors.append(error)

        worker = threading.Thread(target=work)
        worker.start()
        assert server.asked.wait(30)
        adapter.close()
        worker.join(30)
        assert "was closed meanwhile" in str(errors[0])
        assert adapter.evaluate(agent.prompt(), session=agent.session).text == "Done."
        adapter.close()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_process_that_was_forked_asks_by_itself() -> None:
    """The thread that had the connections has not come along."""
    agent = Agent("openai-chat", streams=False)
    with serving([DONE, DONE]) as server:
        adapter = agent.adapter(server)
        adapter.evaluate(agent.prompt(), session=agent.session)
        child = os.fork()
        if not child:
            os._exit(adapter.evaluate(agent.prompt(), session=agent.session).text != "Done.")
        assert os.waitpid(child, 0)[1] == 0
        adapter.close()


def test_the_end_of_a_loop_closes_its_connections(agent: Agent) -> None:
    """Also when nobody calls `aclose`: programs run one loop after the other over one adapter."""
    with serving([DONE] * 3) as server:
        adapter = agent.adapter(server)
        for _ in range(3):
            assert asyncio.run(adapter.aevaluate(agent.prompt(), session=agent.session)).text == "Done."
            assert not list(adapter._clients)
        gc.collect()
        adapter.close()


def test_a_turn_that_was_cut_off_is_still_that_when_it_is_read_again() -> None:
    """Half an answer must not become the end of a run that is resumed, or played again."""
    state = RunState("t", turn=ModelTurn("I wri", cut_off=True))
    assert RunState.from_json(state.to_json()) == state


def test_a_state_that_no_provider_would_take_is_refused() -> None:
    """Every later request of the run would fail."""
    turn = ModelTurn(calls=(ToolCall("append", "{}", "1"), ToolCall("append", "{}", "2")))
    reply = ToolReply("2", "append", "x", True, ToolResult("x", None))
    with pytest.raises(RunStateError, match="exchange 1 does not answer each of its calls"):
        RunState.from_json(RunState("t", (Exchange(turn, (reply,)),)).to_json())


def test_options_that_cannot_be_sent_are_refused() -> None:
    """When the settings are read, and not as an answer that makes no sense."""
    with pytest.raises(ValueError, match="options cannot be written as JSON"):
        ModelSettings(options={"since": object()})
