"""What stays different from the documents, as `docs/explanation/specification.md` lists it: each is so."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from wink.errors import PromptValidationError
from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.policies import PolicyDecision
from wink.prompt import MarkdownSection, Prompt, PromptTemplate, ReadBeforeWritePolicy, Tool, ToolContext, ToolResult
from wink.resources import Binding
from wink.runtime import ToolCall, ToolExecutor, ToolInvoked
from wink.serde import dump
from wink.session import Session
from wink_files import VfsToolsSection


@dataclass
class Where:
    place: str = "notes.txt"


@dataclass
class Found:
    text: str | None = None
    rest: tuple[str | None, ...] = ()

    def render(self) -> str:
        return f"found {self.text}"


def prompt_of(*tools: Tool[Any, Any], resources: Any = None, **section: Any) -> Prompt[Any]:
    template = PromptTemplate("spec", "different", sections=[MarkdownSection("Tools", "x", tools=tools, **section)])
    return Prompt(template).bind(resources=resources or {})


@pytest.mark.parametrize("path", ["/notes.txt", "/etc/hosts", "../notes.txt"])
def test_a_path_that_is_not_relative_to_the_workspace_is_refused(model: Callable[..., Any], path: str) -> None:
    """Neither is it taken for one that is."""
    files = InMemoryFilesystem()
    files.write("notes.txt", "one")
    template = PromptTemplate("spec", "files", sections=[VfsToolsSection(read_before_write=False)])
    reply = model(Prompt(template).bind(resources={Filesystem: files})).call("read_file", file_path=path)
    assert not reply.success
    assert path in reply.text


def test_the_text_of_an_unexpected_exception_stays_in_the_event(model: Callable[..., Any]) -> None:
    """The model is told its class, and a number by which it can be found."""

    def connect(params: None, *, context: ToolContext) -> ToolResult[None]:
        raise LookupError("no route to db.internal, user admin")

    caller = model(prompt_of(Tool[None, None]("connect", "Connect.", connect)))
    reply = caller.call("connect")
    assert "LookupError" in reply.text
    assert "db.internal" not in reply.text
    assert "db.internal" in str(caller.session[ToolInvoked].latest().error)


def test_what_is_recorded_of_a_result_is_all_that_the_model_was_sent(model: Callable[..., Any]) -> None:
    """The value alone is what `render` gives."""

    def find(params: Where, *, context: ToolContext) -> ToolResult[Found]:
        return ToolResult.ok(Found(params.place), message="Looked.")

    caller = model(prompt_of(Tool[Where, Found]("find", "Find.", find)))
    caller.call("find", place="attic")
    event = caller.session[ToolInvoked].latest()
    assert (event.rendered_output, event.result.render()) == ("Looked.\n\nfound attic", "found attic")


def test_a_tool_takes_its_types_from_its_handler_and_refuses_others(model: Callable[..., Any]) -> None:
    """What the brackets would say stands in the annotations already."""

    def find(params: Where, *, context: ToolContext) -> ToolResult[Found]:
        return ToolResult.ok(Found(params.place))

    tool = Tool("find", "Find.", find)
    assert (tool.params_type, tool.result_type) == (Where, Found)
    with pytest.raises(PromptValidationError):
        Tool[Found, Where]("find", "Find.", find)


def test_none_is_left_out_of_fields_and_kept_among_elements() -> None:
    """The length of a list and the keys of a mapping mean something."""
    assert dump(Found(), exclude_none=True) == {"rest": []}
    assert dump(Found(rest=("a", None)), exclude_none=True) == {"rest": ["a", None]}
    assert dump({"a": None}, exclude_none=True) == {"a": None}


def test_a_writer_that_names_no_path_is_denied(model: Callable[..., Any]) -> None:
    """Nobody can tell what it would overwrite."""
    ran: list[str] = []

    def write_file(params: Where, *, context: ToolContext) -> ToolResult[None]:
        ran.append(params.place)
        return ToolResult.ok(None)

    tool = Tool[Where, None]("write_file", "Write.", write_file)
    files = {Filesystem: InMemoryFilesystem()}
    reply = model(prompt_of(tool, resources=files, policies=[ReadBeforeWritePolicy()])).call("write_file")
    assert (reply.success, ran) == (False, [])


@pytest.mark.parametrize(
    ("make", "missing"),
    [
        (lambda: PromptTemplate(sections=[]), ["ns", "key"]),  # type: ignore[call-arg]
        (lambda: MarkdownSection(tools=[], policies=[]), ["title", "template"]),  # type: ignore[call-arg]
    ],
)
def test_what_an_example_leaves_out_has_to_be_given(make: Callable[[], object], missing: list[str]) -> None:
    """A prompt that has no name cannot be found again, and a section without a text says nothing."""
    with pytest.raises(TypeError) as caught:
        make()
    assert all(repr(name) in str(caught.value) for name in missing)


def test_a_singleton_belongs_to_the_prompt_that_it_is_bound_to() -> None:
    """Two sessions of one prompt share it; a prompt for each session keeps them apart."""
    made: list[object] = []
    used: list[object] = []

    class Connection:
        def __init__(self) -> None:
            made.append(self)

    def use(params: None, *, context: ToolContext) -> ToolResult[None]:
        used.append(context.resources.get(Connection))
        return ToolResult.ok(None)

    tool = Tool[None, None]("use", "Use.", use)
    prompts = [prompt_of(tool, resources={Connection: Binding(Connection, lambda _: Connection())}) for _ in range(2)]
    for prompt in prompts:
        for session in (Session(), Session()):
            rendered = prompt.render(session=session)
            ToolExecutor(prompt=prompt, rendered=rendered, session=session).execute(ToolCall("use"))
    assert used == [made[0], made[0], made[1], made[1]]


def test_on_an_event_loop_policies_are_asked_on_a_thread_of_their_own() -> None:
    """One that hangs must not hold up the loop; without a loop they are asked where the tool runs."""
    threads: list[int] = []

    class Notes:
        name = "notes"

        def check(self, tool: Any, params: Any, *, context: ToolContext) -> PolicyDecision:
            threads.append(threading.get_ident())
            return PolicyDecision.allow()

        def on_result(self, tool: Any, params: Any, result: Any, *, context: ToolContext) -> None:
            pass

    def use(params: None, *, context: ToolContext) -> ToolResult[None]:
        return ToolResult.ok(None)

    prompt, session = prompt_of(Tool[None, None]("use", "Use.", use), policies=[Notes()]), Session()
    executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
    executor.execute(ToolCall("use"))
    asyncio.run(executor.aexecute(ToolCall("use")))
    here = threading.get_ident()
    assert [thread == here for thread in threads] == [True, False]
