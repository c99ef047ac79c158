"""Every section that there is can be copied, prepared and let go, alone and together with all others."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from wink.filesystem import InMemoryFilesystem
from wink.prompt import (
    MarkdownSection,
    Prompt,
    PromptTemplate,
    Section,
    SectionOptions,
    SectionVisibility,
    TaskExample,
    TaskExamplesSection,
    TaskStep,
    TextSection,
    Tool,
    ToolContext,
    ToolExample,
    ToolResult,
    ToolsSection,
)
from wink.runtime import ToolCall, ToolExecutor
from wink.session import Session
from wink.tools import Image
from wink_asteval import AstevalSection
from wink_files import VfsToolsSection, WorkspaceSection
from wink_planning import PlanningToolsSection
from wink_shell import ShellSection


class Counter:
    """A resource that wants to be closed."""

    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True


def count(params: None, *, context: ToolContext) -> ToolResult[None]:
    context.resources.get(Counter)
    return ToolResult.ok(None, message="counted")


def examples() -> TaskExamplesSection[Any]:
    step = TaskStep("count", ToolExample("Count", None, None))
    return TaskExamplesSection(examples=[TaskExample("Count something.", "It is counted.", (step,))])


class Whole(Section[Any]):
    """Overrides all that a section may override, and takes notes."""

    def __init__(self, log: list[str], **arguments: Any) -> None:
        super().__init__("Whole", **arguments)
        self.log = log

    def tools(self) -> tuple[Tool[Any, Any], ...]:
        return (Tool[None, None]("count", "Count.", count),)

    def resources(self) -> Any:
        from wink.resources import Binding

        return {Counter: Binding(Counter, lambda _: Counter())}

    def install(self, session: Session) -> None:
        self.log.append(f"install {self.key}")

    def cleanup(self) -> None:
        self.log.append(f"cleanup {self.key}")


KINDS: list[Callable[[], Section[Any]]] = [
    lambda: Section("Group", children=[TextSection("Inner", "x")]),
    lambda: MarkdownSection("Markdown", "x", summary="s", visibility=SectionVisibility.SUMMARY),
    lambda: TextSection("Text", "x"),
    lambda: ToolsSection("Tools", [Tool[None, None]("nothing", "Do nothing.")]),
    lambda: WorkspaceSection(filesystem=InMemoryFilesystem(), offers=()),
    PlanningToolsSection,
    VfsToolsSection,
    ShellSection,
    AstevalSection,
]


@pytest.mark.parametrize("build", [*KINDS, lambda: Section("With examples", children=[Whole([]), examples()])])
def test_a_copy_is_as_good_as_the_original(build: Callable[[], Section[Any]]) -> None:
    """Same text and same tools, under another key; it is prepared and let go by itself."""
    original = build()
    twin = original.clone(key="twin")
    prompt = Prompt(PromptTemplate("ns", "one", sections=[original]))
    other = Prompt(PromptTemplate("ns", "two", sections=[twin]))
    session = Session()

    assert (type(twin), twin.title, twin.key) == (type(original), original.title, "twin")
    assert all(a is not b for a, b in zip(twin.children, original.children, strict=True))
    first, second = prompt.render(session=session), other.render(session=session)
    assert second.text == first.text.replace(f'"{original.key}"', '"twin"')
    assert [tool.name for tool in second.tools] == [tool.name for tool in first.tools]
    prompt.cleanup()
    assert other.render(session=session).text == second.text
    other.cleanup()


@pytest.mark.parametrize(
    "kind", [PlanningToolsSection, VfsToolsSection, ShellSection, AstevalSection, WorkspaceSection]
)
def test_those_that_bring_tools_can_be_summarised(kind: Callable[..., Section[Any]]) -> None:
    """Their instructions are long, and often not needed."""
    section = kind(summary="Tools for later.", visibility=SectionVisibility.SUMMARY)
    rendered = Prompt(PromptTemplate("ns", "key", sections=[section])).render(session=Session())

    assert rendered.summarised == (section.key,)
    assert "Tools for later." in rendered.text
    assert "to use its tools" in rendered.text


def test_all_of_them_work_in_one_prompt() -> None:
    """Prepared in order before the first rendering, with one set of files and resources, and let go in reverse."""
    log: list[str] = []
    files = InMemoryFilesystem()
    sections = [build() for build in KINDS if build is not KINDS[4]]
    sections.append(WorkspaceSection(filesystem=files, offers=()))
    whole = Whole(log, children=[examples()], summary="Everything.")
    prompt = Prompt(PromptTemplate("ns", "key", sections=[*sections, whole]))
    session = Session()

    rendered = prompt.render(session=session)
    prompt.render(session=session)
    assert log == ["install whole"]
    assert "**Example 1:** Count something." in rendered.text
    assert prompt.filesystem() is files
    executor = ToolExecutor(prompt=prompt, rendered=rendered, session=session)
    assert executor.execute(ToolCall("count", {})).text == "counted"
    assert executor.execute(ToolCall("write_file", {"file_path": "a", "content": "x"})).success
    assert files.read("a").content == "x"
    counter = prompt.resources.get(Counter)

    prompt.cleanup()
    assert counter.closed
    assert log == ["install whole", "cleanup whole"]
    assert prompt.resources.get(Counter) is not counter
    prompt.cleanup()


@pytest.mark.parametrize(
    "make",
    [
        partial(MarkdownSection[Any], "Some", "Text."),
        partial(TextSection[Any], "Some", "Text."),
        partial(ToolsSection[Any], "Some", ()),
        partial(TaskExamplesSection[Any], "Some"),
        partial(WorkspaceSection[Any], "Some", offers=()),
        VfsToolsSection,
        PlanningToolsSection,
        ShellSection,
        AstevalSection,
    ],
)
def test_every_section_takes_what_all_sections_take(make: Callable[..., Section[Any]]) -> None:
    """None drops an option that another one has."""
    child, image = MarkdownSection[Any]("Child", "Text."), Image(b"GIF89a")
    options = SectionOptions(
        children=[child],
        enabled=lambda: False,
        policies=(),
        summary="In short.",
        visibility=SectionVisibility.SUMMARY,
        attachments=(image,),
    )

    section = make(**options)

    assert section.children == (child,)
    assert not section.is_enabled()
    assert section.render_summary(None) == "In short."
    assert section.visibility is SectionVisibility.SUMMARY
    assert section.attachments(None) == (image,)
