"""Programs that use policies as the specification names them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.policies import (
    PolicyDecision,
    PolicyState,
    ReadBeforeWritePolicy,
    SequentialDependencyPolicy,
    ToolPolicy,
    policy_state,
    remember,
)
from wink.prompt import MarkdownSection, Prompt, PromptTemplate, Tool, ToolContext, ToolResult
from wink.runtime import ToolCall, ToolExecutor, ToolInvoked
from wink.session import Session


def done(params: None, *, context: ToolContext) -> ToolResult[None]:
    return ToolResult.ok(None)


LINT, BUILD, DEPLOY = (Tool[None, None](name, f"Run {name}.", done) for name in ("lint", "build", "deploy"))


@dataclass
class ByPath:
    """The parameters of somebody's own file tools."""

    path: str
    content: str = ""


@dataclass
class ByFilePath:
    """The same by the other name."""

    file_path: str
    content: str = ""


def show(params: Any, *, context: ToolContext) -> ToolResult[None]:
    return ToolResult.ok(None, message=context.filesystem.read(at(params)).content)


def put(params: Any, *, context: ToolContext) -> ToolResult[None]:
    context.filesystem.write(at(params), params.content)
    return ToolResult.ok(None)


def at(params: Any) -> str:
    return (params.path if isinstance(params, ByPath) else params.file_path).removeprefix("/workspace/")


def executor(*sections: MarkdownSection[Any], session: Session, **resources: Any) -> ToolExecutor:
    prompt = Prompt(PromptTemplate(ns="spec", key="policies", sections=sections, **resources))
    return ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)


def test_decisions_and_states_have_their_fields() -> None:
    """By position and by keyword."""
    assert PolicyDecision.allow() == PolicyDecision(True, None) == PolicyDecision(allowed=True)
    assert PolicyDecision.deny("no") == PolicyDecision(allowed=False, reason="no")
    assert PolicyState("p", frozenset({"a"}), frozenset({("a", "k")})) == PolicyState(
        policy_name="p", invoked_tools=frozenset({"a"}), invoked_keys=frozenset({("a", "k")})
    )
    assert isinstance(SequentialDependencyPolicy(dependencies={}), ToolPolicy)


def test_the_state_of_a_policy_is_one_item() -> None:
    """A program looks in the slice, and finds all that the policy remembers."""
    session = Session()
    order = SequentialDependencyPolicy(dependencies={"deploy": frozenset({"lint", "build"})})
    run = executor(
        MarkdownSection("T", "x", tools=[LINT, BUILD]),
        MarkdownSection("D", "x", tools=[DEPLOY]),
        session=session,
        policies=[order],
    )

    assert not run.execute(ToolCall("deploy")).success
    run.execute(ToolCall("lint"))
    run.execute(ToolCall("build"))

    assert policy_state(session, order.name) == PolicyState("sequential_dependency", frozenset({"lint", "build"}))
    before = session.snapshot()
    session.reset()
    assert not run.execute(ToolCall("deploy")).success
    session.restore(before)
    assert run.execute(ToolCall("deploy")).success


def test_reads_that_run_side_by_side_are_all_remembered() -> None:
    """Each of them adds to what the others have added."""
    session = Session()
    reads = [Tool[None, None](name, "Read.", done, effects="read") for name in ("a", "b", "c")]
    order = SequentialDependencyPolicy(dependencies={"deploy": {"a", "b", "c"}})
    run = executor(MarkdownSection("T", "x", tools=[*reads, DEPLOY], policies=[order]), session=session)

    replies = run.execute_batch([*(ToolCall(tool.name) for tool in reads), ToolCall("deploy")])

    assert [reply.success for reply in replies] == [True] * 4


class AtMostOnce:
    """A policy without a base class, which looks at the log of calls."""

    name = "at_most_once"

    def check(self, tool: Any, params: Any, *, context: ToolContext) -> PolicyDecision:
        before = context.session[ToolInvoked].where(lambda event: event.name == tool.name and event.success)
        return PolicyDecision.deny(f"{tool.name} has been called") if before else PolicyDecision.allow()

    def on_result(self, tool: Any, params: Any, result: Any, *, context: ToolContext) -> None:
        context.session[PolicyState].append(PolicyState(self.name, frozenset({tool.name})))


def test_a_policy_of_ones_own() -> None:
    """On a section or on the whole prompt; the model reads the reason."""
    for where in ({"policies": [AtMostOnce()]}, {}):
        session = Session()
        section = MarkdownSection("T", "x", tools=[LINT], policies=() if where else [AtMostOnce()])
        run = executor(section, session=session, **where)

        assert run.execute(ToolCall("lint")).success
        assert run.execute(ToolCall("lint")).text == "lint has been called"
        assert session[PolicyState].latest() == PolicyState("at_most_once", frozenset({"lint"}))


@pytest.mark.parametrize("params", [ByPath, ByFilePath])
@pytest.mark.parametrize("mount_point", [None, "/workspace"])
def test_read_before_write_with_tools_of_ones_own(params: Any, mount_point: str | None) -> None:
    """Any names of tools, either name of the parameter, and paths that are spelled in several ways."""
    files, session = InMemoryFilesystem(), Session()
    files.write("config.yaml", "a: 1\n")
    rule = ReadBeforeWritePolicy(
        read_tools=frozenset({"show"}), write_tools=frozenset({"put"}), mount_point=mount_point
    )
    tools = [Tool[params, None]("show", "Show.", show), Tool[params, None]("put", "Put.", put)]
    run = executor(
        MarkdownSection("T", "x", tools=tools, policies=[rule]), session=session, resources={Filesystem: files}
    )
    field = "path" if params is ByPath else "file_path"
    prefix = "" if mount_point is None else "/workspace/"

    def call(name: str, path: str, **more: str) -> bool:
        return run.execute(ToolCall(name, {field: prefix + path, **more})).success

    assert call("put", "new.txt", content="x")
    assert not call("put", "config.yaml", content="b: 2\n")
    assert call("show", "./config.yaml")
    assert call("put", "config.yaml", content="b: 2\n")
    assert files.read("config.yaml").content == "b: 2\n"


def test_policies_can_be_asked_by_hand() -> None:
    """With a context that a program has made itself, as the pseudo-code of the specification does."""
    files, session = InMemoryFilesystem(), Session()
    files.write("config.yaml", "a: 1\n")
    prompt = Prompt(PromptTemplate(ns="spec", key="hand")).bind(resources={Filesystem: files})
    context = ToolContext(prompt=prompt, rendered_prompt=None, adapter=None, session=session)  # type: ignore[arg-type]
    rule = ReadBeforeWritePolicy()
    read, write, edit = (Tool[ByPath, None](name, "x", put) for name in ("read_file", "write_file", "edit_file"))
    config = ByPath("config.yaml", "b: 2\n")

    assert rule.check(write, ByPath("new.txt"), context=context).allowed
    assert not rule.check(write, config, context=context).allowed
    rule.on_result(read, ByPath("config.yaml"), ToolResult.ok(None), context=context)
    assert rule.check(write, ByPath("./config.yaml"), context=context).allowed

    put(config, context=context)
    rule.on_result(write, config, ToolResult.ok(None), context=context)
    assert rule.check(edit, config, context=context).allowed

    files.write("config.yaml", "somebody else's\n")
    assert not rule.check(edit, config, context=context).allowed
    session.reset()
    assert "has not been read" in str(rule.check(write, config, context=context).reason)


def test_each_session_has_read_for_itself() -> None:
    """Two sessions over one filesystem: what one has read, the other has not."""
    files, sessions = InMemoryFilesystem(), (Session(), Session())
    files.write("a.txt", "1\n")
    tools = [Tool[ByPath, None]("read_file", "Show.", show), Tool[ByPath, None]("write_file", "Put.", put)]
    section = MarkdownSection("T", "x", tools=tools, policies=[ReadBeforeWritePolicy()])
    prompt = Prompt(PromptTemplate(ns="spec", key="two", sections=[section])).bind(resources={Filesystem: files})
    one, two = (ToolExecutor(prompt=prompt, rendered=prompt.render(session=s), session=s) for s in sessions)

    assert one.execute(ToolCall("read_file", {"path": "a.txt"})).success
    assert not two.execute(ToolCall("write_file", {"path": "a.txt"})).success
    assert two.execute(ToolCall("read_file", {"path": "a.txt"})).success
    assert one.execute(ToolCall("write_file", {"path": "a.txt", "content": "2\n"})).success
    assert "changed since it was read" in two.execute(ToolCall("write_file", {"path": "a.txt"})).text


class Told:
    """Allows everything, remembers what it was told, and may fail at it."""

    def __init__(self, name: str, fails: bool = False) -> None:
        self.name, self.fails, self.heard = name, fails, []

    def check(self, tool: Any, params: Any, *, context: ToolContext) -> PolicyDecision:
        return PolicyDecision.allow()

    def on_result(self, tool: Any, params: Any, result: Any, *, context: ToolContext) -> None:
        self.heard.append(tool.name)
        if self.fails:
            raise ValueError("no memory")


def test_results_reach_the_policies_that_govern_the_tool() -> None:
    """After a success those are told that were asked before it: the section's, then the prompt's."""
    own, other, whole = Told("own"), Told("other"), Told("whole")
    run = executor(
        MarkdownSection("T", "x", tools=[LINT], policies=[own]),
        MarkdownSection("D", "x", tools=[DEPLOY], policies=[other]),
        session=Session(),
        policies=[whole],
    )
    run.execute(ToolCall("lint"))
    run.execute(ToolCall("deploy"))
    assert (own.heard, other.heard, whole.heard) == (["lint"], ["deploy"], ["lint", "deploy"])


def test_failing_policy_undoes_no_call_of_another_section() -> None:
    """A policy belongs to its section's tools; what goes wrong in it is no matter of others."""
    run = executor(
        MarkdownSection("T", "x", tools=[LINT]),
        MarkdownSection("D", "x", tools=[DEPLOY], policies=[Told("broken", fails=True)]),
        session=Session(),
    )
    assert run.execute(ToolCall("lint")).success
    assert not run.execute(ToolCall("deploy")).success


def test_dependency_on_a_tool_that_the_policy_does_not_govern_says_what_to_do() -> None:
    """The policy would never hear of it, and the model would call it again and again."""
    order = SequentialDependencyPolicy(dependencies={"deploy": {"lint"}})
    run = executor(
        MarkdownSection("T", "x", tools=[LINT]),
        MarkdownSection("D", "x", tools=[DEPLOY], policies=[order]),
        session=Session(),
    )
    run.execute(ToolCall("lint"))
    assert run.execute(ToolCall("deploy")).text == (
        "deploy needs lint to have succeeded first, and policy 'sequential_dependency' does not govern it; "
        "declare it on the prompt, or on a section around both"
    )


def test_every_successful_tool_is_remembered() -> None:
    """`invoked_tools` holds what has succeeded, whether anything depends on it or not."""
    session = Session()
    order = SequentialDependencyPolicy(dependencies={"deploy": {"build"}})
    run = executor(MarkdownSection("T", "x", tools=[LINT, BUILD], policies=[order]), session=session)
    run.execute(ToolCall("lint"))
    assert policy_state(session, order.name).invoked_tools == {"lint"}


def test_paths_of_read_and_written_files_are_remembered() -> None:
    """`invoked_keys` holds a pair of tool and path for each, once, spelled as the filesystem does."""
    files, session = InMemoryFilesystem(), Session()
    files.write("config.yaml", "a: 1\n")
    tools = [Tool[ByPath, None]("read_file", "Show.", show), Tool[ByPath, None]("write_file", "Put.", put), LINT]
    run = executor(
        MarkdownSection("T", "x", tools=tools, policies=[ReadBeforeWritePolicy()]),
        session=session,
        resources={Filesystem: files},
    )
    for _ in range(2):
        assert run.execute(ToolCall("read_file", {"path": "./config.yaml"})).success
        assert run.execute(ToolCall("write_file", {"path": "new.txt", "content": "x"})).success
    assert run.execute(ToolCall("lint")).success
    assert not run.execute(ToolCall("read_file", {"path": "missing.txt"})).success

    assert policy_state(session, "read_before_write") == PolicyState(
        "read_before_write",
        frozenset({"read_file", "write_file", "lint"}),
        frozenset({("read_file", "config.yaml"), ("write_file", "new.txt")}),
    )
    assert len(session[PolicyState].all()) == 3


def test_each_call_writes_only_what_nobody_knew() -> None:
    """What a call adds must cost no more after a thousand others, and an undo takes back that alone."""
    session = Session()
    for number in range(600):
        for _ in range(2):
            remember(session, PolicyState("p", frozenset({"read_file"}), frozenset({("read_file", str(number))})))
    remember(session, PolicyState("p", frozenset({"lint"})))

    assert [len(state.invoked_keys) for state in session[PolicyState].all()] == [*[1] * 600, 0]
    everything = policy_state(session, "p")
    assert (len(everything.invoked_keys), everything.invoked_tools) == (600, {"read_file", "lint"})


def test_without_a_filesystem_writes_are_denied_and_nothing_else() -> None:
    """Nobody can tell then what would be overwritten; other tools have nothing to do with that."""
    tools = [LINT, *(Tool[ByPath, None](name, "x", nothing) for name in ("read_file", "write_file"))]
    run = executor(MarkdownSection("T", "x", tools=tools, policies=[ReadBeforeWritePolicy()]), session=Session())

    assert run.execute(ToolCall("lint")).success
    assert run.execute(ToolCall("read_file", {"path": "a"})).success
    assert run.execute(ToolCall("write_file", {"path": "a"})).text == (
        "write_file is denied: no filesystem is bound, so nobody can tell what has been read; bind one to the prompt"
    )


def nothing(params: Any, *, context: ToolContext) -> ToolResult[None]:
    return ToolResult.ok(None)
