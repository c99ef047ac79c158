"""Random histories of calls against a model of what files and notes must be: a call commits, or it never happened."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from typing import Any, ClassVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.runtime.conftest import Note, Rig, Text

from wink.errors import PromptEvaluationError, ToolValidationError
from wink.filesystem import HostFilesystem, InMemoryFilesystem
from wink.policies import PolicyDecision
from wink.runtime import ToolCall
from wink.session import Session
from wink.tools import ToolContext, ToolResult
from wink.workspace import Workspace

NAMES = st.sampled_from(["a.txt", "dir/b.txt", "c.txt", "deep/er/d.txt"])
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), NAMES, st.text("xyz\n", max_size=8)),
        st.tuples(st.just("delete"), NAMES, st.just("")),
        st.tuples(st.just("note"), st.just(""), st.text("xyz", max_size=3)),
    ),
    max_size=4,
).map(tuple)
ENDINGS = st.sampled_from(["ok", "error", "invalid", "TypeError", "ValueError", "wrong", "evaluation", "denied"])

State = tuple[dict[str, str], list[str]]


class Work:
    """What one call does, ends with, and calls within; the model knows it without running it."""

    def __init__(self, actions: tuple[tuple[str, str, str], ...], ending: str, inner: tuple[Work, ...] = ()) -> None:
        self.actions, self.ending, self.inner = actions, ending, inner

    def __repr__(self) -> str:
        return f"Work({self.actions!r}, {self.ending!r}, {self.inner!r})"

    def expected(self, before: State) -> State:
        """Files and notes after the call."""
        if self.ending != "ok":
            return before
        files, notes = dict(before[0]), list(before[1])
        for kind, path, text in self.actions:
            if kind == "write":
                files[path] = text
            elif kind == "delete":
                files.pop(path, None)
            else:
                notes.append(text)
        for inner in self.inner:
            if inner.raises:
                return before  # it goes through the outer call
            files, notes = inner.expected((files, notes))
        return files, [*notes, "result"]

    @property
    def raises(self) -> bool:
        """Whether an exception goes on to the caller."""
        if self.ending == "denied":
            return False
        return any(inner.raises for inner in self.inner) or self.ending == "evaluation"

    @property
    def events(self) -> int:
        """How many calls are made in all."""
        if self.ending == "denied":
            return 1
        count = 1
        for inner in self.inner:
            count += inner.events
            if inner.raises:
                break
        return count


LEAVES = st.builds(Work, ACTIONS, ENDINGS)
WORK = st.recursive(
    LEAVES, lambda inner: st.builds(Work, ACTIONS, ENDINGS, st.lists(inner, max_size=2).map(tuple)), max_leaves=4
)


class DenyWhatIsMarked:
    """A policy that denies, after having looked."""

    name = "marked"

    def check(self, tool: Any, params: Text, *, context: ToolContext) -> PolicyDecision:
        context.filesystem.exists("a.txt")
        return PolicyDecision.deny("no") if params.text.endswith("denied") else PolicyDecision.allow()

    def on_result(self, tool: Any, params: Any, result: Any, *, context: ToolContext) -> None:
        pass


class Calls(RuleBasedStateMachine):
    """One session and one tree, and whatever calls come."""

    kind: ClassVar[str] = "memory"

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.rig = self._rig()
        self.works: dict[str, Work] = {}
        self.rig.policies.append(DenyWhatIsMarked())
        self.rig.tool(self.work)
        self.rig.tool(self.look, effects="read")
        self.state: State = {"a.txt": "before\n", "dir/b.txt": "before\n"}, ["before"]
        self.count = 0

    def _rig(self) -> Rig:
        if self.kind == "memory":
            return Rig(InMemoryFilesystem(), Session())
        root = self.stack.enter_context(tempfile.TemporaryDirectory())
        if self.kind == "disk":
            return Rig(self.stack.enter_context(HostFilesystem(root)), Session())
        workspace = self.stack.enter_context(Workspace.open(root))
        return Rig(workspace.filesystem, workspace.session())

    def teardown(self) -> None:
        self.stack.close()

    # -- the tools

    def work(self, params: Text, *, context: ToolContext) -> ToolResult[Note]:
        work = self.works[params.text]
        for kind, path, text in work.actions:
            if kind == "write":
                context.filesystem.write(path, text)
            elif kind == "note":
                context.session[Note].append(Note(text))
            elif context.filesystem.exists(path):
                context.filesystem.delete(path)
        for inner in work.inner:
            self.rig.executor.execute(self._call(inner))
        match work.ending:
            case "error":
                return ToolResult[Note].error("no")
            case "invalid":
                raise ToolValidationError("no")
            case "TypeError":
                raise TypeError("no")
            case "ValueError":
                raise ValueError("no")
            case "evaluation":
                raise PromptEvaluationError("no", phase="request")
            case "wrong":
                return ToolResult(message="OK", value=3)  # pyright: ignore[reportReturnType, reportArgumentType]
            case _:
                return ToolResult[Note].ok(Note("result"))

    def look(self, params: Text, *, context: ToolContext) -> ToolResult[Note]:
        seen = context.filesystem.read(params.text).content if context.filesystem.exists(params.text) else "-"
        return ToolResult[Note].ok(Note(seen))

    def _call(self, work: Work) -> ToolCall:
        key = f"{len(self.works)} {work.ending}"
        self.works[key] = work
        return ToolCall("work", {"text": key})

    # -- what happens

    @rule(work=WORK)
    def one_call(self, work: Work) -> None:
        """A call, with whatever calls within it."""
        try:
            reply = self.rig.executor.execute(self._call(work))
        except PromptEvaluationError:
            assert work.raises
        else:
            assert not work.raises
            assert reply.success == (work.ending == "ok")
        self.state = work.expected(self.state)
        self.count += work.events

    @rule(works=st.lists(LEAVES, max_size=4), reads=st.integers(0, 3), name=NAMES)
    def one_batch(self, works: list[Work], reads: int, name: str) -> None:
        """Several calls of one turn, and reads that run together before and after."""
        looks = [ToolCall("look", {"text": name})] * reads
        try:
            replies = self.rig.executor.execute_batch([*looks, *map(self._call, works), *looks])
        except PromptEvaluationError:
            assert any(work.raises for work in works)
        else:
            assert [reply.success for reply in replies[reads : reads + len(works)]] == [
                work.ending == "ok" for work in works
            ]
        files, notes = self.state
        notes = [*notes, *[files.get(name, "-")] * reads]
        for work in works:
            files, notes = work.expected((files, notes))
        self.state = files, [*notes, *[files.get(name, "-")] * reads]
        self.count += 2 * reads + len(works)

    @rule(arguments=st.sampled_from(["{", "[]", '{"text": 1}', '{"txt": "x"}']))
    def a_call_that_makes_no_sense(self, arguments: str) -> None:
        """Refused, and that is all."""
        assert not self.rig.executor.execute(ToolCall("work", arguments)).success
        self.count += 1

    @rule()
    def a_call_of_nothing(self) -> None:
        """There is no such tool."""
        assert not self.rig.executor.execute(ToolCall("nothing", {})).success
        self.count += 1

    # -- what holds

    @invariant()
    def the_model_is_right(self) -> None:
        """About files, notes, events and the turn."""
        assert (self.rig.files(), self.rig.notes()) == self.state
        assert len(self.rig.events) == self.count
        assert not self.rig.filesystem.write_lock.is_held


class CallsOnDisk(Calls):
    """The same with a journal."""

    kind = "disk"


class CallsInAWorkspace(Calls):
    """The same with a journal and a record."""

    kind = "workspace"


SETTINGS = settings(max_examples=25, stateful_step_count=12, deadline=None)
TestMemory = Calls.TestCase
TestMemory.settings = SETTINGS
TestDisk = CallsOnDisk.TestCase
TestDisk.settings = SETTINGS
TestWorkspace = CallsInAWorkspace.TestCase
TestWorkspace.settings = SETTINGS
