"""A run that waits for approval is begun in one process, answered in a second, and goes on in a third."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.approvals.working import WORKING, Work
from tests.states import adopted

from wink.adapters import RecordJournal
from wink.errors import ApprovalChanged, RunBusy, StateNotKnown, UnknownRun
from wink.runtime import Answer, answer_approval, pending_approvals
from wink.workspace import Workspace

YES: dict[str, Any] = {"approved": True}


@pytest.fixture
def work(tmp_path: Path) -> Work:
    """A place where nothing has happened."""
    (tmp_path / "w").mkdir()
    return Work(tmp_path / "w", tmp_path / "outside.txt")


def step(work: Work, what: str, *arguments: str) -> Any:
    """Take one step in a process of its own."""
    command = [sys.executable, WORKING, what, str(work.root), str(work.outside), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def answers(work: Work, **said: dict[str, Any]) -> Any:
    """Answer in a process of its own, by what the calls say."""
    return step(work, "answer", json.dumps({f"ask-{name}": answer for name, answer in said.items()}))


def test_a_run_is_suspended_answered_and_resumed_by_three_processes(work: Work) -> None:
    """Siblings run meanwhile, each once; what was approved together runs together."""
    assert step(work, "go") == "suspended a1 a2 a3"
    assert (work.ran, work.sent) == (["first", "second"], [])

    assert answers(work, one=YES, two=YES, three=YES) == ["a1", "a2", "a3"]
    assert step(work, "go") == "done"

    assert work.ran == ["first", "second", "ask-one", "ask-three", "third"]
    assert work.sent == ["ask-two", "freely"]
    with Workspace.open(work.root) as workspace:
        used = [row.state for row in workspace.record.approvals.rows()]
        assert used == ["used"] * 3
        assert [call.outcome for call in workspace.calls()] == ["committed"] * 7
        with pytest.raises(UnknownRun, match="there is no such run"):
            RecordJournal.resume(workspace)


def test_what_nobody_has_answered_yet_waits_on_under_its_name(work: Work) -> None:
    """A run goes on as far as it can, as often as somebody resumes it."""
    step(work, "go")
    answers(work, two=YES)

    assert step(work, "go") == "suspended a1 a3"
    assert step(work, "go") == "suspended a1 a3"
    assert (work.ran, work.sent) == (["first", "second"], ["ask-two"])
    answers(work, one=YES, three={"approved": False, "note": "two are enough"})
    assert step(work, "go") == "done"
    assert work.ran == ["first", "second", "ask-one", "third"]
    assert work.texts()["ask-three"] == "denied by a person: two are enough"


def test_edited_arguments_run_in_place_of_the_models(work: Work) -> None:
    """They were approved as the person wrote them; the model is told."""
    step(work, "go")
    answers(work, one={**YES, "arguments": '{"text": "ask-other"}'}, two=YES, three={"approved": False})

    assert step(work, "go") == "done"
    assert work.ran == ["first", "second", "ask-other", "third"]
    assert work.texts()["ask-other"].startswith('a person changed the arguments to {"text":"ask-other"}\n')


def by_an_editor(work: Work) -> None:
    (work.root / "ran.txt").write_text("first\nsecond\nby hand\n")


def by_another_session(work: Work) -> None:
    with Workspace.open(work.root) as workspace:
        workspace.filesystem.write("unrelated.txt", "by somebody else")


CHANGES = [by_an_editor, by_another_session]


@pytest.mark.parametrize("change", CHANGES)
def test_on_a_changed_workspace_it_is_asked_again(work: Work, change: Callable[[Work], None]) -> None:
    """An answer was given to what there was; the new question has a name of its own."""
    step(work, "go")
    answers(work, one=YES, two=YES, three=YES)
    change(work)

    assert step(work, "go") == "suspended a4 a5 a6"
    assert work.sent == []
    assert "ask-one" not in work.ran
    assert answers(work, one=YES, two=YES, three=YES) == ["a4", "a5", "a6"]
    assert step(work, "go") == "done"
    assert sorted(set(work.ran) - {"by", "hand"}) == sorted(["first", "second", "ask-one", "ask-three", "third"])
    assert work.ran.count("ask-one") == work.ran.count("ask-three") == work.sent.count("ask-two") == 1


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_changed_cannot_be_approved_unseen(work: Work, change: Callable[[Work], None]) -> None:
    """The person looks again, and answers the new question."""
    step(work, "go")
    change(work)

    with Workspace.open(work.root) as workspace:
        with pytest.raises(ApprovalChanged, match="a1 was not answered") as raised:
            answer_approval(workspace, "a1", Answer(True))
        assert raised.value.changes
        assert raised.value.instead.id == "a4"
        assert [request.id for request in pending_approvals(workspace)] == ["a2", "a3", "a4"]
        answer_approval(workspace, "a4", Answer(True))
    assert step(work, "go") == "suspended a5 a6"
    assert work.ran.count("ask-one") == 1


def test_a_denial_holds_whatever_has_changed(work: Work) -> None:
    """No is no."""
    step(work, "go")
    answers(work, one={"approved": False}, two={"approved": False}, three={"approved": False, "note": "never"})
    by_another_session(work)

    assert step(work, "go") == "done"
    assert (work.ran, work.sent) == (["first", "second", "third"], ["freely"])


@pytest.mark.parametrize(("tool", "text"), [("write", "ask-alone"), ("send", "ask-alone")])
def test_of_two_processes_one_uses_the_approval(work: Work, tool: str, text: str) -> None:
    """However they come together, for each kind of tool."""
    for round_ in range(1, 4):
        command = [sys.executable, WORKING, "alone", str(work.root), str(work.outside), tool, text]
        assert step_with_input(command) is False
        assert answers(work, alone=YES)
        both = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        for process in both:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        ended = [json.loads(process.communicate(timeout=120)[0]) for process in both]

        assert sorted(ended) == [False, True]
        assert (work.ran + work.sent).count(text) == round_
        with Workspace.open(work.root) as workspace:
            # The other one has asked anew.
            for request in pending_approvals(workspace):
                answer_approval(workspace, request.id, Answer(False))
        assert step_with_input(command) is False


def step_with_input(command: list[str]) -> Any:
    done = subprocess.run(command, input="\n", capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_one_process_at_a_time_works_on_a_run(work: Work) -> None:
    """Two that resumed it together would both execute what is left."""
    step(work, "go")
    with Workspace.open(work.root) as workspace, RecordJournal.resume(workspace) as journal:
        command = [sys.executable, WORKING, "go", str(work.root), str(work.outside)]
        other = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert "RunBusy: another process works on run r1" in other.stderr
        with Workspace.open(work.root) as again, pytest.raises(RunBusy):
            RecordJournal.resume(again)
        assert (journal.run_id, journal.attempt) == ("r1", 2)
    assert step(work, "go") == "suspended a1 a2 a3"


def test_a_copy_of_a_workspace_brings_neither_answers_nor_runs(work: Work, tmp_path: Path) -> None:
    """Whoever sends somebody a directory must not have answered for them."""
    import shutil

    step(work, "go")
    answers(work, one=YES, two=YES, three=YES)
    shutil.copytree(work.root, tmp_path / "copy", symlinks=True)
    with pytest.raises(StateNotKnown):
        Workspace.open(tmp_path / "copy")
    adopted(tmp_path / "copy")
    copy = Work(tmp_path / "copy", tmp_path / "elsewhere.txt")

    with Workspace.open(copy.root) as workspace, pytest.raises(UnknownRun, match="no run can be resumed"):
        RecordJournal.resume(workspace)
    assert copy.go().startswith("suspended")
    assert copy.sent == []
    assert copy.ran == ["first", "second", "first", "second"]
