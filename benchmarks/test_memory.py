"""A call in memory beside the same work without checks, policies, transaction and events."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.conftest import TEXT, Calls, Params, noop
from wink.filesystem import InMemoryFilesystem
from wink.prompt import MarkdownSection, Prompt, PromptTemplate
from wink.serde import parse
from wink.session import Session
from wink.tools import Tool, ToolResult

Benchmark = Any


@pytest.mark.benchmark(group="memory: a call that does nothing")
def test_bare(benchmark: Benchmark) -> None:
    """The rival: arguments parsed and checked by the same library, the handler called, the result rendered."""
    text = f'{{"text": "{TEXT}"}}'
    benchmark(lambda: noop(parse(Params, text), context=None).render())  # type: ignore[arg-type]


@pytest.mark.benchmark(group="memory: a call that does nothing")
def test_call(benchmark: Benchmark, memory: Calls) -> None:
    benchmark(memory, "noop")


@pytest.mark.benchmark(group="memory: a call that does nothing")
def test_call_two_policies(benchmark: Benchmark, memory_with_policies: Calls) -> None:
    benchmark(memory_with_policies, "noop")


@pytest.mark.benchmark(group="memory: a call that does nothing")
def test_call_after_10_000(benchmark: Benchmark, memory_with_policies: Calls) -> None:
    """The same session, ten thousand calls later."""
    for _ in range(10_000):
        memory_with_policies("noop")
    benchmark(memory_with_policies, "noop")


@pytest.mark.benchmark(group="memory: a call that writes 1.5 KB")
@pytest.mark.parametrize("outcome", ["write", "fail"])
def test_writing_call(benchmark: Benchmark, memory: Calls, outcome: str) -> None:
    benchmark(memory, outcome)


@pytest.mark.benchmark(group="memory: 10,000 calls in one session")
def test_10_000_calls(benchmark: Benchmark) -> None:
    def run() -> None:
        calls = Calls(InMemoryFilesystem(), Session())
        for _ in range(10_000):
            calls("noop")

    benchmark.pedantic(run, rounds=3)


def test_memory_snapshot_and_restore(benchmark: Benchmark) -> None:
    """100,000 files, 100 of them changed and taken back."""
    files = InMemoryFilesystem()
    for number in range(100_000):
        files.write(f"d{number % 100}/f{number}.txt", "content")

    def run() -> None:
        snapshot = files.snapshot()
        for number in range(100):
            files.write(f"d{number}/f{number}.txt", "changed")
        files.restore(snapshot)

    benchmark.group = "memory: 100,000 files, 100 changed and restored"
    benchmark.pedantic(run, rounds=20, warmup_rounds=2)


@pytest.mark.benchmark(group="render: 50 sections, 100 tools")
def test_render(benchmark: Benchmark) -> None:
    def handler(params: Params, *, context: Any) -> ToolResult[None]:
        return ToolResult[None].ok(None)

    sections = [
        MarkdownSection(
            title=f"Section {number}",
            key=f"s{number}",
            template="Some guidance that a model reads. " * 20,
            tools=[
                Tool[Params, None](name=f"tool_{number}_{which}", description="d", handler=handler)
                for which in ("a", "b")
            ],
        )
        for number in range(50)
    ]
    prompt, session = Prompt(PromptTemplate(ns="b", key="b", sections=sections)), Session()
    assert len(prompt.render(session=session).tools) == 100
    benchmark(prompt.render, session=session)
