"""Programs that use sections, templates and prompts as the specification names them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from wink.prompt import (
    MarkdownSection,
    Prompt,
    PromptTemplate,
    PromptValidationError,
    Section,
    SequentialDependencyPolicy,
    TextSection,
    Tool,
    ToolContext,
    ToolResult,
    ToolsSection,
)
from wink.resources import Binding, ResourceRegistry
from wink.session import Session


@dataclass
class Task:
    """Parameters with a default."""

    goal: str = "rest"


@dataclass
class Where:
    """Parameters of a tool, one of them described."""

    place: str = field(metadata={"description": "Which place."})
    far: bool = False


def go(params: Where, *, context: ToolContext) -> ToolResult[None]:
    return ToolResult.ok(None, message=f"went to {params.place}")


GO = Tool[Where, None](name="go", description="Go there.", handler=go)


def text_of(*sections: Section[Any], session: Session | None = None) -> str:
    return Prompt(PromptTemplate(ns="spec", key="text", sections=sections)).render(session=session).text


class OnlyParams(Section[Task]):
    def render_body(self, params: Any) -> str:  # type: ignore[override]
        return params.goal


class Nothing(Section[Task]):
    def render_body(self) -> str:  # type: ignore[override]
        return "rest"


class WithSession(Section[Task]):
    def render_body(self, params: Any, *, session: Session | None) -> str:  # type: ignore[override]
        return params.goal if session is not None else ""


class WithMore(Section[Task]):
    def render_body(self, params: Any, *, visibility: Any = None, path: Any = (), session: Any = None) -> str:
        return params.goal if path == ("s",) and visibility is None and session is not None else ""


class WithWhatever(Section[Task]):
    def render_body(self, params: Any, **more: Any) -> str:
        return params.goal if more["session"] is not None else ""


class Anything(Section[Task]):
    def render_body(self, *args: Any, **more: Any) -> str:
        return args[0].goal


@pytest.mark.parametrize("kind", [OnlyParams, Nothing, WithSession, WithMore, WithWhatever, Anything])
def test_a_subclass_may_take_as_much_as_it_needs(kind: type[Section[Any]]) -> None:
    """A section of somebody's own need not name what it does not use."""
    assert text_of(kind(title="S", key="s"), session=Session()) == "## 1. S\n\nrest"


def test_a_body_that_asks_for_more_is_refused_with_its_section() -> None:
    """When the template is built, not when it is rendered."""

    class Greedy(Section[Task]):
        def render_body(self, params: Any, *, weather: str) -> str:  # type: ignore[override]
            return weather

    with pytest.raises(PromptValidationError, match="section 's': render_body cannot be given 'weather'"):
        PromptTemplate(ns="spec", key="greedy", sections=[Greedy(title="S", key="s")])


class Own(Section[Task]):
    """Everything that a subclass may override, with lists where tuples would do."""

    def __init__(self, *, word: str = "own", log: list[str] | None = None) -> None:
        super().__init__(title="Own", key="own", default_params=Task("work"))
        self.word, self.log = word, [] if log is None else log

    def render_body(self, params: Any, *, session: Session | None = None) -> str:
        return f"{self.word} {params.goal}"

    def tools(self) -> Any:
        return [GO]

    def policies(self) -> Any:
        return [SequentialDependencyPolicy(dependencies={"go": frozenset({"stay"})})]

    def resources(self) -> ResourceRegistry:
        return ResourceRegistry.of(Binding.instance(str, "from the section"))

    def clone(self, **changes: Any) -> Own:
        return Own(word=self.word, log=self.log)

    def cleanup(self) -> None:
        self.log.append("cleaned")


def test_a_section_of_ones_own() -> None:
    """Its tools, policies and resources are the prompt's; its copy and its end are its own business."""
    section = Own(word="mine")
    prompt = Prompt(PromptTemplate(ns="spec", key="own", sections=[Section("All", children=[section]).clone()]))

    assert prompt.render().text == "## 1. All\n\n### 1.1. Own\n\nmine work"
    assert prompt.bind(Task("play")) is prompt
    assert "mine play" in prompt.render(session=Session()).text
    assert prompt.tools() == (GO,)
    assert [policy.name for policy in prompt.policies_for_tool("go")] == ["sequential_dependency"]
    assert prompt.find_section(Own) is prompt.find_section("own") is not section
    with prompt.resources as resources:
        assert resources.get(str) == "from the section"
    prompt.cleanup()
    assert section.log == ["cleaned"]


def test_sections_take_their_arguments_by_position_and_by_keyword() -> None:
    """In the order in which the specification lists them."""
    by_position = Section("A", "a", Task(), (), lambda: True, (GO,), (), False)
    by_keyword = Section(
        title="A",
        key="a",
        default_params=Task(),
        children=(),
        enabled=lambda: True,
        tools=(GO,),
        policies=(),
        accepts_overrides=False,
    )
    for section in (by_position, by_keyword):
        assert (section.title, section.key, section.default_params) == ("A", "a", Task())
        assert (section.tools(), section.policies(), section.accepts_overrides) == ((GO,), (), False)
    assert (
        text_of(
            MarkdownSection("M", "  $$ text\n", "m"), TextSection("T", "body", None), ToolsSection("Tools", [GO], "Go.")
        )
        == "## 1. M\n\n$ text\n\n## 2. T\n\nbody\n\n## 3. Tools\n\nGo."
    )


@pytest.mark.parametrize("key", ["", "A", "-a", "a b", "x" * 65])
def test_keys_have_a_form(key: str) -> None:
    """`^[a-z0-9][a-z0-9._-]{0,63}$`."""
    with pytest.raises(PromptValidationError):
        MarkdownSection(title="T", template="x", key=key)
    MarkdownSection(title="T", template="x", key="0a._-")


@pytest.mark.parametrize(
    "enabled",
    [
        lambda: False,
        lambda *, session: session is None,
        lambda params: params.goal != "rest",
        lambda params, *, session: session is None or params.goal != "rest",
    ],
    ids=["nothing", "session", "params", "both"],
)
def test_enabled_takes_what_it_wants(enabled: Callable[..., bool]) -> None:
    """A disabled section brings neither text nor tools."""
    section = MarkdownSection[Task](title="T", template="$goal", key="t", enabled=enabled, tools=[GO])
    rendered = Prompt(PromptTemplate(ns="spec", key="on", sections=[section])).render(session=Session())

    assert (rendered.text, rendered.tools) == ("", ())


def test_what_a_rendering_tells() -> None:
    """Text, tools, the descriptions of their parameters, and no deadline unless somebody evaluates it under one."""
    template = PromptTemplate("spec", "told", None, [MarkdownSection("T", "x", "t", tools=[GO])], [])
    rendered = Prompt(template).render()

    assert (rendered.prompt_name, rendered.text, rendered.tools) == ("told", "## 1. T\n\nx", (GO,))
    assert rendered.tool_param_descriptions == {"go": {"place": "Which place."}}
    assert rendered.deadline is None
    assert PromptTemplate(ns="spec", key="empty").sections == ()


def test_resources_are_collected_from_the_template_up() -> None:
    """Template, then sections, then what is bound; as registries or as mappings."""
    bare = PromptTemplate(ns="spec", key="res", resources={str: "from the template", int: 1})
    full = PromptTemplate(
        ns="spec", key="res", sections=[Own()], resources=ResourceRegistry.build({str: "from the template", int: 1})
    )

    assert Prompt(bare).resources.get(str) == "from the template"
    assert Prompt(full).resources.get(str) == "from the section"
    bound = Prompt(full).bind(resources={str: Binding(str, lambda resources: f"bound {resources.get(int)}")})
    assert bound.resources.get(str) == "bound 1"


def test_one_template_serves_many_prompts_and_threads() -> None:
    """Each prompt has parameters of its own, and no thread sees another's."""
    template = PromptTemplate(
        ns="spec", key="shared", sections=[MarkdownSection[Task](title="T", template="Do $goal.", key="t", tools=[GO])]
    )
    texts: dict[int, set[str]] = {}

    def work(number: int) -> None:
        prompt = Prompt(template).bind(Task(goal=str(number)))
        texts[number] = {prompt.render(session=Session()).text for _ in range(20)}

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert texts == {number: {f"## 1. T\n\nDo {number}."} for number in range(8)}
