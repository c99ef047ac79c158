"""A rendering is the text and the tools of what is enabled, in order."""

import pickle
from dataclasses import dataclass, field
from typing import Any

import pytest

from wink.errors import DuplicateToolName, PromptRenderError, PromptValidationError
from wink.prompt import MarkdownSection, Prompt, PromptTemplate, Section, TextSection, Tool, ToolExample, ToolsSection


@dataclass(frozen=True)
class Task:
    issue: str


@dataclass(frozen=True)
class Style:
    tone: str = "dry"
    words: list[str] = field(default_factory=lambda: ["ok"])


@dataclass(frozen=True)
class Refusing:
    number: int = 0

    def __post_init__(self) -> None:
        if not self.number:
            raise ValueError("number must not be 0")


@dataclass(frozen=True)
class Bounded:
    number: int = field(metadata={"le": 10})


@dataclass(frozen=True)
class Answer:
    text: str

    def render(self) -> str:
        return self.text


def tool(name: str, *examples: ToolExample[Any, Any]) -> Tool[Any, Any]:
    return Tool[Task, Answer](name=name, description="Do it.", handler=None, examples=examples)


def template_of(*sections: Section[Any]) -> PromptTemplate:
    return PromptTemplate("ns", "key", sections=sections)


def prompt_of(*sections: Section[Any]) -> Prompt:
    return Prompt(template_of(*sections))


def test_headings_are_numbered_as_deep_as_the_tree() -> None:
    """A model can then be pointed at `2.1.`; below the sixth level Markdown has no smaller heading."""

    def chain(depth: int) -> Section[Any]:
        return Section(f"Level {depth}", children=[chain(depth + 1)] if depth < 7 else [])

    text = prompt_of(MarkdownSection("Intro", "Hello."), chain(1)).render().text

    assert text.split("\n\n") == [
        "## 1. Intro",
        "Hello.",
        "## 2. Level 1",
        "### 2.1. Level 2",
        "#### 2.1.1. Level 3",
        "##### 2.1.1.1. Level 4",
        "###### 2.1.1.1.1. Level 5",
        "###### 2.1.1.1.1.1. Level 6",
        "###### 2.1.1.1.1.1.1. Level 7",
    ]


def test_an_empty_prompt_is_empty_text() -> None:
    """Nothing enabled is a state like any other."""
    rendered = prompt_of().render()

    assert (rendered.text, rendered.tools, str(rendered)) == ("", (), "")


def test_tools_come_in_the_order_of_their_declaration() -> None:
    """Depth first, so that the list follows the text."""
    a, b, c, d = (tool(name) for name in "abcd")
    prompt = prompt_of(Section("One", tools=[a, b], children=[ToolsSection("In", [c])]), Section("Two", tools=[d]))

    rendered = prompt.render()

    assert rendered.tools == prompt.tools() == (a, b, c, d)
    assert rendered.tool("c") is c
    assert rendered.tool("e") is None
    assert rendered.prompt_name == "key"


def test_parameters_reach_sections_by_their_type() -> None:
    """Every section of that type gets the same instance, in whatever order they were bound."""
    prompt = prompt_of(
        MarkdownSection[Task]("Task", "Fix $issue."),
        TextSection("Style", "Be $tone.", Style, children=[MarkdownSection[Task]("Again", "Really fix $issue.")]),
    )

    text = prompt.bind(Style(tone="kind"), Task("it")).render().text

    assert text == "## 1. Task\n\nFix it.\n\n## 2. Style\n\nBe kind.\n\n### 2.1. Again\n\nReally fix it."


def test_a_section_without_a_dataclass_shares_the_one_around_it() -> None:
    """So guidance and the tools that it is about stay together without naming the dataclass twice."""
    prompt = prompt_of(
        MarkdownSection[Task](
            "Task", "x", default_params=Task("it"), children=[ToolsSection("Tools", [], "For $issue.")]
        )
    )

    assert "For it." in prompt.render().text
    assert "For that." in prompt.render(Task("that")).text


def test_bound_parameters_win_over_defaults_and_those_of_one_rendering_over_both() -> None:
    """The nearer to the rendering, the stronger; and one rendering leaves nothing behind."""
    prompt = prompt_of(MarkdownSection("Task", "$issue", default_params=Task("default")))

    assert prompt.render().text.endswith("default")
    assert prompt.bind(Task("bound")).render().text.endswith("bound")
    assert prompt.render(Task("once")).text.endswith("once")
    assert prompt.render().text.endswith("bound")
    assert prompt.bind(Task("again")).render().text.endswith("again")


def test_a_dataclass_that_needs_nothing_is_made() -> None:
    """Asking for `bind(Style())` would be asking for nothing."""
    assert prompt_of(MarkdownSection[Style]("Style", "Be $tone.")).render().text.endswith("Be dry.")


def test_everything_that_is_missing_is_named_at_once() -> None:
    """One look at the error is enough to complete the call."""
    prompt = prompt_of(
        Section("Outer", children=[MarkdownSection[Task]("Task", "$issue")]),
        MarkdownSection[Task]("Again", "$issue"),
        MarkdownSection[Answer]("Answer", "$text"),
    )

    with pytest.raises(PromptRenderError) as caught:
        prompt.render()

    assert str(caught.value) == (
        "section 'outer/task', dataclass Task: parameters are missing: "
        "Task (issue) for 'outer/task', 'again'; Answer (text) for 'answer'; pass them to bind()"
    )
    assert caught.value.section_path == ("outer", "task")
    assert caught.value.dataclass is Task
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_disabled_section_needs_no_parameters() -> None:
    """They are for its text, and it has none."""
    prompt = prompt_of(MarkdownSection[Task]("Task", "$issue", enabled=lambda: False))

    assert prompt.render().text == ""


def test_but_one_that_decides_by_them_does() -> None:
    """Without parameters nobody can say whether it is enabled."""
    prompt = prompt_of(MarkdownSection[Task]("Task", "$issue", enabled=lambda task: False))

    with pytest.raises(PromptRenderError, match=r"Task \(issue\) for 'task'"):
        prompt.render()
    with pytest.raises(PromptRenderError, match=r"Task \(issue\) for 'task'"):
        prompt.tools()


def test_tools_can_be_listed_before_parameters_are_bound() -> None:
    """They are for the text; whoever shows the tools to a person has none yet."""
    find = tool("find")

    assert prompt_of(MarkdownSection[Task]("Task", "$issue", tools=[find])).tools() == (find,)


def test_parameters_that_refuse_to_be_made_name_their_section() -> None:
    """The check in `__post_init__` is the author's, and so is the message."""
    with pytest.raises(
        PromptRenderError, match="building its parameters raised ValueError: number must not be 0"
    ) as caught:
        prompt_of(MarkdownSection[Refusing]("Number", "$number")).render()

    assert caught.value.section_path == ("number",)


def test_a_section_that_raises_is_named() -> None:
    """Sections of plugins are foreign code."""

    class Broken(Section[Any]):
        def render_body(self, params: Any, *, session: Any = None) -> str:
            raise RuntimeError("no")

    with pytest.raises(PromptRenderError, match="rendering raised RuntimeError: no") as caught:
        prompt_of(Section("Outer", children=[Broken("Bad")])).render()

    assert caught.value.section_path == ("outer", "bad")


def test_a_section_may_render_what_the_session_holds() -> None:
    """`render_body` gets the session of the rendering."""

    class Count(Section[Any]):
        def render_body(self, params: Any, *, session: Any = None) -> str:
            return "nothing yet" if session is None else "in a session"

    assert prompt_of(Count("Count")).render().text.endswith("nothing yet")


@pytest.mark.parametrize(
    "wrong", [Task, {"issue": "x"}, "text", None], ids=["a dataclass itself", "a mapping", "text", "nothing"]
)
def test_only_instances_of_dataclasses_are_parameters(wrong: object) -> None:
    """Each is a slip that would otherwise end as a missing parameter."""
    with pytest.raises(PromptValidationError, match="parameters are instances of dataclasses"):
        prompt_of(MarkdownSection[Task]("Task", "$issue")).bind(wrong)


def test_parameters_that_no_section_asks_for_are_refused() -> None:
    """Most likely they were meant for one that is missing, or for another prompt."""
    prompt = prompt_of(MarkdownSection[Task]("Task", "$issue"))

    with pytest.raises(PromptValidationError, match="no section has such parameters; they have Task") as caught:
        prompt.bind(Style())

    assert caught.value.dataclass is Style


def test_two_instances_of_one_type_at_once_are_refused() -> None:
    """One of them would be lost in silence."""
    with pytest.raises(PromptValidationError, match="two instances were given at once"):
        prompt_of(MarkdownSection[Task]("Task", "$issue")).bind(Task("a"), Task("b"))


def test_a_refused_bind_changes_nothing() -> None:
    """Half of a call is worse than none."""
    prompt = prompt_of(MarkdownSection("Task", "$issue", default_params=Task("default")))

    with pytest.raises(PromptValidationError):
        prompt.bind(Task("new"), Style(), resources={str: "x"})

    assert prompt.render().text.endswith("default")
    assert prompt.resources.get_optional(str) is None


def test_a_collision_of_enabled_sections_is_found_when_it_happens() -> None:
    """Two sections that decide for themselves may be enabled together."""
    prompt = prompt_of(
        Section("One", tools=[tool("act")], enabled=lambda: True),
        Section("Two", tools=[tool("act")], enabled=lambda: True),
    )

    with pytest.raises(DuplicateToolName) as caught:
        prompt.render()

    assert (caught.value.first, caught.value.second) == ("section 'one'", "section 'two'")


def test_examples_follow_the_body_of_their_section() -> None:
    """They show the model the arguments as it has to write them, and the answer as it will read it."""
    example = ToolExample(description="Find the fault", input=Task("crash"), output=Answer("line 3"))
    prompt = prompt_of(
        MarkdownSection("Guide", "Use them.", tools=[tool("find", example), tool("fix")], children=[Section("Below")])
    )

    assert prompt.render().text == (
        "## 1. Guide\n\n"
        "Use them.\n\n"
        "Examples of `find`:\n"
        '- Find the fault: `{"issue":"crash"}` gives `line 3`\n\n'
        "### 1.1. Below"
    )


def test_long_answers_and_backticks_stay_readable() -> None:
    """Code within code needs more backticks around it than there are inside (CommonMark)."""
    prompt = prompt_of(
        Section(
            "Guide",
            tools=[
                tool(
                    "find",
                    ToolExample(description="Two lines", input=Task("a"), output=Answer("one\n```\ntwo")),
                    ToolExample(description="Ticks", input=Task("`b`"), output=Answer("`c")),
                    ToolExample(description="Nothing", input=Task("d"), output=Answer("")),
                )
            ],
        )
    )

    assert prompt.render().text == (
        "## 1. Guide\n\n"
        "Examples of `find`:\n"
        '- Two lines: `{"issue":"a"}` gives\n'
        "  ````\n  one\n  ```\n  two\n  ````\n"
        '- Ticks: ``{"issue":"`b`"}`` gives `` `c ``\n'
        '- Nothing: `{"issue":"d"}`'
    )


def test_a_tool_without_parameters_is_shown_with_none() -> None:
    """An empty object is what the model has to send."""
    now = Tool[None, Answer](
        name="now", description="Tell the time.", examples=[ToolExample("Ask", None, Answer("noon"))], handler=None
    )

    assert prompt_of(Section("Clock", tools=[now])).render().text.endswith("- Ask: `{}` gives `noon`")


def test_wrong_examples_are_found_at_the_first_rendering() -> None:
    """Before any model sees them. What needs a compiled schema waits for it; the error names section and tool."""
    outside = ToolExample(description="Too many", input=Bounded(11), output=None)
    count = Tool[Bounded, None](name="count", description="Count.", examples=[outside], handler=None)
    prompt = prompt_of(Section("Outer", children=[Section("Inner", tools=[count])]))

    with pytest.raises(PromptValidationError) as caught:
        prompt.render()

    assert (caught.value.section_path, caught.value.tool) == (("outer", "inner"), "count")
    assert "at most 10" in str(caught.value) or "10" in str(caught.value)


def test_an_example_that_cannot_be_shown_names_its_section() -> None:
    """`render()` of a result is the author's code."""

    @dataclass(frozen=True)
    class Shy:
        text: str = ""

        def render(self) -> str:
            raise RuntimeError("no")

    shy = Tool[Task, Shy]("shy", "Hide.", examples=[ToolExample("Ask", Task("x"), Shy())], handler=None)

    with pytest.raises((PromptRenderError, PromptValidationError)) as caught:
        prompt_of(Section("Guide", tools=[shy])).render()

    assert caught.value.section_path == ("guide",)


def test_rendering_twice_gives_the_same() -> None:
    """What is kept from the first rendering is only what cannot change."""
    example = ToolExample(description="Find", input=Task("crash"), output=Answer("line 3"))
    prompt = prompt_of(MarkdownSection[Task]("Guide", "$issue", tools=[tool("find", example)]))

    first, other, again = (prompt.render(Task(issue)) for issue in ("a", "b", "a"))

    assert first.text == again.text != other.text
    assert first.tools == other.tools == again.tools
