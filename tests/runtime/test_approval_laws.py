"""Whatever people and models do in whatever order, a call runs only with an answer to exactly it, and once for each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.conftest import Note, Rig, Text

from wink.errors import ApprovalChanged, UnknownApproval
from wink.filesystem import InMemoryFilesystem
from wink.policies import PolicyDecision
from wink.runtime import Answer, answer_approval, pending_approvals
from wink.session import Session
from wink.tools import ToolContext, ToolResult
from wink.workspace import Workspace

TEXTS = ("one", "two")
Status = Literal["pending", "approved", "denied"]


@dataclass
class Asks:
    """Asks about everything."""

    name: str = "asks"

    def check(self, tool: Any, params: Any, *, context: ToolContext) -> PolicyDecision:
        return PolicyDecision.ask("look")

    def on_result(self, tool: Any, params: Any, result: Any, *, context: ToolContext) -> None:
        """Nothing to learn."""


@dataclass
class Model:
    """What there is to an answer: the call that it is about, what was said, and the state of the files that it is for."""

    version: int = 0
    answers: dict[str, tuple[Status, int]] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)

    def call(self, text: str) -> str:
        """What comes of a call."""
        status, version = self.answers.get(text, ("pending", -1))
        if version != self.version:
            self.answers[text] = ("pending", self.version)
            return "asked"
        if status == "pending":
            return "asked"
        del self.answers[text]
        if status == "denied":
            return "denied"
        self.ran.append(text)
        self.change(renewing=True)
        return "ran"

    def change(self, *, renewing: bool) -> None:
        """Files change; with the person's consent, what they were shown beside it stands for what is there now."""
        if renewing:
            now = self.version + 1
            self.answers = {k: (s, now if v == self.version else v) for k, (s, v) in self.answers.items()}
        self.version += 1

    def answer(self, text: str, approved: bool, *, checked: bool) -> bool:
        """Whether an answer is taken."""
        status, version = self.answers.get(text, (None, -1))
        if status is None:
            return False
        if checked and approved and version != self.version:
            self.answers[text] = ("pending", self.version)
            return False
        self.answers[text] = ("approved" if approved else "denied", version)
        return True


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("call"), st.sampled_from(TEXTS), st.just(True)),
        st.tuples(st.just("answer"), st.sampled_from(TEXTS), st.booleans()),
        st.tuples(st.just("change"), st.just(""), st.just(True)),
    ),
    max_size=30,
)


@contextmanager
def places(kind: str) -> Iterator[tuple[Rig, Any]]:
    """A rig, and where its requests are answered."""
    if kind == "memory":
        rig = Rig(InMemoryFilesystem(), Session())
        yield rig, rig.session
        return
    with TemporaryDirectory() as root, Workspace.open(Path(root)) as workspace:
        yield Rig(workspace.filesystem, workspace.session()), workspace


def run(kind: str, steps: list[tuple[str, str, bool]]) -> None:
    """Take the steps with the executor and with the model; they must agree after each."""
    with places(kind) as (rig, where):
        model = Model()
        rig.policies.append(Asks())

        @rig.tool
        def change(params: Text, *, context: ToolContext) -> ToolResult[Note]:
            context.filesystem.append("ran.txt", f"{params.text}\n")
            return ToolResult[Note].ok(Note(params.text))

        ids: dict[str, str] = {}
        for what, text, flag in steps:
            if what == "call":
                reply = rig.call("change", text=text)
                said = "ran" if reply.success else "asked" if "needs approval" in reply.text else "denied"
                assert said == model.call(text)
            elif what == "change":
                rig.filesystem.append("other.txt", "more\n")
                model.change(renewing=False)
            elif text in ids:
                expected = model.answer(text, flag, checked=kind == "workspace")
                try:
                    answer_approval(where, ids[text], Answer(flag))
                except (ApprovalChanged, UnknownApproval):
                    assert not expected
                else:
                    assert expected
            for request in pending_approvals(where):
                ids[request.arguments.split('"')[3]] = request.id
            waiting = {text for text, (status, _) in model.answers.items() if status == "pending"}
            assert {request.arguments.split('"')[3] for request in pending_approvals(where)} == waiting
        written = rig.filesystem.read("ran.txt").content.split() if rig.filesystem.exists("ran.txt") else []
        assert written == model.ran


@given(STEPS)
@settings(max_examples=150, deadline=None)
def test_in_memory_a_call_runs_once_for_each_answer_to_it(steps: list[tuple[str, str, bool]]) -> None:
    """Whatever comes between."""
    run("memory", steps)


@given(STEPS)
@settings(max_examples=25, deadline=None)
def test_in_a_workspace_a_call_runs_once_for_each_answer_to_it(steps: list[tuple[str, str, bool]]) -> None:
    """Where an approval of what has changed is refused at once."""
    run("workspace", steps)


@pytest.mark.parametrize("kind", ["memory", "workspace"])
def test_the_steps_that_matter_most(kind: str) -> None:
    """Ask, approve, run, ask again; approve, change, ask again."""
    yes, call, change = ("answer", "one", True), ("call", "one", True), ("change", "", True)
    run(kind, [call, yes, call, call, yes, change, call, yes, call, call])
