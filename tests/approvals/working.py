"""A run whose calls are asked about, in steps that any process can take: begin or resume it, answer, look at what happened.

Run as a program, it takes steps in processes of their own and kills them at every point where something is stored.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wink.adapters import RecordJournal, RunSuspended, ScriptedAdapter
from wink.errors import ApprovalChanged, UnknownRun
from wink.filesystem import Filesystem
from wink.policies import PolicyDecision
from wink.prompt import MarkdownSection, Prompt, PromptTemplate
from wink.runtime import Answer, SuspendRun, ToolCall, ToolExecutor, answer_approval, pending_approvals
from wink.tools import Tool, ToolContext, ToolResult
from wink.workspace import Workspace

WORKING = __file__
"""The program."""


@dataclass(frozen=True, slots=True)
class Word:
    """What the tools take."""

    text: str


class Asks:
    """Asks about what begins with `ask`."""

    name = "asks"

    def check(self, tool: Any, params: Any, *, context: ToolContext) -> PolicyDecision:
        if params.text.startswith("ask"):
            return PolicyDecision.ask(f"{tool.name} is asked about")
        return PolicyDecision.allow()

    def on_result(self, tool: Any, params: Any, result: Any, *, context: ToolContext) -> None:
        """Nothing to learn."""


def nowhere(_: str) -> None:
    """Where nobody is killed."""


@dataclass
class Work:
    """The run over one place: `root` is the workspace, `outside` what external calls write to."""

    root: Path
    outside: Path
    at: Callable[[str], None] = nowhere
    turns: list[Any] = field(
        default_factory=lambda: [
            [
                ToolCall("write", {"text": "first"}),
                ToolCall("write", {"text": "ask-one"}),
                ToolCall("send", {"text": "ask-two"}),
                ToolCall("write", {"text": "second"}),
                ToolCall("write", {"text": "ask-three"}),
            ],
            [ToolCall("write", {"text": "third"}), ToolCall("send", {"text": "freely"})],
            "Done.",
        ]
    )

    def write(self, params: Word, *, context: ToolContext) -> ToolResult[None]:
        self.at("in write")
        context.filesystem.append("ran.txt", f"{params.text}\n")
        self.at("wrote")
        return ToolResult[None].ok(None, message=f"wrote {params.text}")

    def send(self, params: Word, *, context: ToolContext) -> ToolResult[None]:
        self.at("in send")
        with self.outside.open("a") as file:
            file.write(f"{params.text}\n")
        self.at("sent")
        return ToolResult[None].ok(None, message=f"sent {params.text}")

    def relay(self, params: Word, *, context: ToolContext) -> ToolResult[None]:
        context.filesystem.append("ran.txt", f"{params.text}\n")
        rendered: Any = context.rendered_prompt
        inner = ToolExecutor(prompt=context.prompt, rendered=rendered, session=context.session)
        text = inner.execute(ToolCall("send", {"text": params.text})).text
        self.at("relayed")
        return ToolResult[None].ok(None, message=text)

    def prompt(self, workspace: Workspace) -> Prompt[Any]:
        tools = [
            Tool[Word, None]("write", "Write a word.", self.write),
            Tool[Word, None]("send", "Send a word.", self.send, effects="external"),
            Tool[Word, None]("relay", "Send a word, and write it down.", self.relay),
        ]
        section = MarkdownSection(title="T", key="t", template="Work.", tools=tools, policies=[Asks()])
        return Prompt(PromptTemplate(ns="t", key="t", sections=[section])).bind(
            resources={Filesystem: workspace.filesystem}
        )

    def go(self) -> str:
        """Begin the run, or go on with it; how it ended."""
        with Workspace.open(self.root) as workspace:
            if any(row.state == "ended" for row in workspace.record.runs.rows()):
                return "done"
            try:
                journal = RecordJournal.resume(workspace)
            except UnknownRun:
                journal = RecordJournal.begin(workspace, plan={})
            with journal:
                try:
                    ScriptedAdapter(self.turns).evaluate(
                        self.prompt(workspace),
                        session=workspace.session(),
                        run_context=journal.context,
                        journal=journal,
                        resume=journal.state,
                        approvals=SuspendRun(),
                    )
                except RunSuspended as suspended:
                    return "suspended " + " ".join(request.id for request in suspended.requests)
        return "done"

    def answer(self, answer: Callable[[str, str], Answer | None] = lambda *_: Answer(True)) -> list[str]:
        """Answer what waits; the ids."""
        answered: list[str] = []
        with Workspace.open(self.root) as workspace:
            for request in pending_approvals(workspace):
                said = answer(request.id, json.loads(request.arguments)["text"])
                if said is None:
                    continue
                try:
                    answered.append(answer_approval(workspace, request.id, said).id)
                except ApprovalChanged as changed:
                    # A process was killed between asking and the end of its turn. The person looks again.
                    answered.append(answer_approval(workspace, changed.instead.id, said).id)
        return answered

    def texts(self) -> dict[str, str]:
        """What was replied last to each call that was recorded, by its argument."""
        with Workspace.open(self.root) as workspace:
            calls = reversed(workspace.calls())
            return {json.loads(call.arguments)["text"]: call.rendered for call in calls if call.arguments != "{}"}

    @property
    def ran(self) -> list[str]:
        """The words that were written, in their order."""
        path = self.root / "ran.txt"
        return path.read_text().split() if path.exists() else []

    @property
    def sent(self) -> list[str]:
        """The words that were sent."""
        return self.outside.read_text().split() if self.outside.exists() else []

    def finish(self) -> int:
        """Go on with the run and answer until it is done; how often a person was asked."""
        asked = 0
        for _ in range(12):
            if self.go() == "done":
                return asked
            asked += len(self.answer())
        raise AssertionError("the run does not come to its end")


class Killing:
    """Kills this process at the `number`th point where something is stored, or a handler works."""

    def __init__(self, number: int) -> None:
        self.left = number
        killer = self

        class Connection(sqlite3.Connection):
            def execute(self, sql: str, *arguments: Any) -> Any:
                stores = sql.startswith("COMMIT") or (
                    not self.in_transaction and sql.startswith(("INSERT", "UPDATE", "DELETE"))
                )
                if stores:
                    killer.at(f"before {sql}")
                done = super().execute(sql, *arguments)
                if stores:
                    killer.at(f"after {sql}")
                return done

        real = sqlite3.connect
        sqlite3.connect = lambda *args, **options: real(*args, factory=Connection, **options)  # type: ignore[assignment]

    def at(self, point: str) -> None:
        """One more point."""
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def in_child(work: Callable[[], object]) -> bool:
    """Do something in a process of its own; whether it came to its end rather than being killed."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return False
    assert os.WEXITSTATUS(status) == 0, "a step failed by itself"
    return True


def kill_everywhere(place: Path, steps: list[str]) -> dict[str, Any]:
    """Take the steps with the last of them killed at one point after the other, then finish; what came of each."""
    points: list[dict[str, Any]] = []
    for number in range(1, 500):
        here = place / str(number)
        (here / "w").mkdir(parents=True)
        plain = Work(here / "w", here / "outside.txt")

        def killed(number: int = number, here: Path = here) -> None:
            killing = Killing(number)
            getattr(Work(here / "w", here / "outside.txt", killing.at), steps[-1])()

        for step in steps[:-1]:
            assert in_child(getattr(plain, step))
        came_through = in_child(killed)

        def finish(plain: Work = plain) -> None:
            plain.finish()

        assert in_child(finish)
        texts = plain.texts()
        points.append(
            {"ran": plain.ran, "sent": plain.sent, "unknown": [k for k, v in texts.items() if "not known" in v]}
        )
        shutil.rmtree(here)
        if came_through:
            break
    return {"points": points}


def alone(work: Work, tool: str, text: str) -> bool:
    """One call outside of any run; whether it ran."""
    with Workspace.open(work.root) as workspace:
        prompt, session = work.prompt(workspace), workspace.session()
        executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
        return executor.execute(ToolCall(tool, {"text": text})).success


def nested(place: Path, point: str) -> dict[str, Any]:
    """Kill a call at a point of what it has sent by a call inside it; then go on."""
    (place / "w").mkdir()
    turns = [[ToolCall("relay", {"text": "word"})], "Done."]

    def kill(here: str) -> None:
        if here == point:
            os.kill(os.getpid(), signal.SIGKILL)

    assert not in_child(Work(place / "w", place / "outside.txt", kill, turns).go)
    plain = Work(place / "w", place / "outside.txt", turns=turns)
    assert in_child(plain.finish)
    return {"ran": plain.ran, "sent": plain.sent, "texts": plain.texts()}


def main(what: str, *arguments: str) -> object:
    """What the program does."""
    if what == "kill":
        return kill_everywhere(Path(arguments[0]), arguments[1].split(","))
    if what == "nested":
        return nested(Path(arguments[0]), arguments[1])
    work = Work(Path(arguments[0]), Path(arguments[1]))
    if what == "go":
        return work.go()
    if what == "alone":
        sys.stdin.readline()  # until both are there
        return alone(work, arguments[2], arguments[3])
    answers: dict[str, Any] = json.loads(arguments[2])
    return work.answer(lambda _, text: Answer(**answers[text]) if text in answers else None)


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
