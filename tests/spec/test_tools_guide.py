"""The examples of the guide "Tools"."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from wink.adapters import ScriptedAdapter
from wink.errors import PromptValidationError
from wink.filesystem import Filesystem
from wink.prompt import MarkdownSection, PromptTemplate, ToolContext
from wink.runtime import ToolCall, ToolInvoked
from wink.session import Session


def test_a_tool_contract(model: Callable[..., Any]) -> None:
    """Under "Tool Contracts": the skeleton."""
    from dataclasses import dataclass

    from wink.prompt import Tool, ToolContext, ToolResult

    @dataclass(slots=True, frozen=True)
    class MyParams:
        query: str

    @dataclass(slots=True, frozen=True)
    class MyResult:
        answer: str

        def render(self) -> str:
            return self.answer

    def handler(params: MyParams, *, context: ToolContext) -> ToolResult[MyResult]:
        # Do work here (read files, call an API, etc.)
        return ToolResult.ok(MyResult(answer="42"), message="ok")

    tool = Tool[MyParams, MyResult](
        name="my_tool",
        description="Do a thing.",
        handler=handler,
    )

    # "Type mismatches are caught at construction time."
    with pytest.raises(PromptValidationError):
        Tool[MyResult, MyResult](name="my_tool", description="Do a thing.", handler=handler)  # type: ignore[arg-type]
    from wink.prompt import Prompt

    prompt = Prompt(PromptTemplate("spec", "guide", sections=[MarkdownSection("Tools", "x", tools=[tool])]))
    assert model(prompt).call("my_tool", query="?").text == "ok\n\n42"


class MyHttpClient:
    """Somebody's client."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout


def test_a_registry_of_ones_own_resources() -> None:
    """Under "ToolContext, Resources, and Filesystem": what exists already."""
    from wink.resources import Binding, ResourceRegistry

    registry = ResourceRegistry.of(
        Binding.instance(MyHttpClient, MyHttpClient(timeout=5)),
    )

    with registry.open() as resources:
        assert resources.get(MyHttpClient).timeout == 5


@dataclass(frozen=True)
class Task:
    """The parameters of the prompt below."""

    question: str


@dataclass(frozen=True)
class Config:
    """Where a client goes."""

    url: str

    @classmethod
    def from_env(cls) -> "Config":
        return cls("https://example.com")


class HTTPClient:
    """Another client."""

    def __init__(self, base_url: str) -> None:
        self.base_url, self.closed = base_url, False

    def close(self) -> None:
        self.closed = True


class Tracer:
    """One for each call."""


def test_resources_are_bound_to_prompts() -> None:
    """Under "Binding resources to prompts"."""
    from wink.prompt import Prompt, Tool, ToolResult
    from wink.resources import Binding, Scope

    used: list[tuple[Tracer, HTTPClient]] = []

    def fetch_handler(params: None, *, context: ToolContext) -> ToolResult[None]:
        assert context.resources.get(Tracer) is context.resources.get(Tracer)
        used.append((context.resources.get(Tracer), context.resources.get(HTTPClient)))
        return ToolResult.ok(None)

    fetch = Tool[None, None]("fetch", "Fetch it.", fetch_handler)
    template = PromptTemplate("spec", "guide", sections=[MarkdownSection[Task]("Task", "$question", tools=[fetch])])
    params, session = Task("What is it?"), Session()
    adapter = ScriptedAdapter([[ToolCall("fetch"), ToolCall("fetch")], "It is this."])

    # Simple case: pre-constructed instances
    http_client = HTTPClient(base_url="https://api.example.com")
    prompt = Prompt(template).bind(params, resources={HTTPClient: http_client})

    assert prompt.resources.get(HTTPClient) is http_client

    # Advanced: lazy construction with dependencies and scopes
    prompt = Prompt(template).bind(params, resources={
        Config: Binding(Config, lambda r: Config.from_env()),
        HTTPClient: Binding(HTTPClient, lambda r: HTTPClient(r.get(Config).url)),
        Tracer: Binding(Tracer, lambda r: Tracer(), scope=Scope.TOOL_CALL),
    })  # fmt: skip

    # Use prompt.resources context manager for lifecycle management
    with prompt.resources:
        response = adapter.evaluate(prompt, session=session)

    assert response.text == "It is this."
    (first_tracer, client), (second_tracer, same_client) = used
    assert first_tracer is not second_tracer
    assert client is same_client
    assert client.base_url == "https://example.com"
    assert client.closed


@dataclass(frozen=True)
class MyResult:
    """A result without `render()`."""

    answer: str = "42"


def test_the_ways_to_make_a_result(caplog: pytest.LogCaptureFixture) -> None:
    """Under "ToolResult Semantics", with the key behaviours that follow it."""
    from wink.prompt import ToolResult

    # Success with typed value (most common)
    success = ToolResult.ok(MyResult(), message="Done")

    # Failure with no value
    failure = ToolResult.error("Something went wrong")

    # Full form (when exclude_value_from_context is needed)
    full = ToolResult(
        message="Human-readable status",
        value=MyResult(),                 # dataclass | mapping | sequence | str | None
        success=True,                     # if False, adapters treat as tool failure
        exclude_value_from_context=True,  # hide large payloads from model context
    )  # fmt: skip

    assert (success.success, failure.success, failure.value) == (True, False, None)
    # "If render() is missing, WINK logs a warning and serializes the dataclass to JSON."
    with caplog.at_level(logging.WARNING):
        assert success.text == 'Done\n\n{"answer":"42"}'
    assert "MyResult has no render()" in caplog.text
    # "The model sees a summary message, but the full value is recorded."
    assert full.text == "Human-readable status"
    assert full.value == MyResult()
    assert [ToolResult("", value).render() for value in ({"a": 1}, [1, 2], "text", None)] == [
        '{"a":1}',
        "[1,2]",
        "text",
        "",
    ]


def test_a_tool_with_an_example() -> None:
    """Under "Tool Examples"."""
    from wink.prompt import Prompt, Tool, ToolExample, ToolResult

    @dataclass(frozen=True)
    class NowParams:
        tz: str

    @dataclass(frozen=True)
    class NowResult:
        iso: str

        def render(self) -> str:
            return self.iso

    def now_handler(params: NowParams, *, context: ToolContext) -> ToolResult[NowResult]:
        return ToolResult.ok(NowResult("2025-01-01T00:00:00+00:00"))

    tool = Tool[NowParams, NowResult](
        name="now",
        description="Return UTC time.",
        handler=now_handler,
        examples=(
            ToolExample(
                description="Get UTC time",
                input=NowParams(tz="UTC"),
                output=NowResult(iso="2025-01-01T00:00:00+00:00"),
            ),
        ),
    )

    prompt = Prompt(PromptTemplate("spec", "guide", sections=[MarkdownSection("Clock", "Ask it.", tools=[tool])]))
    assert prompt.render().text == (
        '## 1. Clock\n\nAsk it.\n\nExamples of `now`:\n- Get UTC time: `{"tz":"UTC"}` gives `2025-01-01T00:00:00+00:00`'
    )


def test_the_policies_that_are_built_in() -> None:
    """Under "Built-in policies"."""
    from wink.prompt import (
        ReadBeforeWritePolicy,
        SequentialDependencyPolicy,
    )

    # Require 'test' and 'build' before 'deploy'
    deploy_policy = SequentialDependencyPolicy(
        dependencies={
            "deploy": frozenset({"test", "build"}),
        }
    )

    # Require reading a file before overwriting it (new files allowed)
    read_first = ReadBeforeWritePolicy()

    assert deploy_policy.dependencies == {"deploy": {"test", "build"}}
    assert read_first.name == "read_before_write"


def test_policies_are_attached_to_sections(model: Callable[..., Any], steps: tuple[Any, ...]) -> None:
    """Under "Attaching policies to tools" and "Enforcement"."""
    from wink.prompt import MarkdownSection, Prompt, SequentialDependencyPolicy

    lint_tool, test_tool, build_tool, deploy_tool = steps
    deploy_policy = SequentialDependencyPolicy(dependencies={"deploy": frozenset({"test", "build"})})

    section = MarkdownSection(
        title="Deployment",
        key="deployment",
        template="Deploy the application after testing.",
        tools=(deploy_tool, test_tool, build_tool),
        policies=(deploy_policy,),
    )

    worker = model(Prompt(PromptTemplate("spec", "guide", sections=[section])))
    refused = worker.call("deploy")
    assert refused.result.success is False
    assert refused.text == "deploy needs build and test to have succeeded first; call build, then test"
    (event,) = worker.session[ToolInvoked].all()
    assert [(verdict.policy, verdict.allowed) for verdict in event.decisions] == [("sequential_dependency", False)]
    assert all(worker.call(name).success for name in ("test", "build", "deploy"))


def test_file_tools_have_the_policy_by_default() -> None:
    """Under "Default policies on contrib sections", which are plugins now."""
    from wink.prompt import Prompt
    from wink_files import VfsToolsSection

    prompt = Prompt(PromptTemplate("spec", "guide", sections=[VfsToolsSection()]))

    assert [policy.name for policy in prompt.policies_for_tool("write_file")] == ["read_before_write"]
    assert isinstance(prompt.filesystem(), Filesystem)
