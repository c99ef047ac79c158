"""The examples of the specification run as they are printed; those that cannot are refused with what to write."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest

import wink.prompt
from wink.errors import PromptValidationError
from wink.filesystem import Filesystem
from wink.prompt import (
    MarkdownSection,
    Prompt,
    PromptTemplate,
    ReadBeforeWritePolicy,
    SequentialDependencyPolicy,
    Tool,
    ToolContext,
    ToolResult,
)
from wink.resources import Binding, ResourceRegistry, Scope
from wink.session import Session


class Example(NamedTuple):
    """One block of code, and where it stands."""

    document: str
    number: int
    code: str

    @property
    def name(self) -> str:
        return f"{self.document} {self.number}"


def examples() -> list[Example]:
    """Those of all documents, in their order."""
    text = Path(__file__).with_name("examples.txt").read_text(encoding="utf-8")
    documents = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    return [
        Example(document.partition("\n")[0], number, code)
        for document in documents
        for number, code in enumerate(re.findall(r"^```python\n(.*?)^```$", document, re.DOTALL | re.MULTILINE), 1)
    ]


class Client:
    """What an example makes with any arguments."""

    def __init__(self, *given: object, **named: object) -> None:
        self.given, self.url = (*given, *named.values()), "https://example.com"

    @classmethod
    def from_env(cls) -> Client:
        return cls()


@dataclass(frozen=True)
class Zone:
    tz: str


@dataclass(frozen=True)
class Now:
    iso: str


@dataclass(frozen=True)
class Where:
    path: str = "a.txt"


@dataclass(frozen=True)
class Answer:
    answer: object = None


def tool(name: str) -> Tool[Any, Any]:
    """A tool of which an example says only the name."""

    def handler(params: Where, *, context: ToolContext) -> ToolResult[Where]:
        return ToolResult.ok(params)

    return Tool[Where, Where](name, f"Does {name}.", handler)


def now_handler(params: Zone, *, context: ToolContext) -> ToolResult[Now]:
    return ToolResult.ok(Now("2025-01-01T00:00:00+00:00"))


class Adapter:
    """Evaluates a prompt by rendering it."""

    def evaluate(self, prompt: Prompt, *, session: Session) -> str:
        return prompt.render(session=session).text


DOCUMENTS = (
    "Tool Registration Specification",
    "Tool Runtime Specification, earlier",
    "Tool Policy Specification",
    "Tools",
    "Tool Runtime Specification, current",
)
MADE = {
    "policy": (SequentialDependencyPolicy, ReadBeforeWritePolicy),
    "deploy_policy": SequentialDependencyPolicy,
    "read_first": ReadBeforeWritePolicy,
    "tool": Tool,
    "section": MarkdownSection,
    "registry": ResourceRegistry,
    "response": str,
}


def given() -> dict[str, Any]:
    """What the documents take for granted: the names that they have introduced in words, or in another example."""
    named = {name: tool(name) for name in ("read_file", "write_file", "lint", "test", "build", "deploy")}
    deploying = {f"{name}_tool": tool(name) for name in ("lookup", "search", "deploy", "test", "build")}
    section = MarkdownSection[Where](title="One", key="one", template="Words on ${path}.")
    template = PromptTemplate(ns="t", key="t", sections=[section])
    return {
        **{name: getattr(wink.prompt, name) for name in wink.prompt.__all__},
        **named,
        **deploying,
        "Binding": Binding,
        "Scope": Scope,
        "Filesystem": Filesystem,
        "session": Session(),
        "adapter": Adapter(),
        "MyHttpClient": Client,
        "HTTPClient": Client,
        "Config": type("Config", (Client,), {}),
        "Tracer": type("Tracer", (Client,), {}),
        "NowParams": Zone,
        "NowResult": Now,
        "now_handler": now_handler,
        "Params": Where,
        "Result": Where,
        "MyResult": Answer,
        "ParamsT": TypeVar("ParamsT"),
        "ResultT": TypeVar("ResultT"),
        "template": template,
        "params": Where(),
        "ReadBeforeWritePolicy": ReadBeforeWritePolicy,
        "SequentialDependencyPolicy": SequentialDependencyPolicy,
        "deploy_policy": SequentialDependencyPolicy(dependencies={"deploy": frozenset({"test", "build"})}),
    }


def run(example: Example) -> dict[str, Any]:
    names = {"__name__": "example", **given()}
    exec(compile(example.code, example.name, "exec", dont_inherit=True), names)
    return names


REFUSED = {
    "Tool Registration Specification 1": "a handler takes (params, *, context)",
    "Tool Runtime Specification, earlier 3": "write Prompt(PromptTemplate(ns=..., key=..., sections=[...]))",
    "Tool Policy Specification 3": "'title' and 'template'",
    "Tool Runtime Specification, current 6": "'title' and 'template'",
}
"""Two that a newer document contradicts, and one, printed twice, that leaves out what its own words ask for; and what each is told."""


@pytest.mark.parametrize("example", [pytest.param(one, id=one.name) for one in examples() if one.name not in REFUSED])
def test_it_runs_as_printed(example: Example) -> None:
    """And makes what it is about, where it gives that a name."""
    made = run(example)

    for name, kind in MADE.items():
        if f"\n{name} = " in f"\n{example.code}":
            assert isinstance(made[name], kind)


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_told_what_to_write(name: str) -> None:
    """What stays different is refused in words, and is on the page of contradictions."""
    (example,) = (one for one in examples() if one.name == name)
    with pytest.raises((PromptValidationError, TypeError)) as caught:
        run(example)
    assert REFUSED[name] in str(caught.value)


def test_all_examples_are_here() -> None:
    """None is left out for not being found."""
    assert [len([one for one in examples() if one.document == name]) for name in DOCUMENTS] == [1, 4, 4, 7, 7]
