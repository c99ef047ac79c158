"""Calls that a policy leaves to a person: the client asks, or the shell is where they are approved."""

from __future__ import annotations

import asyncio
import http.server
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from plugins.mcp.tests.test_calls import text_of
from plugins.mcp.tests.wire import SECONDS, Wire

ASKS = ("--policy", "odd.asks")


@pytest.fixture(params=["legacy", "2026-07-28"])
def mode(request: pytest.FixtureRequest) -> str:
    """The client is asked by a request of its own, or by an interim result."""
    return request.param


def asked(client: Callable[..., Client], mode: str, answer: Any, tool: str = "echo") -> tuple[Any, list[str]]:
    """Call a tool that needs approval, with a person who gives this answer; the result, and what they were asked."""
    questions: list[str] = []

    async def person(context: Any, params: Any) -> Any:
        questions.append(params.message)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def work() -> Any:
        async with client(mode, *ASKS, elicitation_callback=person) as connected:
            return await connected.call_tool(tool, {"text": "hello"})

    return asyncio.run(work()), questions


def test_a_call_that_is_approved_runs(client: Callable[..., Client], mode: str) -> None:
    """Who approves sees what they approve."""
    yes = types.ElicitResult(action="accept", content={"approve": True})

    result, (question,) = asked(client, mode, yes)

    assert text_of(result).startswith("Here it is.")
    assert "echo" in question
    assert '"hello"' in question
    assert "somebody has to agree" in question


NO = (
    types.ElicitResult(action="decline"),
    types.ElicitResult(action="accept"),
    types.ElicitResult(action="accept", content={}),
    types.ElicitResult(action="accept", content={"approve": False}),
    types.ElicitResult(action="accept", content={"approve": "yes"}),
    types.ElicitResult(action="accept", content={"approve": 1}),
    types.ElicitResult(action="decline", content={"approve": True}),
)


def test_everything_but_a_clear_yes_is_a_no(client: Callable[..., Client], mode: str) -> None:
    """Clients have forms of many kinds."""
    answers = iter(NO)

    async def person(context: Any, params: Any) -> Any:
        return next(answers)

    async def work() -> list[str]:
        async with client(mode, *ASKS, elicitation_callback=person) as connected:
            return [text_of(await connected.call_tool("echo", {"text": str(number)})) for number in range(len(NO))]

    assert asyncio.run(work()) == ["Error: echo was denied by a person"] * len(NO)


def test_a_note_is_told_to_the_model(client: Callable[..., Client], mode: str) -> None:
    """So that it does something else instead."""
    no = types.ElicitResult(action="accept", content={"approve": False, "note": "not on a Friday"})

    result, _ = asked(client, mode, no)

    assert text_of(result) == "Error: denied by a person: not on a Friday"


def test_a_client_that_fails_to_ask_approves_nothing(client: Callable[..., Client]) -> None:
    """An error is no answer; the shell still is a way."""
    result, _ = asked(client, "legacy", types.ErrorData(code=-1, message="no window"))

    assert result.is_error
    assert "wink approve a1" in text_of(result)


def test_a_question_that_is_dismissed_is_left_to_the_shell(client: Callable[..., Client], mode: str) -> None:
    """Claude Code without a terminal does so with every question; nobody has said no, and the model is not asked twice."""
    result, questions = asked(client, mode, types.ElicitResult(action="cancel"))

    assert result.is_error
    assert "approve it with `wink approve a1`, then call it again" in text_of(result)
    assert len(questions) == 1


def test_an_approved_call_that_fails_is_taken_back(client: Callable[..., Client], mode: str, place: Path) -> None:
    """A yes does not change what a failure is."""
    result, _ = asked(client, mode, types.ElicitResult(action="accept", content={"approve": True}), tool="fail")

    assert text_of(result) == "Error: hello"
    assert not (place / "failed.txt").exists()


def test_a_client_that_cannot_ask_is_told_how_to_approve(
    client: Callable[..., Client], mode: str, command: list[str], environment: dict[str, str]
) -> None:
    """Another process answers, and the same call runs then."""

    async def call() -> Any:
        async with client(mode, *ASKS) as connected:
            return await connected.call_tool("echo", {"text": "hello"})

    denied = asyncio.run(call())
    workspace = command[command.index("--workspace") :][:2]
    approve = [*command[:3], "approve", "a1", *workspace]
    subprocess.run(approve, env=environment, check=True, capture_output=True, timeout=SECONDS)
    allowed = asyncio.run(call())

    assert denied.is_error
    assert "approve it with `wink approve a1`, then call it again" in text_of(denied)
    assert text_of(allowed).startswith("Here it is.")


def test_while_a_person_thinks_calls_of_other_sessions_run(command: list[str], environment: dict[str, str]) -> None:
    """A question is open for as long as somebody takes, and what the model has called after it comes after it."""
    with Wire([*command, *ASKS], environment) as wire:
        wire.initialize(elicitation={})
        wire.ask("asked", "echo", text="hello")
        question = wire.next()
        wire.ask("behind", "append", number=1)
        other = {"name": "peek", "arguments": {"text": "a.txt"}, "_meta": {"wink/session": "other"}}
        wire.send({"jsonrpc": "2.0", "id": "other", "method": "tools/call", "params": other})
        (peeked,) = wire.answer("other")["result"]["content"]
        yes = {"action": "accept", "content": {"approve": True}}
        wire.send({"jsonrpc": "2.0", "id": question["id"], "result": yes})
        answers = [wire.next()["id"], wire.next()["id"]]

    assert question["method"] == "elicitation/create"
    assert peeked["text"] == "one\ntwo\n"
    assert answers == ["asked", "behind"]


def test_a_question_is_withdrawn_with_its_call_which_frees_its_place(
    command: list[str], environment: dict[str, str]
) -> None:
    """The answer that comes too late is passed over."""
    with Wire([*command, *ASKS], environment) as wire:
        wire.initialize(elicitation={})
        wire.ask("asked", "echo", text="hello")
        question = wire.next()
        wire.cancel("asked")
        withdrawn = wire.next()
        late = {"action": "accept", "content": {"approve": True}}
        wire.send({"jsonrpc": "2.0", "id": question["id"], "result": late})
        again = wire.call("again", "append", number=2)

    assert again == "added"
    assert (withdrawn["method"], withdrawn["params"]["requestId"]) == ("notifications/cancelled", question["id"])


def test_an_answer_that_is_none_denies(command: list[str], environment: dict[str, str]) -> None:
    """What a client sends as an answer need not be one."""
    with Wire([*command, *ASKS], environment) as wire:
        wire.initialize(elicitation={})
        texts = []
        for number, result in enumerate(({}, {"action": "yes"}, {"action": "accept", "content": [1]}), 1):
            wire.ask(number, "echo", text=str(number))
            wire.send({"jsonrpc": "2.0", "id": wire.next()["id"], "result": result})
            texts.append(wire.answer(number)["result"]["content"][0]["text"])

    assert all(text.startswith("Error: ") for text in texts)


# -- hosts that a program wants

GET = "curl -s --noproxy ''"  # localhost is the program's own otherwise


class Served(http.server.BaseHTTPRequestHandler):
    """A host on this machine."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"served")

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody listens."""


@pytest.fixture
def port() -> Iterator[int]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Served)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@pytest.fixture
def shell(command: list[str], environment: dict[str, str]) -> list[str]:
    """A server with `run_command`, whose programs ask about hosts."""
    own = Path(environment["HOME"]) / ".config/wink/wink.toml"
    own.parent.mkdir(parents=True)
    own.write_text('[plugins.shell]\nnetwork_default = "ask"\n')
    return [*command, "--section", "shell.commands"]


def test_the_client_is_asked_about_a_host_while_the_program_waits(
    shell: list[str], environment: dict[str, str], port: int
) -> None:
    """For the rest of the session; another host is another question."""
    fetch = f"{GET} http://localhost:{port}/; {GET} http://other.test/"
    with Wire(shell, environment) as wire:
        wire.initialize(elicitation={})
        wire.ask("first", "run_command", command=fetch)
        questions = [wire.next(), None]
        yes = {"action": "accept", "content": {"approve": True}}
        wire.send({"jsonrpc": "2.0", "id": questions[0]["id"], "result": yes})
        questions[1] = wire.next()
        no = {"action": "accept", "content": {"approve": False, "note": "not that one"}}
        wire.send({"jsonrpc": "2.0", "id": questions[1]["id"], "result": no})
        (block,) = wire.answer("first")["result"]["content"]
        again = wire.call("again", "run_command", command=f"{GET} http://localhost:{port}/")

    asked = [one["params"]["message"] for one in questions]
    assert f"a program of run_command wants to connect to localhost:{port}, which is not listed" in asked[0]
    assert "other.test:80" in asked[1]
    assert f"localhost:{port} allowed, as a1 was approved" in block["text"]
    assert "other.test:80 refused: a person denied it: not that one" in block["text"]
    assert "served" in again


def test_a_host_is_no_more_asked_about_when_somebody_else_has_answered(
    shell: list[str], environment: dict[str, str], port: int
) -> None:
    """The client takes its question off the screen."""
    with Wire(shell, environment) as wire:
        wire.initialize(elicitation={})
        wire.ask("call", "run_command", command=f"{GET} http://localhost:{port}/")
        question = wire.next()
        approve = [*shell[:3], "approve", "a1", *shell[shell.index("--workspace") :][:2]]
        subprocess.run(approve, env=environment, check=True, capture_output=True, timeout=SECONDS)
        withdrawn = wire.next()
        (block,) = wire.answer("call")["result"]["content"]

    assert (withdrawn["method"], withdrawn["params"]["requestId"]) == ("notifications/cancelled", question["id"])
    assert "served" in block["text"]


def test_a_client_that_dismisses_a_host_is_told_at_once(shell: list[str], environment: dict[str, str]) -> None:
    """Nobody else can be asked where no terminal is, and what would have to be listed is said."""
    with Wire(["setsid", "--wait", *shell], environment) as wire:
        wire.initialize(elicitation={})
        wire.ask("call", "run_command", command=f"{GET} http://other.test/")
        wire.send({"jsonrpc": "2.0", "id": wire.next()["id"], "result": {"action": "cancel"}})
        (block,) = wire.answer("call")["result"]["content"]

    assert "nobody can be asked: there is no terminal; a person can list other.test:80" in block["text"]
