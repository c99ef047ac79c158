"""Programs that use resources as the specification names them."""

from __future__ import annotations

from typing import Any

import pytest

from wink.prompt import MarkdownSection, Prompt, PromptTemplate, Tool, ToolContext, ToolResult
from wink.resources import (
    Binding,
    CircularDependencyError,
    Closeable,
    DuplicateBindingError,
    PostConstruct,
    ProviderError,
    ResourceRegistry,
    Scope,
    Snapshotable,
    UnboundResourceError,
)
from wink.runtime import ToolCall, ToolExecutor
from wink.session import Session


class Config:
    """Needs nothing."""

    url = "https://example.com"


class Client:
    """Needs a `Config`, and says what happens to it."""

    def __init__(self, config: Config, log: list[str]) -> None:
        self.config, self.log = config, log
        log.append("made")

    def post_construct(self) -> None:
        self.log.append("ready")

    def close(self) -> None:
        self.log.append("closed")


class Counter:
    """State that rolls back."""

    def __init__(self) -> None:
        self.number = 0

    def snapshot(self, *, tag: str | None = None) -> int:
        return self.number

    def restore(self, snapshot: int) -> None:
        self.number = snapshot


def test_bindings_by_position_and_by_keyword() -> None:
    """Singletons that are made when they are needed, unless it is said otherwise."""
    plain = Binding(Config, lambda resources: Config())
    full = Binding(protocol=Config, provider=lambda resources: Config(), scope=Scope.SINGLETON, eager=True)
    assert (plain.protocol, plain.scope, plain.eager) == (Config, Scope.SINGLETON, False)
    assert (full.protocol, full.scope, full.eager) == (Config, Scope.SINGLETON, True)

    config = Config()
    registry = ResourceRegistry.of(Binding.instance(Config, config))
    with registry.open() as resources:
        assert resources.get(Config) is config
        assert resources.get_optional(Counter) is None


def test_a_registry_opens_makes_and_closes() -> None:
    """In the order of need, and back."""
    log: list[str] = []
    registry = ResourceRegistry.build({Config: Config(), Client: Binding(Client, lambda r: Client(r.get(Config), log))})
    with registry.open() as resources:
        assert log == []
        client = resources.get(Client)
        assert client is resources.get(Client)
        assert isinstance(client, Closeable)
        assert isinstance(client, PostConstruct)
        assert isinstance(Counter(), Snapshotable)
    assert log == ["made", "ready", "closed"]


def test_registries_are_merged() -> None:
    """Strictly, unless it is said otherwise; conflicts can be asked for."""
    first, second = (ResourceRegistry.of(Binding.instance(str, text)) for text in ("first", "second"))

    assert str in first.conflicts(second)
    with pytest.raises(DuplicateBindingError):
        first.merge(second)
    with first.merge(second, strict=False).open() as resources:
        assert resources.get(str) == "second"
    assert first.binding_for(str) is not None
    assert first.binding_for(int) is None
    with pytest.raises(DuplicateBindingError):
        ResourceRegistry.of(Binding.instance(int, 1), Binding.instance(int, 2))


def test_what_cannot_be_had() -> None:
    """Each for its own reason."""

    def fail(resources: Any) -> Client:
        raise OSError("no network")

    with ResourceRegistry.of(
        Binding(int, lambda r: len(r.get(str))), Binding(str, lambda r: str(r.get(int))), Binding(Client, fail)
    ).open() as resources:
        with pytest.raises(UnboundResourceError):
            resources.get(Config)
        with pytest.raises(CircularDependencyError):
            resources.get(int)
        with pytest.raises(ProviderError):
            resources.get(Client)


def executor(handler: Any, resources: Any) -> tuple[ToolExecutor, Prompt]:
    tool = Tool[None, None](name="work", description="Work.", handler=handler)
    prompt = Prompt(PromptTemplate(ns="spec", key="res", sections=[MarkdownSection("T", "x", tools=[tool])]))
    session = Session()
    prompt.bind(resources=resources)
    return ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session), prompt


@pytest.mark.parametrize(
    ("scope", "log"),
    [
        (Scope.TOOL_CALL, ["made", "ready", "work", "closed"] * 2),
        (Scope.SINGLETON, ["made", "ready", "work", "work", "closed"]),
        (Scope.PROTOTYPE, ["made", "ready", "made", "ready", "work"] * 2),
    ],
)
def test_how_long_a_resource_lives(scope: Scope, log: list[str]) -> None:
    """For a call, for the prompt's resources, or for whoever asked."""
    seen: list[str] = []

    def work(params: None, *, context: ToolContext) -> ToolResult[None]:
        same = context.resources.get(Client) is context.resources.get(Client)
        assert same is (scope is not Scope.PROTOTYPE)
        seen.append("work")
        return ToolResult.ok(None)

    run, prompt = executor(
        work, {Config: Config(), Client: Binding(Client, lambda r: Client(r.get(Config), seen), scope=scope)}
    )
    with prompt.resources:
        assert run.execute(ToolCall("work")).success
        assert run.execute(ToolCall("work")).success

    assert seen == log


@pytest.mark.parametrize("failure", [ToolResult.error("no"), ValueError("no"), None])
@pytest.mark.parametrize("bound", [Counter(), Binding(Counter, lambda r: Counter())])
def test_snapshotable_resources_roll_back(bound: Any, failure: Any) -> None:
    """Whether the handler says that it failed, or raises; and however the resource was bound."""

    def work(params: None, *, context: ToolContext) -> ToolResult[None]:
        context.resources.get(Counter).number += 1
        if isinstance(failure, Exception):
            raise failure
        return failure or ToolResult.ok(None)

    run, prompt = executor(work, {Counter: bound})
    before = prompt.resources.get(Counter).number
    reply = run.execute(ToolCall("work"))

    assert reply.success is (failure is None)
    assert prompt.resources.get(Counter).number == before + (failure is None)
