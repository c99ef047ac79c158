"""Calls that policies leave to a person run with an answer that stands for exactly them, once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.conftest import Note, Rig, Text, change_everything, press_ctrl_c

from wink.errors import ApprovalChanged, ApprovalRequired, ParseError, PromptEvaluationError, UnknownApproval
from wink.filesystem import HostFilesystem, InMemoryFilesystem
from wink.limits import Deadline
from wink.policies import PolicyDecision
from wink.runtime import (
    Answer,
    ApprovalAnswered,
    ApprovalRequest,
    ApprovalRequested,
    SuspendRun,
    ToolCall,
    ToolExecutor,
    answer_approval,
    pending_approvals,
)
from wink.session import Session
from wink.tools import ToolContext, ToolResult
from wink.workspace import Workspace


@dataclass
class Asks:
    """Asks about every call, with a reason that a test may change; denies what a test says."""

    reason: str = "look at it"
    denies: tuple[str, ...] = ()
    name: str = "asks"
    seen: list[str] = field(default_factory=list[Any])

    def check(self, tool: Any, params: Any, *, context: ToolContext) -> PolicyDecision:
        self.seen.append(params.text)
        return PolicyDecision.deny("never") if params.text in self.denies else PolicyDecision.ask(self.reason)

    def on_result(self, tool: Any, params: Any, result: Any, *, context: ToolContext) -> None:
        """Nothing to learn."""


@dataclass
class People:
    """Answer what a test has them say, one after the other, and remember what they were asked."""

    answers: list[Answer | Callable[[ApprovalRequest], Answer | None] | None]
    suspends: bool = False
    asked: list[ApprovalRequest] = field(default_factory=list[Any])

    async def answer(self, request: ApprovalRequest) -> Answer | None:
        self.asked.append(request)
        said = self.answers.pop(0)
        return said(request) if callable(said) else said


YES, NO = Answer(True), Answer(False, "not today")


def change(params: Text, *, context: ToolContext) -> ToolResult[Note]:
    """Write, so that it can be seen how often it ran."""
    context.filesystem.append("ran.txt", f"{params.text}\n")
    return ToolResult[Note].ok(Note(params.text))


def asking(rig: Rig, approvals: Any = None, **options: Any) -> Asks:
    """Let everything be asked about, and give the rig's executor somebody to ask."""
    policy = Asks()
    rig.policies.append(policy)
    if not rig.tools:
        rig.tool(change, **options)
    rig.approvals = approvals
    return policy


def ran(rig: Rig) -> list[str]:
    """What the tool was run with."""
    return rig.filesystem.read("ran.txt").content.split() if rig.filesystem.exists("ran.txt") else []


def test_an_approved_call_runs_once_and_what_is_seen_of_it_is_one_call(rig: Rig) -> None:
    """The person is shown the arguments as the tool takes them, and the turn is free while they think."""
    told: list[object] = []
    for kind in (ApprovalRequested, ApprovalAnswered):
        rig.session.dispatcher.subscribe(kind, told.append)

    def free(request: ApprovalRequest) -> Answer:
        assert not rig.filesystem.write_lock.is_held
        return YES

    people = People([free])
    asking(rig, people)

    reply = rig.call("change", '{ "text" : "x" }')

    assert (reply.success, reply.text, ran(rig)) == (True, "OK\n\nnoted x", ["x"])
    (request,) = people.asked
    assert (request.tool, request.arguments, request.reason) == ("change", '{"text":"x"}', "look at it")
    assert [type(event).__name__ for event in told] == ["ApprovalRequested", "ApprovalAnswered"]
    assert [(verdict.allowed, verdict.asks) for verdict in rig.event.decisions] == [(False, True)]
    assert rig.event.success


def test_an_answer_is_used_once(rig: Rig) -> None:
    """The same call again is another call."""
    people = People([YES, NO])
    asking(rig, people)

    replies = [rig.call("change", text="x") for _ in range(2)]

    assert [reply.success for reply in replies] == [True, False]
    assert replies[1].text == "denied by a person: not today"
    assert len(people.asked) == 2
    assert people.asked[0].id != people.asked[1].id
    assert ran(rig) == ["x"]


def test_without_people_the_call_is_denied_until_somebody_has_answered(rig: Rig) -> None:
    """The model is told how it can be approved; asking again does not make another request."""
    asking(rig)

    first, second = rig.call("change", text="x"), rig.call("change", text="x")
    (request,) = pending_approvals(rig.session)

    assert not first.success
    assert first.text == second.text
    assert first.text.startswith(f"change needs approval ({request.id}): look at it; ")
    assert rig.events[0].decisions[0].asks
    answer_approval(rig.session, request.id, Answer(True, "go on"))
    third, fourth = rig.call("change", text="x"), rig.call("change", text="x")
    assert (third.success, third.text) == (True, "approved by a person: go on\nOK\n\nnoted x")
    assert not fourth.success
    assert ran(rig) == ["x"]


def test_a_stored_denial_is_told_once(rig: Rig) -> None:
    """With the person's words; after that it is asked again."""
    asking(rig)
    rig.call("change", text="x")
    answer_approval(rig.session, "a1", NO)

    assert rig.call("change", text="x").text == "denied by a person: not today"
    assert "needs approval (a2)" in rig.call("change", text="x").text
    assert ran(rig) == []


def test_one_who_suspends_leaves_no_trace_and_no_event(rig: Rig) -> None:
    """The call has not ended; siblings run."""
    asking(rig, SuspendRun())

    with pytest.raises(ApprovalRequired) as raised:
        rig.call("change", text="x")

    assert raised.value.request == pending_approvals(rig.session)[0]
    assert rig.events == []
    assert ran(rig) == []
    answer_approval(rig.session, raised.value.request.id, YES)
    assert rig.call("change", text="x").success
    assert ran(rig) == ["x"]


def test_edited_arguments_are_seen_by_the_policies_and_by_the_tool(rig: Rig) -> None:
    """The model is told what was run in place of what it asked for."""
    people = People([Answer(True, "shorter", '{"text": "y"}')])
    policy = asking(rig, people)

    reply = rig.call("change", text="x")

    assert reply.text == 'a person changed the arguments to {"text":"y"}: shorter\nOK\n\nnoted y'
    assert (ran(rig), rig.event.params) == (["y"], Text("y"))
    assert policy.seen == ["x", "x", "y"]
    assert len(people.asked) == 1


def test_edited_arguments_may_still_be_denied(rig: Rig) -> None:
    """A person cannot approve what a policy denies."""
    policy = asking(rig, People([Answer(True, "", '{"text": "y"}')]))
    policy.denies = ("y",)

    assert rig.call("change", text="x").text == "never"
    assert ran(rig) == []


@pytest.mark.parametrize("arguments", ["[]", "no json", '{"text": 1}', '{"text": "y", "more": 2}'])
def test_arguments_that_the_tool_does_not_take_are_told(rig: Rig, arguments: str) -> None:
    """People make mistakes too; nothing runs."""
    asking(rig, People([Answer(True, "", arguments)]))

    reply = rig.call("change", text="x")

    assert not reply.success
    assert "not valid" in reply.text
    assert ran(rig) == []
    assert [verdict.asks for verdict in rig.event.decisions] == [True]


def test_another_reason_is_another_question(rig: Rig) -> None:
    """A person answers to what they were told."""
    policy = asking(rig)
    rig.call("change", text="x")
    answer_approval(rig.session, "a1", YES)
    policy.reason = "look at it once more"

    assert "needs approval (a2): look at it once more" in rig.call("change", text="x").text
    with pytest.raises(UnknownApproval, match="a1 does not stand any more; it is asked again as a2; these wait: a2"):
        answer_approval(rig.session, "a1", YES)
    assert ran(rig) == []


def test_a_reason_that_edited_arguments_change_is_another_question(rig: Rig) -> None:
    """The person saw the reason for other arguments."""

    class Quotes(Asks):
        def check(self, tool: Any, params: Any, *, context: ToolContext) -> PolicyDecision:
            return PolicyDecision.ask(f"it says {params.text}")

    people = People([Answer(True, "", '{"text": "y"}'), YES])
    rig.policies.append(Quotes())
    rig.tool(change)
    rig.approvals = people

    assert rig.call("change", text="x").text.startswith('a person changed the arguments to {"text":"y"}\n')
    assert [request.reason for request in people.asked] == ["it says x", "it says y"]
    assert ran(rig) == ["y"]


@pytest.mark.parametrize("effects", ["workspace", "external", "process", "read"])
def test_an_approval_stands_for_the_files_as_they_were(rig: Rig, effects: Any) -> None:
    """What the session knows of, what the arguments name, and for programs everything else, must not have changed."""

    @rig.tool(effects=effects)
    def look(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        return ToolResult[Note].ok(Note(params.text))

    asking(rig)
    rig.call("look", text="a.txt")
    answer_approval(rig.session, "a1", YES)
    rig.filesystem.write("a.txt", "other\n")

    assert "needs approval (a2)" in rig.call("look", text="a.txt").text
    answer_approval(rig.session, "a2", YES)
    assert rig.call("look", text="a.txt").success


@pytest.mark.parametrize(
    ("effects", "asks_again"), [("workspace", False), ("read", False), ("process", True), ("external", True)]
)
def test_an_editor_that_changes_other_files_matters_to_programs_only(
    tmp_path: Path, effects: Any, asks_again: bool
) -> None:
    """A tool that names a file is about this file; a command may depend on all of them, but for what git ignores."""
    (tmp_path / ".gitignore").write_text("ignored/\n")
    (tmp_path / "ignored").mkdir()
    with Workspace.open(tmp_path) as workspace:
        rig = Rig(workspace.filesystem, workspace.session())

        @rig.tool(effects=effects)
        def look(params: Text, *, context: ToolContext) -> ToolResult[Note]:
            return ToolResult[Note].ok(Note(params.text))

        asking(rig)
        rig.call("look", text="x")
        answer_approval(workspace, "a1", YES)
        (tmp_path / "ignored" / "log.txt").write_text("more")
        rows = workspace.record.approvals.rows
        assert [row.number for row in rows(states=("approved",))] == [1]
        (tmp_path / "unrelated.txt").write_text("new")

        assert rig.call("look", text="x").success is not asks_again


def test_a_file_that_the_session_knows_must_not_have_changed(tmp_path: Path) -> None:
    """The model may have called the tool because of what it read there."""
    with Workspace.open(tmp_path) as workspace:
        rig = Rig(workspace.filesystem, workspace.session())

        @rig.tool(effects="read")
        def look(params: Text, *, context: ToolContext) -> ToolResult[Note]:
            return ToolResult[Note].ok(Note(context.filesystem.read("dir/b.txt").content))

        rig.tool(change)
        rig.call("look")
        asked = Rig(workspace.filesystem, rig.session, tools=rig.tools)
        asking(asked)
        asked.call("change", text="x")
        (tmp_path / "dir" / "b.txt").write_text("by an editor")

        with pytest.raises(ApprovalChanged) as raised:
            answer_approval(workspace, "a1", YES)

    assert raised.value.changes == ("dir/b.txt has changed",)
    assert raised.value.instead.id == "a2"
    assert str(raised.value) == (
        "a1 was not answered, since it was asked dir/b.txt has changed; it is asked again as a2"
    )


def test_what_another_session_does_makes_it_another_question(tmp_path: Path) -> None:
    """By a call or directly, in any file."""
    with Workspace.open(tmp_path) as workspace:
        rig = Rig(workspace.filesystem, workspace.session())
        asking(rig)
        rig.call("change", text="x")
        answer_approval(workspace, "a1", YES)
        other = Rig(workspace.filesystem, workspace.session("other"))
        other.tool(change)
        other.call("change", text="unrelated")

        assert "needs approval (a2)" in rig.call("change", text="x").text
        (request,) = pending_approvals(workspace)
        assert request.session == "default"
        answer_approval(workspace, "a2", YES)
        workspace.filesystem.write("more.txt", "direct")
        assert "needs approval (a3)" in rig.call("change", text="x").text


def test_a_person_who_takes_long_is_asked_again_when_something_has_changed_meanwhile(rig: Rig) -> None:
    """The answer was to something else."""

    def slow(request: ApprovalRequest) -> Answer:
        rig.filesystem.write("a.txt", "meanwhile\n")
        return YES

    people = People([slow, YES])
    asking(rig, people)

    assert rig.call("change", text="a.txt").success
    assert len({request.fingerprint for request in people.asked}) == 2
    assert ran(rig) == ["a.txt"]


def test_a_person_is_not_asked_for_ever(rig: Rig) -> None:
    """What changes all the time cannot be approved."""
    count = iter(range(100))

    def slow(request: ApprovalRequest) -> Answer:
        rig.filesystem.write("a.txt", f"{next(count)}\n")
        return YES

    people = People([slow] * 20)
    asking(rig, people)

    reply = rig.call("change", text="a.txt")

    assert "was asked about 5 times" in reply.text
    assert len(people.asked) == 5
    assert ran(rig) == []


def test_calls_of_one_turn_are_approved_together(rig: Rig) -> None:
    """Siblings that ran before anybody was told, and those that were approved beside it, change nothing for a call."""
    rig.tool(change)

    class Some(Asks):
        def check(self, tool: Any, params: Any, *, context: ToolContext) -> PolicyDecision:
            return PolicyDecision.ask("look") if params.text.startswith("ask") else PolicyDecision.allow()

    rig.policies.append(Some())
    rig.approvals = SuspendRun()
    calls = [ToolCall("change", {"text": text}, text) for text in ("one", "ask-two", "three", "ask-four", "five")]

    outcomes = rig.executor.execute_batch(calls, return_exceptions=True)
    requests = [outcome.request for outcome in outcomes if isinstance(outcome, ApprovalRequired)]

    assert ran(rig) == ["one", "three", "five"]
    assert [request.call_id for request in requests] == ["ask-two", "ask-four"]
    assert tuple(requests) == pending_approvals(rig.session)
    for request in requests:
        answer_approval(rig.session, request.id, YES)
    again = rig.executor.execute_batch([call for call in calls if call.call_id.startswith("ask")])
    assert [reply.success for reply in again] == [True, True]
    assert ran(rig) == ["one", "three", "five", "ask-two", "ask-four"]


def test_a_call_that_fails_keeps_its_approval(rig: Rig) -> None:
    """It was rolled back: nothing of what was approved has happened."""
    fails = True

    @rig.tool
    def shaky(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        change_everything(context)
        return ToolResult[Note].error("no") if fails else ToolResult[Note].ok(Note("done"))

    people = People([YES])
    asking(rig, people)

    assert not rig.call("shaky", text="x").success
    rig.assert_nothing_happened()
    fails = False
    assert rig.call("shaky", text="x").success
    assert len(people.asked) == 1


@pytest.mark.parametrize("effects", ["process", "external"])
def test_a_failed_call_that_may_have_left_traces_has_used_its_approval(rig: Rig, effects: Any) -> None:
    """Nobody has approved of a second try."""

    @rig.tool(effects=effects)
    def shaky(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        return ToolResult[Note].error("no")

    people = People([YES, NO])
    asking(rig, people)

    assert [rig.call("shaky", text="x").text for _ in range(2)] == ["no", "denied by a person: not today"]


@pytest.mark.parametrize("wrong", [RuntimeError("gone"), "yes", True])
def test_people_who_cannot_be_asked_approve_nothing(rig: Rig, wrong: Any) -> None:
    """A connection breaks; the call is denied like one that nobody could be asked about."""

    class Broken:
        suspends = False

        async def answer(self, request: ApprovalRequest) -> Any:
            if isinstance(wrong, Exception):
                raise wrong
            return wrong

    asking(rig, Broken())

    assert "needs approval (a1)" in rig.call("change", text="x").text
    assert ran(rig) == []


def test_a_plain_function_may_answer_too(rig: Rig) -> None:
    """A prompt in a terminal blocks."""

    class Plain:
        suspends = False

        def answer(self, request: ApprovalRequest) -> Answer:
            return YES

    asking(rig, Plain())

    assert rig.call("change", text="x").success
    assert ran(rig) == ["x"]


def test_an_interrupt_at_the_prompt_ends_the_call(rig: Rig) -> None:
    """Whoever answers for people decides what an interrupt means; here it is nothing but one."""

    class Plain:
        suspends = True

        def answer(self, request: ApprovalRequest) -> Answer | None:
            press_ctrl_c()

    asking(rig, Plain())

    with pytest.raises(KeyboardInterrupt):
        rig.call("change", text="x")

    assert not rig.filesystem.write_lock.is_held
    assert ran(rig) == []


def test_on_a_running_loop_others_work_while_a_person_thinks(rig: Rig) -> None:
    """The person is awaited, and the turn is free."""
    asked = asyncio.Event()
    others: list[bool] = []

    class Slow:
        suspends = False

        async def answer(self, request: ApprovalRequest) -> Answer:
            asked.set()
            while not others:
                await asyncio.sleep(0)
            return YES

    asking(rig, Slow())
    free = Rig(rig.filesystem, Session())
    free.tool(change)

    async def work() -> None:
        waiting = asyncio.ensure_future(rig.executor.aexecute(ToolCall("change", {"text": "slow"})))
        await asked.wait()
        others.append((await free.executor.aexecute(ToolCall("change", {"text": "quick"}))).success)
        await waiting

    asyncio.run(work())

    assert others == [True]
    # In a workspace the other call is a recorded change, so that it is asked again; the answer is the same.
    assert ran(rig) == ["quick", "slow"]


def test_a_deadline_ends_the_waiting(rig: Rig) -> None:
    """A run that is out of time does not wait for people."""
    rig.deadline = Deadline.after(0.05)

    class Never:
        suspends = True

        async def answer(self, request: ApprovalRequest) -> Answer | None:
            await asyncio.Event().wait()
            return YES

    asking(rig, Never())

    with pytest.raises(PromptEvaluationError):
        rig.call("change", text="x")
    assert ran(rig) == []


def test_reads_that_run_together_are_asked_about_one_after_the_other(rig: Rig) -> None:
    """Each in its turn, however many threads there are."""

    @rig.tool(effects="read")
    def look(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        return ToolResult[Note].ok(Note(params.text))

    people = People([YES, NO, YES])
    asking(rig, people)

    replies = rig.batch(*(ToolCall("look", {"text": text}) for text in "abc"))

    assert [reply.success for reply in replies] == [True, False, True]
    assert [json.loads(request.arguments)["text"] for request in people.asked] == ["a", "b", "c"]


def test_a_call_inside_a_call_is_asked_about_in_its_place(rig: Rig) -> None:
    """The call around it goes on with the answer."""
    people = People([YES])
    rig.tool(change)

    @rig.tool
    def outer(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        context.filesystem.write("outer.txt", "x")
        inner = ToolExecutor(
            prompt=context.prompt, rendered=rig.rendered, session=context.session, approvals=people
        ).execute(ToolCall("change", {"text": "inner"}))
        return ToolResult[Note].ok(Note(inner.text))

    class Inner(Asks):
        def check(self, tool: Any, params: Any, *, context: ToolContext) -> PolicyDecision:
            return PolicyDecision.ask("look") if tool.name == "change" else PolicyDecision.allow()

    rig.policies.append(Inner())

    assert rig.call("outer", text="o").text.endswith("noted inner")
    assert (ran(rig), len(people.asked)) == (["inner"], 1)


def test_a_call_inside_a_call_that_suspends_is_approved_for_the_next_time(rig: Rig) -> None:
    """The call around it is made again as a whole, and comes to the same question with the answer at hand."""
    rig.tool(change)

    @rig.tool
    def outer(params: Text, *, context: ToolContext) -> ToolResult[Note]:
        context.filesystem.write("a.txt", "written by the outer call")
        inner = ToolExecutor(
            prompt=context.prompt, rendered=rig.rendered, session=context.session, approvals=SuspendRun()
        ).execute(ToolCall("change", {"text": "a.txt"}))
        return ToolResult[Note].ok(Note(inner.text))

    class Inner(Asks):
        def check(self, tool: Any, params: Any, *, context: ToolContext) -> PolicyDecision:
            return PolicyDecision.ask("look") if tool.name == "change" else PolicyDecision.allow()

    rig.policies.append(Inner())

    with pytest.raises(ApprovalRequired) as raised:
        rig.call("outer", text="o")
    rig.assert_nothing_happened()
    assert rig.events == []
    answer_approval(rig.session, raised.value.request.id, YES)
    assert rig.call("outer", text="o").success
    assert ran(rig) == ["a.txt"]


def test_arguments_that_are_no_object_are_refused_when_they_are_given(rig: Rig) -> None:
    """Before anything is stored."""
    asking(rig)
    rig.call("change", text="x")

    with pytest.raises(ParseError):
        answer_approval(rig.session, "a1", Answer(True, "", "[1]"))
    for unknown in ("a7", "7", "x", ""):
        with pytest.raises(UnknownApproval, match="is no request for approval; these wait: a1"):
            answer_approval(rig.session, unknown, YES)
    assert [request.id for request in pending_approvals(rig.session)] == ["a1"]


def test_a_workspace_that_cannot_be_written_to_asks_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing can be stored; the session keeps it."""
    (tmp_path / "a.txt").write_text("x")
    monkeypatch.setattr("os.access", lambda *_: False)
    with Workspace.open(tmp_path) as workspace:
        session = workspace.session()
        rig = Rig.__new__(Rig)
        rig.__dict__.update(
            filesystem=workspace.filesystem, session=session, tools=[], policies=[], prompt_policies=[], resources={},
            deadline=None, budget_tracker=None, approvals=None, events=[], _prompt=None, _executor=None,
        )  # fmt: skip

        @rig.tool(effects="read")
        def look(params: Text, *, context: ToolContext) -> ToolResult[Note]:
            return ToolResult[Note].ok(Note(params.text))

        asking(rig, People([YES]))

        assert rig.call("look", text="a.txt").success


def test_requests_of_many_sessions_do_not_mix() -> None:
    """What one session was allowed, another was not."""
    files = InMemoryFilesystem()
    rigs = [Rig(files, Session()), Rig(files, Session())]
    for rig in rigs:
        asking(rig)
        rig.call("change", text="x")
    answer_approval(rigs[0].session, "a1", YES)

    assert [rig.call("change", text="x").success for rig in rigs] == [True, False]


def test_files_without_a_record_count_as_a_whole(tmp_path: Path) -> None:
    """Nobody writes down who changes them."""
    filesystem = HostFilesystem(tmp_path)
    rig = Rig(filesystem, Session())
    asking(rig)
    rig.call("change", text="x")
    answer_approval(rig.session, "a1", YES)
    (tmp_path / "unrelated.txt").write_text("new")

    assert "needs approval (a2)" in rig.call("change", text="x").text
    filesystem.close()


def test_what_a_person_may_have_seen_does_not_change_under_its_name(tmp_path: Path) -> None:
    """The model asks once more, and its other calls of that turn change files: the answer was to what there was before."""
    with Workspace.open(tmp_path) as workspace:
        rig = Rig(workspace.filesystem, workspace.session())

        class Some(Asks):
            def check(self, tool: Any, params: Any, *, context: ToolContext) -> PolicyDecision:
                return PolicyDecision.ask("look") if params.text == "ask" else PolicyDecision.allow()

        rig.policies.append(Some())
        rig.tool(change)
        asked, free = ToolCall("change", {"text": "ask"}), ToolCall("change", {"text": "free"})

        first = rig.batch(asked, free)
        second = rig.batch(asked, free)

        assert first[0].text == second[0].text
        with pytest.raises(ApprovalChanged):
            answer_approval(workspace, "a1", YES)


def test_where_a_request_cannot_be_stored_the_call_is_denied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It must not run unasked because a disk is full."""
    from wink.errors import CommitFailed

    def full(*_: Any) -> Any:
        raise CommitFailed("nothing was stored: the disk is full")

    with Workspace.open(tmp_path) as workspace:
        rig = Rig(workspace.filesystem, workspace.session())
        asking(rig, People([YES]))
        monkeypatch.setattr("wink.record._ledger.Ledger.change", full)

        reply = rig.call("change", text="x")

        assert reply.text == "change needs approval, and cannot be asked about now: nothing can be stored"
        assert ran(rig) == []


def test_what_acts_outside_does_not_begin_where_that_cannot_be_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a crash nobody would know of it."""
    from wink.errors import CommitFailed
    from wink.record import Record

    def full(*_: Any) -> Any:
        raise CommitFailed("nothing was stored: the disk is full")

    with Workspace.open(tmp_path) as workspace:
        rig = Rig(workspace.filesystem, workspace.session())
        sent: list[str] = []

        @rig.tool(effects="external")
        def send(params: Text, *, context: ToolContext) -> ToolResult[Note]:
            sent.append(params.text)
            return ToolResult[Note].ok(Note("sent"))

        assert rig.call("send", text="one").success
        assert workspace.record.runs.started() == ()
        monkeypatch.setattr(Record, "start", full)

        assert rig.call("send", text="two").text == "send was not run: that it begins cannot be recorded"
        assert sent == ["one"]
