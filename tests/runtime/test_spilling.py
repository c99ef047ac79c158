"""Results that are too long to be sent: kept whole, shown in part, read in pages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.states import made_state, state_of

from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.prompt import MarkdownSection, Prompt, PromptTemplate
from wink.record import KEPT_RESULTS, Results
from wink.runtime import RESULT_LIMIT, ResultKept, ToolCall, ToolExecutor, ToolInvoked, ToolReply, with_read_result
from wink.session import Session
from wink.tools import Tool, ToolContext, ToolResult
from wink.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Much:
    """How much to say, and how to end."""

    lines: int
    fails: bool = False


def say(params: Much, *, context: ToolContext) -> ToolResult[None]:
    """Write a file and say many lines."""
    context.filesystem.write("said.txt", "x")
    text = "\n".join(f"line {number}" for number in range(params.lines))
    return ToolResult(text, None, success=not params.fails)


SAY = Tool[Much, None](name="say", description="Say much.", handler=say)


def executor(session: Session, files: Filesystem, *tools: Tool[Any, Any], **options: Any) -> ToolExecutor:
    section = MarkdownSection(title="T", key="t", template="x", tools=tools or (SAY,))
    prompt = Prompt(PromptTemplate(ns="t", key="t", sections=[section])).bind(resources={Filesystem: files})
    rendered = with_read_result(prompt.render(session=session), session)
    return ToolExecutor(prompt=prompt, rendered=rendered, session=session, **options)


def pages(run: ToolExecutor, reply: ToolReply) -> str:
    """The whole result, put together of what a model reads in page after page."""
    told = re.search(r"read_result\(result_id='(\w+)', offset=(\d+)\)", reply.text)
    assert told is not None
    whole, offset = "", 0
    while True:
        page = run.execute(ToolCall("read_result", {"result_id": told[1], "offset": offset}))
        assert page.success
        whole += page.result.value.content
        offset = len(whole)
        if f"go on with offset={offset}" not in page.text:
            return whole


@pytest.mark.parametrize("fails", [False, True])
def test_a_long_result_is_shown_in_part_and_read_in_pages(tmp_path: Path, fails: bool) -> None:
    """Also when the call failed and was rolled back, and in a process that comes later."""
    whole = "\n".join(f"line {number}" for number in range(9_000))
    with Workspace.open(tmp_path) as workspace:
        session = workspace.session("s")
        reply = executor(session, workspace.filesystem).execute(ToolCall("say", {"lines": 9_000, "fails": fails}))
        assert reply.success is not fails
        assert len(reply.text) < RESULT_LIMIT < len(whole)
        assert reply.text.startswith("line 0\nline 1\n")
        assert reply.text.endswith("\nline 8999")
        assert session[ToolInvoked].latest().rendered_output == reply.text  # type: ignore[union-attr]
        assert workspace.calls()[0].rendered == reply.text

    with Workspace.open(tmp_path) as workspace:
        session = workspace.session("s")
        assert pages(executor(session, workspace.filesystem), reply) == whole


def test_sessions_without_a_workspace_keep_their_results_themselves() -> None:
    """A run in memory reads them like any other; another session knows nothing of them."""
    session, files = Session(), InMemoryFilesystem()
    run = executor(session, files, result_limit=1_000)
    reply = run.execute(ToolCall("say", {"lines": 500}))
    assert len(reply.text) <= 1_000
    assert pages(run, reply) == "\n".join(f"line {number}" for number in range(500))

    told = re.search(r"result_id='(\w+)'", reply.text)
    assert told is not None
    strange = executor(Session(), files).execute(ToolCall("read_result", {"result_id": told[1]}))
    assert not strange.success
    assert "is not kept" in strange.text


def test_the_tool_is_offered_once_there_is_something_to_read() -> None:
    """A prompt of short results never shows it."""
    session, files = Session(), InMemoryFilesystem()
    section = MarkdownSection(title="T", key="t", template="x", tools=[SAY])
    prompt = Prompt(PromptTemplate(ns="t", key="t", sections=[section])).bind(resources={Filesystem: files})
    rendered = prompt.render(session=session)
    assert with_read_result(rendered, session) is rendered
    executor(session, files).execute(ToolCall("say", {"lines": 20_000}))
    assert [tool.name for tool in with_read_result(rendered, session).tools] == ["say", "read_result"]
    assert with_read_result(rendered, Session(), always=True).tool("read_result") is not None


def test_what_was_asked_for_wrongly_is_answered_with_what_there_is() -> None:
    """An id that never was, and a place behind the end."""
    session, files = Session(), InMemoryFilesystem()
    run = executor(session, files, result_limit=1_000)
    assert "there are none" in run.execute(ToolCall("read_result", {"result_id": "00"})).text
    run.execute(ToolCall("say", {"lines": 500}))
    kept = session[ResultKept].latest()
    assert kept is not None
    assert kept.result_id in run.execute(ToolCall("read_result", {"result_id": "../x"})).text
    beyond = run.execute(ToolCall("read_result", {"result_id": kept.result_id, "offset": kept.characters}))
    assert "at or after the end" in beyond.text


def test_a_result_that_cannot_be_kept_is_still_answered(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The call has succeeded; the reply says that the rest is gone."""
    with Workspace.open(tmp_path) as workspace:
        made_state(tmp_path)
        (state_of(tmp_path) / "results").write_text("in the way")
        reply = executor(workspace.session("s"), workspace.filesystem).execute(ToolCall("say", {"lines": 9_000}))
    assert reply.success
    assert "are left out, and could not be kept (WorkspaceReadOnly)" in reply.text
    assert "could not be kept" in caplog.text


def test_a_limit_too_small_to_say_anything_is_refused() -> None:
    """It must leave room for the way to the rest."""
    with pytest.raises(ValueError, match="at least 1000"):
        executor(Session(), InMemoryFilesystem(), result_limit=10)


def test_the_oldest_results_give_way(tmp_path: Path) -> None:
    """Whoever runs for weeks must not fill the disk with what nobody reads."""
    results = Results(str(state_of(tmp_path)))
    for number in range(KEPT_RESULTS + 3):
        results.keep(f"{number:08x}", str(number))
    assert len(list((state_of(tmp_path) / "results").iterdir())) == KEPT_RESULTS
    assert results.find(f"{KEPT_RESULTS + 2:08x}") == str(KEPT_RESULTS + 2)
    assert results.find("../../etc/passwd") is None


def test_a_link_in_the_place_of_a_result_is_not_followed(tmp_path: Path) -> None:
    """The state may have come with a workspace from a stranger."""
    (tmp_path / "secret").write_text("secret")
    (made_state(tmp_path) / "results").mkdir()
    (state_of(tmp_path) / "results" / "0badcafe.txt").symlink_to(tmp_path / "secret")
    assert Results(str(state_of(tmp_path))).find("0badcafe") is None


def test_a_session_in_memory_keeps_no_more_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few results can be as large as many; the newest one is always there."""
    monkeypatch.setattr("wink.runtime._spill._CHARACTERS_IN_MEMORY", 5_000)
    session = Session()
    run = executor(session, InMemoryFilesystem(), result_limit=1_000)
    replies = [run.execute(ToolCall("say", {"lines": 400})) for _ in range(3)]
    assert pages(run, replies[-1]).endswith("line 399")
    kept = [one.result_id for one in session[ResultKept].all()]
    found = [run.execute(ToolCall("read_result", {"result_id": one})).success for one in kept]
    assert found == [False, False, True]
