"""The examples of "Tool Policy Specification"; those that other documents repeat are looked at from another side here."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from wink.filesystem import Filesystem, HostFilesystem, InMemoryFilesystem
from wink.prompt import (
    MarkdownSection,
    PolicyState,
    Prompt,
    PromptTemplate,
    ReadBeforeWritePolicy,
    SequentialDependencyPolicy,
    Tool,
    ToolContext,
    ToolResult,
    policy_state,
)
from wink.runtime import ToolCall
from wink.session import Session


def test_sequential_dependencies_are_state_of_the_session(
    model: Callable[..., Any], steps: tuple[Tool[Any, Any], ...]
) -> None:
    """Under "SequentialDependencyPolicy", with what "State Management" says about it."""
    policy = SequentialDependencyPolicy(
        dependencies={
            "deploy": frozenset({"test", "build"}),
            "build": frozenset({"lint"}),
        }
    )

    section = MarkdownSection("Ship", "x", tools=steps, policies=[policy])
    prompt = Prompt(PromptTemplate("spec", "policies", sections=[section]))
    session = Session()
    ship = model(prompt, session)
    assert ship.call("lint").success
    assert policy_state(session, policy.name) == PolicyState(policy.name, frozenset({"lint"}))

    # Snapshot/restore: State captured with session snapshots
    after_lint = session.snapshot()
    assert ship.call("build").success
    session.restore(after_lint)
    assert policy_state(session, policy.name).invoked_tools == {"lint"}
    # Reset: session.reset() clears policy state
    session.reset()
    assert not ship.call("build").success
    # Isolation: Each session has independent state
    session.restore(after_lint)
    assert not model(prompt, Session()).call("build").success
    assert ship.call("build").success


def test_reading_before_writing_on_a_disk(
    model: Callable[..., Any], file_tools: dict[str, Tool[Any, Any]], tmp_path: Path
) -> None:
    """Under "ReadBeforeWritePolicy", on real files; a path counts in whatever way it is written."""
    policy = ReadBeforeWritePolicy()

    (tmp_path / "config.yaml").write_text("a: 1\n")
    section = MarkdownSection(
        "Files", "x", tools=[file_tools["read_file"], file_tools["write_file"]], policies=[policy]
    )
    template = PromptTemplate("spec", "policies", sections=[section])
    editor = model(Prompt(template).bind(resources={Filesystem: HostFilesystem(tmp_path)}))

    # write_file("new.txt")      → OK (doesn't exist)
    assert editor.call("write_file", file_path="new.txt", content="x").success
    # write_file("config.yaml")  → DENIED (exists, not read)
    assert not editor.call("write_file", file_path="config.yaml", content="a: 2\n").success
    assert (tmp_path / "config.yaml").read_text() == "a: 1\n"
    # read_file("config.yaml")   → OK (records path)
    assert editor.call("read_file", file_path="./config.yaml").success
    # write_file("config.yaml")  → OK (was read)
    assert editor.call("write_file", file_path="config.yaml", content="a: 2\n").success
    assert (tmp_path / "config.yaml").read_text() == "a: 2\n"


def test_policies_of_both_sections_and_of_the_prompt(
    model: Callable[..., Any], steps: tuple[Tool[Any, Any], ...], file_tools: dict[str, Tool[Any, Any]]
) -> None:
    """Under "Prompt Integration": a section's policies go with its tools, the prompt's with all."""
    lint, test, build, deploy = steps
    read_file, write_file = file_tools["read_file"], file_tools["write_file"]

    template = PromptTemplate(
        ns="spec",
        key="policies",
        sections=[
            MarkdownSection(
                title="Files",
                template="Work on files.",
                tools=[read_file, write_file],
                policies=[ReadBeforeWritePolicy()],
            ),
            MarkdownSection(
                title="Ship",
                template="Ship it.",
                tools=[lint, test, build, deploy],
                policies=[SequentialDependencyPolicy(dependencies={"build": {"lint"}})],
            ),
        ],
        policies=[SequentialDependencyPolicy({"write_file": {"test"}}, name="test-first")],  # Prompt-level policies
    )

    worker = model(Prompt(template).bind(resources={Filesystem: InMemoryFilesystem()}))
    assert worker.call("build").text == "build needs lint to have succeeded first; call lint"
    assert worker.call("write_file", file_path="a", content="x").text == (
        "write_file needs test to have succeeded first; call test"
    )
    assert worker.call("test").success
    assert worker.call("write_file", file_path="a", content="x").success
    assert worker.call("lint").success
    assert worker.call("build").success


def test_a_denied_call_is_an_error_without_execution(steps: tuple[Tool[Any, Any], ...]) -> None:
    """Under "Execution Flow": the pseudo-code as it stands, with a policy of wink in it."""
    ran: list[str] = []

    def handler(params: None, *, context: ToolContext) -> ToolResult[None]:
        ran.append("deploy")
        return ToolResult.ok(None)

    deploy = Tool[None, None]("deploy", "Deploy.", handler)
    tools = {"test": steps[1], "deploy": deploy}
    section: Any = SimpleNamespace(policies=[SequentialDependencyPolicy({"deploy": {"test"}})])
    prompt: Any = PromptTemplate("spec", "policies")

    def resolve_and_parse(call: ToolCall) -> tuple[Tool[Any, Any], Any]:
        return tools[call.name], tools[call.name].parse(call.arguments)

    def execute_tool(call: Any, *, context: Any) -> Any:
        tool, params = resolve_and_parse(call)
        policies = [*section.policies, *prompt.policies]

        for policy in policies:
            decision = policy.check(tool, params, context=context)
            if not decision.allowed:
                return ToolResult.error(decision.reason)

        result = tool.handler(params, context=context)  # type: ignore[misc]

        if result.success:
            for policy in policies:
                policy.on_result(tool, params, result, context=context)

        return result

    context = ToolContext(prompt=prompt, rendered_prompt=None, adapter=None, session=Session())  # type: ignore[arg-type]
    denied = execute_tool(ToolCall("deploy"), context=context)
    assert (denied.success, ran) == (False, [])
    assert denied.message == "deploy needs test to have succeeded first; call test"
    assert execute_tool(ToolCall("test"), context=context).success
    assert execute_tool(ToolCall("deploy"), context=context).success
    assert ran == ["deploy"]
