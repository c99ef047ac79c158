"""The examples of "Tool Runtime Specification" in its current form."""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, TypeVar

from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.prompt import (
    MarkdownSection,
    PolicyDecision,
    Prompt,
    PromptTemplate,
    ReadBeforeWritePolicy,
    SequentialDependencyPolicy,
    Tool,
    ToolContext,
    ToolResult,
)
from wink.runtime import ToolCall
from wink.session import Session

ParamsT = TypeVar("ParamsT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class Params:
    path: str = "notes.txt"


@dataclass(frozen=True)
class Result:
    text: str

    def render(self) -> str:
        return self.text


def test_the_signature_of_a_handler(model: Callable[..., Any]) -> None:
    """Under "Handler signature", with something to return."""

    def handle(params: ParamsT, *, context: ToolContext) -> ToolResult[ResultT]:
        return ToolResult.ok(Result("42"), message="ok")  # type: ignore[arg-type, return-value]

    tool = Tool[Params, Result]("handle", "Do a thing.", handle)
    prompt = Prompt(PromptTemplate("spec", "tools", sections=[MarkdownSection("Tools", "x", tools=[tool])]))

    assert model(prompt).call("handle").text == "ok\n\n42"


def test_resources_are_reached_through_the_context(model: Callable[..., Any]) -> None:
    """Under "Resource Access": both spellings give the call's own files."""
    same: list[bool] = []

    def my_handler(params: Params, *, context: ToolContext) -> ToolResult[Result]:
        fs = context.resources.get(Filesystem)
        # Or shorthand: fs = context.filesystem
        same.append(fs is context.filesystem)
        fs.write(params.path, "written")
        return ToolResult.ok(Result(fs.read(params.path).content))

    files = InMemoryFilesystem()
    section = MarkdownSection("Tools", "x", tools=[Tool[Params, Result]("mine", "Do a thing.", my_handler)])
    prompt = Prompt(PromptTemplate("spec", "tools", sections=[section])).bind(resources={Filesystem: files})

    assert model(prompt).call("mine").text == "OK\n\nwritten"
    assert same == [True]
    assert files.read("notes.txt").content == "written"


def test_tools_are_declared_on_sections() -> None:
    """Under "Section Integration"."""
    lookup_tool = Tool[Params, Result]("lookup", "Look something up.")
    search_tool = Tool[Params, Result]("search", "Search for something.")

    section = MarkdownSection[Params](
        title="Guidance",
        key="guidance",
        template="Use tools when needed.",
        tools=[lookup_tool, search_tool],
        policies=[ReadBeforeWritePolicy()],
    )

    rendered = Prompt(PromptTemplate("spec", "tools", sections=[section])).render()
    assert rendered.text == "## 1. Guidance\n\nUse tools when needed."
    assert rendered.tools == (lookup_tool, search_tool)
    assert [policy.name for policy in rendered.policies_for_tool("lookup")] == ["read_before_write"]


def test_sequential_dependencies(model: Callable[..., Any], steps: tuple[Tool[Any, Any], ...]) -> None:
    """Under "SequentialDependencyPolicy", and what it means."""
    policy = SequentialDependencyPolicy(
        dependencies={
            "deploy": frozenset({"test", "build"}),
            "build": frozenset({"lint"}),
        }
    )

    section = MarkdownSection("Ship", "x", tools=steps, policies=[policy])
    ship = model(Prompt(PromptTemplate("spec", "tools", sections=[section])))
    refused = ship.call("deploy")
    assert not refused.success
    assert refused.text == "deploy needs build and test to have succeeded first; call lint, then build, then test"
    assert [ship.call(name).success for name in ("build", "lint", "build", "test", "deploy")] == [
        False, True, True, True, True,
    ]  # fmt: skip


def test_reading_before_writing(model: Callable[..., Any], file_tools: dict[str, Tool[Any, Any]]) -> None:
    """Under "ReadBeforeWritePolicy": the four lines of the example, in their order."""
    policy = ReadBeforeWritePolicy()

    files = InMemoryFilesystem()
    files.write("config.yaml", "a: 1\n")
    section = MarkdownSection(
        "Files", "x", tools=[file_tools["read_file"], file_tools["write_file"]], policies=[policy]
    )
    prompt = Prompt(PromptTemplate("spec", "tools", sections=[section])).bind(resources={Filesystem: files})
    editor = model(prompt)

    # write_file("new.txt")      → OK (doesn't exist)
    assert editor.call("write_file", file_path="new.txt", content="x").success
    # write_file("config.yaml")  → DENIED (exists, not read)
    denied = editor.call("write_file", file_path="config.yaml", content="a: 2\n")
    assert not denied.success
    assert "config.yaml" in denied.text
    assert "read_file" in denied.text
    assert files.read("config.yaml").content == "a: 1\n"
    # read_file("config.yaml")   → OK (records path)
    assert editor.call("read_file", file_path="config.yaml").success
    # write_file("config.yaml")  → OK (was read)
    assert editor.call("write_file", file_path="config.yaml", content="a: 2\n").success
    assert files.read("config.yaml").content == "a: 2\n"


def test_policies_are_declared_beside_the_tools(
    steps: tuple[Tool[Any, Any], ...], file_tools: dict[str, Tool[Any, Any]]
) -> None:
    """Under "Policy Integration", with the arguments that it leaves out."""
    lint, test, build, deploy = steps
    read_file, write_file = file_tools["read_file"], file_tools["write_file"]
    prompt_wide = SequentialDependencyPolicy({}, name="prompt")

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
                policies=[SequentialDependencyPolicy(dependencies={"deploy": {"test"}})],
            ),
        ],
        policies=[prompt_wide],  # Prompt-level policies
    )

    prompt = Prompt(template)
    assert [policy.name for policy in prompt.policies_for_tool("write_file")] == ["read_before_write", "prompt"]
    assert [policy.name for policy in prompt.policies_for_tool("deploy")] == ["sequential_dependency", "prompt"]


@dataclass
class Recording:
    """A policy that writes down what it was asked and told."""

    allowed: bool
    heard: list[str] = field(default_factory=list)
    name: str = "recording"

    def check(self, tool: Tool[Any, Any], params: Any, *, context: ToolContext) -> PolicyDecision:
        self.heard.append(f"check {tool.name}")
        return PolicyDecision.allow() if self.allowed else PolicyDecision.deny("not now; call it later")

    def on_result(self, tool: Tool[Any, Any], params: Any, result: ToolResult[Any], *, context: ToolContext) -> None:
        self.heard.append(f"result of {tool.name}")


def test_the_flow_of_an_execution(model: Callable[..., Any], steps: tuple[Tool[Any, Any], ...]) -> None:
    """Under "Execution Flow": the pseudo-code runs as it stands, and the real executor agrees with it call by call."""
    for allowed in (True, False):
        by_hand, for_real = Recording(allowed), Recording(allowed)

        section = SimpleNamespace(policies=[by_hand])
        prompt: Any = SimpleNamespace(policies=[])

        def resolve_and_parse(call: ToolCall) -> tuple[Tool[Any, Any], Any]:
            tool = next(tool for tool in steps if tool.name == call.name)
            return tool, tool.parse(call.arguments)

        def execute_tool(call: Any, *, context: Any) -> Any:
            tool, params = resolve_and_parse(call)
            policies = [*section.policies, *prompt.policies]  # noqa: B023

            for policy in policies:
                decision = policy.check(tool, params, context=context)
                if not decision.allowed:
                    return ToolResult.error(decision.reason)

            result = tool.handler(params, context=context)  # type: ignore[misc]

            if result.success:
                for policy in policies:
                    policy.on_result(tool, params, result, context=context)

            return result

        real = Prompt(
            PromptTemplate("spec", "flow", sections=[MarkdownSection("S", "x", tools=steps, policies=[for_real])])
        )
        context = ToolContext(prompt=real, rendered_prompt=None, adapter=None, session=Session())  # type: ignore[arg-type]

        result = execute_tool(ToolCall("lint"), context=context)
        reply = model(real).call("lint")

        assert (result.success, result.text) == (reply.success, reply.text)
        assert by_hand.heard == for_real.heard
