"""Servers that do what no server should: only their own calls fail, with words that help, and nothing stays behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from plugins.mcp.tests.mount.helpers import ODD, Agent, is_alive

from wink.errors import PromptEvaluationError
from wink.limits import Deadline
from wink.prompt import Prompt, PromptTemplate, ToolsSection
from wink.runtime import ToolCall, ToolExecutor
from wink.session import Session
from wink.tools import Tool
from wink_mcp import McpSection
from wink_mcp.mount import _connection as connection
from wink_mcp.mount import _mount as mounting

Mount = Callable[..., Agent]


def until(done: Callable[[], bool]) -> None:
    """Wait for what another process does, and not for ever."""
    end = time.monotonic() + 20
    while not done():
        assert time.monotonic() < end, "it never came"
        threading.Event().wait(0.01)


def lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def test_a_server_that_dies_at_once_costs_nothing_but_its_tools(mount: Mount) -> None:
    """The prompt is rendered without them, and says why, with the server's own last words."""
    agent = mount("dead")

    assert agent.names == []
    assert "The MCP server `odd` cannot be reached. It brings no tools now." in agent.rendered.text
    assert "> the key is missing" in agent.rendered.text
    assert "status 1" in agent.section.problems[0]


def test_a_command_that_is_not_there_is_named(mount: Mount) -> None:
    """The most frequent mistake."""
    agent = mount("x", command=["no-such-server", "--stdio"])

    assert "its command 'no-such-server' was not found on the PATH" in agent.rendered.text


def test_a_server_that_never_answers_is_given_up(mount: Mount) -> None:
    """And ended."""
    agent = mount("mute", connect_timeout=0.3)

    assert "did not answer the first question within 0.3 s" in agent.rendered.text


def test_an_old_server_that_dies_of_the_new_question_is_asked_the_old_one(mount: Mount) -> None:
    """`server/discover` is younger than most servers."""
    assert mount("old", extra="allow").says("odd_call", a=1) == '{"a": 1}'


def test_what_is_no_message_is_passed_over(mount: Mount) -> None:
    """Many servers print to where only messages should be."""
    assert mount("garbage").says("odd_call") == "{}"


@pytest.mark.parametrize(("kind", "words"), [("crash", "status 3"), ("half", "status 0")])
def test_a_crash_in_the_middle_of_a_call_fails_the_call(mount: Mount, kind: str, words: str, tmp_path: Path) -> None:
    """It is not sent again: nobody knows what has been done. The next call has a new server."""
    seen = tmp_path / "seen"
    agent = mount(kind, str(seen))

    text = agent.fails("odd_call")

    assert "the server 'odd' was lost during the call" in text
    assert words in text
    assert "Whether it has done its work is not known" in text
    assert lines(seen).count("crashed") <= 1
    agent.fails("odd_call")
    assert len([line for line in lines(seen) if line.isdigit()]) == 2


def test_a_server_that_keeps_crashing_is_left_alone_for_a_while(mount: Mount, tmp_path: Path) -> None:
    """Reconnecting is bounded: a back-off grows, calls fail at once meanwhile and say so."""
    seen = tmp_path / "seen"
    agent = mount("crash", str(seen))
    agent.fails("odd_call")
    agent.fails("odd_call")

    text = agent.fails("odd_call")

    assert "it has failed 2 times in a row" in text
    assert "Nothing was sent to it." in text
    assert len([line for line in lines(seen) if line.isdigit()]) == 2
    assert agent.render().tool("odd_call") is not None
    assert "It had these tools when it was last reached" in agent.rendered.text


def test_after_a_time_out_the_server_is_told_to_stop(mount: Mount, tmp_path: Path) -> None:
    """And the model that nobody knows what became of its call."""
    seen = tmp_path / "seen"
    agent = mount("hang", str(seen), timeout=0.2)

    text = agent.fails("odd_call")

    assert "the server did not answer within 0.2 s and was told to stop" in text
    assert "Whether it has done its work is not known" in text
    until(lambda: "cancelled" in lines(seen))


def test_a_server_that_is_silent_again_and_again_is_started_anew(mount: Mount, tmp_path: Path) -> None:
    """It hangs; waiting for it each time would be all that the model does."""
    seen = tmp_path / "seen"
    agent = mount("hang", str(seen), timeout=0.1)

    for _ in range(3):
        agent.fails("odd_call")

    assert len([line for line in lines(seen) if line.isdigit()]) == 2


def test_a_cancelled_call_is_cancelled_at_the_server(mount: Mount, tmp_path: Path) -> None:
    """Whoever serves wink's tools on cancels; the server is to learn of it."""
    agent, path = mount(), tmp_path / "state"

    async def main() -> None:
        call = ToolCall("notes_wait", {"seconds": 60, "path": str(path)})
        running = asyncio.ensure_future(agent.executor.aexecute(call))
        while not path.exists() or path.read_text() != "begun":
            await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(main())

    until(lambda: path.read_text() == "cancelled")
    assert agent.says("notes_count")


def test_the_deadline_of_a_run_ends_its_calls(mount: Mount) -> None:
    """As it does those of our own tools."""
    agent = mount("hang")
    executor = ToolExecutor(
        prompt=agent.prompt,
        rendered=agent.rendered,
        session=agent.session,
        deadline=Deadline.after(0.2),
    )

    with pytest.raises(PromptEvaluationError):
        executor.execute(ToolCall("odd_call", {}))


def test_progress_is_a_sign_of_life(mount: Mount, tmp_path: Path) -> None:
    """Whoever watches the run must not take a long call for a dead one."""
    from wink.limits import Heartbeat

    agent, beats = mount(), list[int]()
    heart = Heartbeat()
    heart.add_callback(lambda: beats.append(1))
    executor = ToolExecutor(prompt=agent.prompt, rendered=agent.rendered, session=agent.session, heartbeat=heart)

    reply = executor.execute(ToolCall("notes_wait", {"seconds": 0.2, "path": str(tmp_path / "state")}))

    assert reply.text == "waited"
    assert len(beats) > 2


def test_a_message_of_a_hundred_megabytes_is_not_read_to_its_end(mount: Mount) -> None:
    """The connection ends, since the rest cannot be trusted; memory stays ours."""
    assert "it sent a message of more than 16777216 bytes" in mount("huge").fails("odd_call")


def test_answers_with_foreign_ids_are_nobodys(mount: Mount) -> None:
    """Only the answer to the question counts, and only once."""
    agent = mount("ids")

    assert agent.says("odd_call") == "right"
    assert agent.says("odd_call") == "right"


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("nonsense", "the server's answer makes no sense"),
        ("void", "the server's answer makes no sense"),
        ("changing", "the server refused the call: Unknown tool: tool_1; its tools may have changed"),
    ],
)
def test_answers_that_are_none_fail_the_call(mount: Mount, kind: str, words: str) -> None:
    """In words that say whose fault it is."""
    agent = mount(kind)

    assert words in agent.fails(agent.names[0])


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (-32000, "the licence has run out"),
        (-32000, "Connection closed"),
        (-32000, "Connection closed by the database"),
        (-32001, "Request timed out at the upstream"),
        (-32603, "Session terminated by the operator"),
        (-32600, "Session terminated: log in again"),
        (0, "no code at all"),
    ],
)
def test_an_error_that_a_server_answers_with_is_no_lost_connection(
    mount: Mount, code: int, message: str, tmp_path: Path
) -> None:
    """Servers use any code, those of the SDK too; the model needs their words, and the server goes on."""
    error = json.dumps({"code": code, "message": message})
    agent = mount("odd", command=[*ODD, "error", error])

    for _ in range(3):
        assert f"the server refused the call: {message}" in agent.fails("odd_call")


def test_an_error_of_a_server_that_ends_right_after_it_is_told(mount: Mount) -> None:
    """Its answer has come, whatever came after it."""
    error = json.dumps({"code": -32000, "message": "out of memory, ending"})
    agent = mount("odd", command=[*ODD, "error", error, "end"])

    assert "out of memory, ending" in agent.fails("odd_call")


SAID = {"type": "text", "text": "a note"}
ONCE = {
    "content as text": ([SAID], {"content": "a note"}),
    "content as blocks": ([SAID], {"content": [SAID]}),
    "content with what is left out": ([SAID], {"content": [{**SAID, "annotations": None, "_meta": None}]}),
    "several blocks": ([SAID, SAID], {"content": [SAID, SAID]}),
    "result": ([SAID], {"result": "a note"}),
    "result as a list": ([SAID, SAID], {"result": ["a note", "a note"]}),
    "a line in one and none in the other": ([{**SAID, "text": "a note\n"}], {"result": "a note"}),
    "JSON": ([{**SAID, "text": '{"say": "a note"}'}], {"say": "a note"}),
    "JSON in result": ([{**SAID, "text": '["a note"]'}], {"result": ["a note"]}),
    "JSON of each item": ([{**SAID, "text": '{"say": "a note"}'}] * 2, {"result": [{"say": "a note"}] * 2}),
    "a picture": (
        [SAID, {"type": "image", "data": "R0lGODlhAAAA", "mimeType": "image/gif"}],
        {"content": [SAID, {"type": "image", "data": "R0lGODlhAAAA", "mimeType": "image/gif"}]},
    ),
}
MORE = {
    "another key": ([SAID], {"result": "a note", "pages": 77}, "77"),
    "another text": ([SAID], {"content": "another text"}, "another text"),
    "another block": ([SAID], {"content": [SAID, {**SAID, "text": "and more"}]}, "and more"),
    "another type": ([{**SAID, "text": "1"}], {"result": True}, "true"),
    "another key that wraps": ([SAID], {"title": "a note"}, "title"),
    "something in a block": ([SAID], {"content": [{**SAID, "_meta": {"page": 77}}]}, "77"),
}


@pytest.mark.parametrize("case", ONCE)
@pytest.mark.parametrize("failed", [False, True])
def test_structured_content_that_repeats_the_text_is_shown_once(mount: Mount, case: str, failed: bool) -> None:
    """What stands twice costs twice."""
    content, structured = ONCE[case]
    answer = json.dumps({"content": content, "structuredContent": structured, "isError": failed})
    agent = mount("odd", command=[*ODD, "result", answer])

    said = agent.fails("odd_call") if failed else agent.says("odd_call")

    assert said.count("a note") == sum(block.get("text", "").count("a note") for block in content)
    assert "R0lGODlh" not in said


@pytest.mark.parametrize("case", MORE)
def test_structured_content_that_says_more_is_shown(mount: Mount, case: str) -> None:
    """Nothing is lost."""
    content, structured, more = MORE[case]
    answer = json.dumps({"content": content, "structuredContent": structured})

    assert more in mount("odd", command=[*ODD, "result", answer]).says("odd_call")


def test_requests_to_the_client_are_refused_politely(mount: Mount) -> None:
    """Nobody lends a mounted server the model, the roots or the user."""
    answers = mount("asking").says("odd_call").split("; ")

    assert len(answers) == 3
    assert answers[:2] == ["Sampling not supported", "List roots not supported"]
    assert "no back-channel" in mount().says("notes_ask")


def test_half_characters_do_no_harm_in_either_direction(mount: Mount) -> None:
    """UTF-8 cannot carry them."""
    assert mount("surrogate").says("odd_call") == "a?b"
    assert "half of a surrogate pair" in mount().fails("notes_add", text="a\ud800b")
    assert mount().says("notes_add", text="\N{GRINNING FACE}") == "added \N{GRINNING FACE}"


def test_a_server_that_is_busy_with_a_call_keeps_no_rendering_waiting(
    mount: Mount, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others who list their tools would wait for a call of somebody else; the call goes on."""
    monkeypatch.setattr(mounting, "AGAIN_SECONDS", 0.05)
    go = tmp_path / "go"
    agent = mount("busy", str(go))
    said: list[str] = []
    calling = threading.Thread(target=lambda: said.append(agent.says("odd_call")))
    calling.start()
    until(lambda: (tmp_path / "go.began").exists())

    for _ in range(4):
        assert [tool.name for tool in agent.render().tools] == ["odd_call", "odd_other"]
    assert not said
    go.touch()
    calling.join(60)

    assert said == ["gone"]


def test_tools_that_change_are_listed_anew_at_each_rendering(mount: Mount) -> None:
    """A listing that is kept must not lie."""
    agent = mount("changing")
    assert agent.names == ["odd_tool_1"]

    agent.render()

    assert agent.names == ["odd_tool_2"]
    assert agent.fails("odd_tool_1").startswith("there is no tool 'odd_tool_1'")


def test_a_server_that_tells_of_changes_is_believed_until_it_does(mount: Mount) -> None:
    """Such servers are not asked at every rendering, and asked at the one after they told."""
    agent = mount("telling")
    before = agent.rendered.tools
    assert agent.render().tools == before, "the same objects, since nothing was asked"


def test_tool_list_changed_is_honoured_at_the_next_rendering(mount: Mount) -> None:
    """What the model was told of stays callable until then."""
    agent = mount()
    assert agent.says("notes_forget", name="count") == "gone"

    assert "Unknown tool" in agent.fails("notes_count")
    agent.render()

    assert agent.rendered.tool("notes_count") is None
    assert agent.rendered.tool("notes_add") is not None


def test_names_are_made_to_fit_and_collisions_are_told(mount: Mount) -> None:
    """Providers take only some names; of two that would become one, neither is guessed."""
    agent = mount("names", rename={"twice": "mine"})

    assert "odd_uber_so" not in agent.names
    assert all(len(name) <= 64 for name in agent.names)
    long = [name for name in agent.names if name.startswith("odd_aaa")]
    assert len(long) == len(set(long)) == 2
    assert "mine" in agent.names
    assert "odd_get_user" not in agent.names
    problems = "\n".join(agent.section.problems)
    assert "'getUser' and 'get_user': would both be called 'odd_get_user'" in problems
    assert "rename={'getUser': ...}" in problems
    assert "'twice': is listed twice; the first counts" in problems
    assert "odd_get_user" in mount("names", rename={"getUser": "other"}).names


def test_a_tool_cannot_take_a_name_of_ours(mount: Mount) -> None:
    """Without a prefix a server could name its tools after those that wink brings."""
    agent = mount("names", prefix="")

    assert "open_sections" not in agent.names
    assert any("open_sections" in problem for problem in agent.section.problems)


def test_schemas_that_cannot_be_used_cost_their_own_tools(mount: Mount) -> None:
    """One bad schema must not fail every request to a model."""
    agent = mount("schemas")

    assert agent.names == ["odd_good", "odd_lost", "odd_circle", "odd_bomb", "odd_slow", "odd_keys"]
    problems = "\n".join(agent.section.problems)
    for words in ("'array': is left out", "'nonsense': is left out", "more than 60 levels", "200000 are read"):
        assert words in problems
    assert agent.says("odd_good", n=3) == '{"n": 3}'


def test_hostile_schemas_cannot_hang_us(mount: Mount) -> None:
    """Their patterns take linear time, their references end, and lead nowhere outside."""
    agent = mount("schemas")

    assert "cannot be checked" in agent.fails("odd_lost", a=1)
    assert "cannot be checked" in agent.fails("odd_circle", a=1)
    assert "cannot be checked" in agent.fails("odd_bomb", a=1)
    assert "does not match" in agent.fails("odd_slow", a="a" * 5000 + "!")
    assert agent.says("odd_slow", a="aaa")
    assert agent.says("odd_keys", **{"a" * 100 + "!": 1}), "the server checks what we cannot"


def test_a_list_that_makes_no_sense_is_the_servers_own_trouble(mount: Mount) -> None:
    """Other sections go on."""
    section = McpSection("odd", command=[*ODD, "malformed"])
    mine = ToolsSection("Mine", [Tool[None, None]("mine", "Do it.")])
    prompt = Prompt(PromptTemplate(ns="test", key="both", sections=[section, mine]))

    rendered = prompt.render(session=Session())

    assert [tool.name for tool in rendered.tools] == ["mine"]
    assert "tool 1 of its list is left out, it makes no sense: name" in section.problems[0]
    prompt.cleanup()


def test_long_lists_and_texts_are_bounded(mount: Mount) -> None:
    """A server must not fill the model's window by itself."""
    agent = mount("many")

    assert len(agent.names) == 500
    assert any("only the first 500 tools are used" in problem for problem in agent.section.problems)
    assert len(agent.rendered.text) < 40_000
    assert "more are left out here" in agent.rendered.text
    assert mount("endless").names == []


def test_a_question_in_place_of_an_answer_fails_the_call(mount: Mount) -> None:
    """There is nobody to ask while a tool runs."""
    assert "makes no sense" in mount("input").fails("odd_call")


@pytest.mark.parametrize("host", ["usual", "with a thousand open files"])
def test_no_process_survives_a_cleanup_whatever_the_server_does(
    mount: Mount, tmp_path: Path, monkeypatch: Any, host: str, request: pytest.FixtureRequest
) -> None:
    """One that ignores the end of its input, and SIGTERM, with a child in a session of its own."""
    if host != "usual":
        request.getfixturevalue("thousand_files")  # `select` knows the first 1,024 only
    from wink_mcp.mount import _stdio

    monkeypatch.setattr(_stdio, "GRACE_SECONDS", 0.2)
    seen = tmp_path / "seen"
    agent = mount("stay", str(seen))
    agent.says("odd_call")
    pids = list(map(int, lines(seen)))
    assert len(pids) == 2
    assert all(map(is_alive, pids))

    monkeypatch.setattr(_stdio, "GRACE_SECONDS", 2.0)
    agent.prompt.cleanup()

    assert not any(map(is_alive, pids))


USE = """
import os, signal, sys
from wink_mcp import McpSection
section = McpSection("odd", command=sys.argv[2:])
section.connect()
{end}
"""


@pytest.mark.parametrize(
    "end",
    ["raise RuntimeError", "os._exit(1)", "os.kill(os.getpid(), signal.SIGKILL)"],
)
def test_no_process_survives_us_however_we_end(end: str, tmp_path: Path) -> None:
    """Killed too, and with a server that ignores everything but SIGKILL."""
    seen = tmp_path / "seen"
    subprocess.run(
        [sys.executable, "-c", USE.format(end=end), "x", *ODD, "stay", str(seen)],
        stderr=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )
    pids = list(map(int, lines(seen)))

    assert len(pids) == 2
    until(lambda: not any(map(is_alive, pids)))


def test_calls_from_many_threads_and_loops_share_one_server(mount: Mount) -> None:
    """One process, whoever calls."""
    agent = mount(effects="read")
    found: set[str] = set()

    def one(how: str) -> None:
        for _ in range(5):
            call = ToolCall("notes_where", {})
            executor = ToolExecutor(prompt=agent.prompt, rendered=agent.rendered, session=agent.session)
            reply = executor.execute(call) if how == "sync" else asyncio.run(executor.aexecute(call))
            found.add(reply.text)

    threads = [threading.Thread(target=one, args=(how,)) for how in ("sync", "async") * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 1


def test_a_section_that_nobody_holds_any_more_ends_its_server(tmp_path: Path) -> None:
    """Also without a cleanup."""
    import gc

    seen = tmp_path / "seen"
    section = McpSection("odd", command=[*ODD, "plain", str(seen)])
    section.connect()
    pid = int(lines(seen)[0])
    assert is_alive(pid)

    del section
    gc.collect()

    until(lambda: not is_alive(pid))


def test_the_back_off_ends_when_a_call_is_answered(mount: Mount) -> None:
    """A server that works again has no history."""
    agent = mount()
    pid = int(agent.says("notes_where").split()[0])
    for _ in range(len(connection.BACK_OFF_SECONDS)):
        os.kill(pid, signal.SIGKILL)
        until(lambda: not is_alive(pid))  # noqa: B023
        agent.render()
        pid = int(agent.says("notes_where").split()[0])
