"""What the benchmarks share: a session, tools that do little, and the same work done without wink."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.policies import PolicyDecision
from wink.prompt import MarkdownSection, Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor, ToolReply
from wink.session import Session
from wink.tools import Tool, ToolContext, ToolResult
from wink.workspace import Workspace

TEXT = "x" * 1500
_numbers = itertools.count()
"""So that each write changes something."""


@dataclass(frozen=True, slots=True)
class Params:
    text: str
    path: str = "dir/sub/file.txt"


@dataclass(frozen=True, slots=True)
class Result:
    text: str

    def render(self) -> str:
        return self.text


class Allow:
    """A policy that looks at nothing."""

    def __init__(self, name: str) -> None:
        self.name = name

    def check(self, tool: Any, params: Any, *, context: ToolContext) -> PolicyDecision:
        return PolicyDecision.allow()

    def on_result(self, tool: Any, params: Any, result: Any, *, context: ToolContext) -> None:
        pass


def noop(params: Params, *, context: ToolContext) -> ToolResult[Result]:
    return ToolResult(message="done", value=Result("ok"))


def write(params: Params, *, context: ToolContext) -> ToolResult[Result]:
    context.filesystem.write(params.path, f"{params.text}{next(_numbers)}")
    return ToolResult(message="done", value=Result("ok"))


def fail(params: Params, *, context: ToolContext) -> ToolResult[Result]:
    context.filesystem.write(params.path, f"{params.text}{next(_numbers)}")
    return ToolResult[Result].error("no")


class Calls:
    """An executor over one filesystem, and its calls."""

    def __init__(self, filesystem: Filesystem, session: Session, *, policies: int = 0) -> None:
        tools = [Tool[Params, Result](name=f.__name__, description="d", handler=f) for f in (noop, write, fail)]
        rules = [Allow(f"allow-{number}") for number in range(policies)]
        section = MarkdownSection(title="T", key="t", template="t", tools=tools, policies=rules)
        prompt = Prompt(PromptTemplate(ns="b", key="b", sections=[section])).bind(resources={Filesystem: filesystem})
        self.session = session
        self._executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
        self._calls = {name: ToolCall(name, json.dumps({"text": TEXT})) for name in ("noop", "write", "fail")}

    def __call__(self, name: str) -> ToolReply:
        return self._executor.execute(self._calls[name])


@pytest.fixture
def memory() -> Calls:
    return Calls(InMemoryFilesystem(), Session())


@pytest.fixture
def memory_with_policies() -> Calls:
    return Calls(InMemoryFilesystem(), Session(), policies=2)


def make_tree(root: Path, count: int) -> None:
    """`count` small files, a hundred in each directory, and the one that is worked on."""
    (root / "dir/sub").mkdir(parents=True)
    (root / "dir/sub/file.txt").write_text(TEXT)
    for number in range(0, count, 100):
        directory = root / f"d{number // 10_000:03}" / f"s{number // 100:05}"
        directory.mkdir(parents=True)
        for index in range(min(100, count - number)):
            (directory / f"f{index:02}.txt").write_bytes(b"content\n")


@pytest.fixture(scope="session", params=[1_000, 100_000], ids=["1k-files", "100k-files"])
def tree(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    make_tree(root, request.param)
    return root


@pytest.fixture
def workspace(tree: Path) -> Iterator[Calls]:
    with Workspace.open(tree) as opened:
        opened.filesystem.write_lock.acquire(10)
        opened.filesystem.write_lock.release()
        yield Calls(opened.filesystem, opened.session(), policies=2)
