"""Worked tasks show a model how tools follow on each other, and are checked against these tools."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from wink.errors import ParseError, PromptOverrideError, PromptValidationError
from wink.prompt import (
    MarkdownSection,
    Prompt,
    PromptTemplate,
    Section,
    SectionVisibility,
    TaskExample,
    TaskExamplesSection,
    TaskStep,
    Tool,
    ToolExample,
    ToolsSection,
)
from wink.serde import dump
from wink_overrides import TaskExampleOverride, overridden_task_examples


@dataclass(frozen=True)
class Place:
    """Parameters with a rule."""

    path: str
    line: int = field(default=1, metadata={"ge": 1})


@dataclass(frozen=True)
class Text:
    """A result."""

    text: str

    def render(self) -> str:
        return self.text


READ = Tool[Place, Text]("read", "Read a file.")
LS = Tool[None, list[Text]]("ls", "List files.")
RUN = Tool[None, None]("run", "Run the tests.")


def step(name: str = "read", given: Any = Place("a.py"), output: Any = Text("x = 1"), about: str = "Look") -> TaskStep:
    return TaskStep(name, ToolExample(about, given, output))


def task(*steps: TaskStep, objective: str = "Find the bug.", outcome: Any = "It is in line 1.") -> TaskExample:
    return TaskExample(objective, outcome, steps or (step(),))


def prompt_of(*examples: TaskExample, tools: Any = (READ, LS, RUN), output: Any = None, **more: Any) -> Prompt[Any]:
    sections = [ToolsSection("Tools", tools), TaskExamplesSection(examples=examples, **more)]
    return Prompt(PromptTemplate[output]("ns", "key", sections=sections))


def test_a_task_is_shown_with_its_calls_in_order() -> None:
    """Readable as a story: what was asked, what was called, what came back, how it ended."""
    example = task(
        step("ls", None, [Text("a.py"), Text("b.py")], "Look around"),
        step(given=Place("a.py", 2), output=Text("x = 1"), about="Read the likely one"),
        step("run", None, None, "Run the tests"),
    )
    other = task(objective="Do it again.", outcome="Done.")

    assert prompt_of(example, other).render().text.partition("## 2. ")[2] == (
        "Task examples\n\n"
        "**Example 1:** Find the bug.\n\n"
        "1. Look around: `ls` with `{}` gives\n"
        "   ```\n   a.py\n\n   b.py\n   ```\n"
        '2. Read the likely one: `read` with `{"path":"a.py","line":2}` gives `x = 1`\n'
        "3. Run the tests: `run` with `{}`\n\n"
        "**Outcome:** It is in line 1.\n\n"
        "**Example 2:** Do it again.\n\n"
        '1. Look: `read` with `{"path":"a.py","line":1}` gives `x = 1`\n\n'
        "**Outcome:** Done."
    )


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (step("reed"), "section 'task-examples': step 1 of task example 1 calls 'reed', .* did you mean 'read'"),
        (step("zzz"), "its tools are ls, read, run"),
        (step(given=None), r"tool 'read', dataclass Place: step 1 of task example 1 has input None"),
        (step(output="x"), "dataclass Text: step 1 of task example 1 has output 'x'"),
        (step("ls", None, Text("x")), "the tool's result is list"),
        (step("run", Place("x"), None), "tool 'run': step 1 of task example 1 has input Place"),
        (step(about=" "), "step 1 of task example 1 needs a description"),
    ],
)
def test_steps_are_checked_against_their_tools_when_the_template_is_built(bad: TaskStep, message: str) -> None:
    """A model repeats what it is shown, mistakes too."""
    with pytest.raises(PromptValidationError, match=message):
        prompt_of(task(bad))


def test_the_rules_of_a_tools_fields_are_checked_at_the_first_rendering() -> None:
    """As for the tool's own examples: it compiles the types."""
    prompt = prompt_of(task(), task(step(), step(given=Place("a.py", 0))))

    with pytest.raises(PromptValidationError) as caught:
        prompt.render()
    assert str(caught.value).startswith(
        "section 'task-examples', tool 'read', dataclass Place: step 2 of task example 2"
    )
    assert "$.line: must be at least 1" in str(caught.value)
    assert prompt.render(check=False).tools == (READ, LS, RUN)


def test_of_tools_that_exclude_each_other_one_has_to_fit() -> None:
    """Which one is enabled is known at a rendering only."""
    other = Tool[None, None]("read", "Read the news.")
    sections = [
        Section("A", tools=[other], enabled=lambda: False),
        Section("B", tools=[READ], enabled=lambda: True),
        TaskExamplesSection(examples=[task()]),
    ]
    assert "**Example 1:**" in Prompt(PromptTemplate("ns", "key", sections=sections)).render().text


def test_tasks_with_a_tool_that_is_not_there_now_are_left_out() -> None:
    """Neither a disabled nor a summarised section's tools can be called; a task needs all of its own."""
    hidden = Section("Hidden", tools=[LS], summary="s", visibility=SectionVisibility.SUMMARY)
    off = Section("Off", tools=[RUN], enabled=lambda: False)
    examples = TaskExamplesSection(
        examples=[
            task(step(), step("run", None, None)),
            task(step(), step("ls", None, [])),
            task(objective="Just read."),
        ]
    )
    prompt = Prompt(PromptTemplate("ns", "key", sections=[ToolsSection("T", [READ]), hidden, off, examples]))

    assert "Find the bug" not in prompt.render().text
    assert "**Example 1:** Just read." in prompt.render().text
    opened = prompt.render(visibility_overrides={("hidden",): SectionVisibility.FULL}).text
    assert "**Example 1:** Find the bug." in opened
    assert "**Example 2:** Just read." in opened


def test_a_task_may_open_sections() -> None:
    """The tools that wink brings are tools like any other, as long as something is summarised."""
    opening = task(TaskStep("open_sections", ToolExample("Open the rules", None, None)))
    summarised = MarkdownSection("Rules", "x", summary="s", visibility=SectionVisibility.SUMMARY)
    sections = [summarised, TaskExamplesSection(examples=[opening])]

    assert "`open_sections`" in Prompt(PromptTemplate("ns", "key", sections=sections)).render().text


def test_tools_that_come_later_may_be_named() -> None:
    """What a mounted server will offer is not known when the template is built."""

    class Coming(Section[Any]):
        def current_tools(self) -> Any:
            return [RUN]

    sections = [Coming("Coming"), TaskExamplesSection(examples=[task(step("run", None, None)), task(step("later"))])]
    text = Prompt(PromptTemplate("ns", "key", sections=sections)).render().text

    assert "`run`" in text
    assert "`later`" not in text


# Outcomes.


def test_an_outcome_may_be_the_output_that_the_prompt_declares() -> None:
    """It shows the model what its own last answer looks like."""
    assert '**Outcome:** `{"text":"line 1"}`' in prompt_of(task(outcome=Text("line 1")), output=Text).render().text
    several = prompt_of(task(outcome=[Text("a")]), task(outcome="None."), output=list[Text]).render().text
    assert '**Outcome:** `[{"text":"a"}]`' in several


@pytest.mark.parametrize(
    ("outcome", "output", "message"),
    [
        (Text("a"), None, "task example 1 has an outcome of Text, but the prompt declares no output"),
        (Place("a"), Text, "has an outcome of Place, but the prompt's output is Text"),
        (Text("a"), list[Text], r"has an outcome of Text, but the prompt's output is list\[Text\]"),
        ([Text("a")], Text, "has an outcome of list, but the prompt's output is Text"),
        ([Place("a")], list[Text], "has an outcome of list, but"),
        (5, Text, "has an outcome of int"),
    ],
)
def test_an_outcome_that_is_no_output_is_refused(outcome: Any, output: Any, message: str) -> None:
    """When the template is built."""
    with pytest.raises(PromptValidationError, match=message):
        prompt_of(task(outcome=outcome), output=output)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: TaskStep("", ToolExample("x", None, None)), "a step names its tool"),
        (lambda: TaskStep("read", "x"), "a step's example is a ToolExample"),  # type: ignore[arg-type]
        (lambda: TaskExample(" ", "x", (step(),)), "needs an objective"),
        (lambda: TaskExample("a", None, (step(),)), "'a' needs an outcome"),
        (lambda: TaskExample("a", "", (step(),)), "'a' needs an outcome"),
        (lambda: TaskExample("a", "b", ()), "'a' needs at least one step"),
        (lambda: TaskExample("a", "b", step()), "steps is a sequence of TaskStep"),  # type: ignore[arg-type]
        (lambda: TaskExamplesSection(examples=task()), "examples is a sequence of TaskExample"),  # type: ignore[arg-type]
        (lambda: TaskExamplesSection([task()]), "a section's title is one line of text"),  # type: ignore[arg-type]
    ],
)
def test_parts_of_the_wrong_kind_are_refused_when_they_are_built(build: Any, message: str) -> None:
    """With what they should be."""
    with pytest.raises(PromptValidationError, match=message):
        build()


# The section.


def test_it_is_a_section_like_any_other() -> None:
    """It can be titled, disabled, summarised, cloned and given other examples."""
    section = TaskExamplesSection(
        "How others did it",
        [task()],
        "done",
        summary="Worked tasks.",
        visibility=SectionVisibility.SUMMARY,
        tools=[READ],
    )
    twin = section.clone(key="twin")

    assert (twin.key, twin.title, twin.examples) == ("twin", "How others did it", section.examples)
    assert section.with_examples([]).examples == ()
    prompt = Prompt(PromptTemplate("ns", "key", sections=[section]))
    assert "Worked tasks." in prompt.render().text
    assert "**Example 1:**" in prompt.render(visibility_overrides={("done",): SectionVisibility.FULL}).text


# As JSON, in which people override them.


def read(value: Any, output: Any = None) -> TaskExample:
    template = prompt_of(output=output).template
    override = TaskExampleOverride(("examples",), "append", example=value)
    (example,) = overridden_task_examples(TaskExamplesSection(), [override], template)
    prompt_of(
        example, output=output
    )  # what JSON cannot tell is refused where a template is built, as the code's own is
    return example


@pytest.mark.parametrize(
    ("example", "output"),
    [
        (task(step("ls", None, [Text("a")]), step(), step("run", None, None)), None),
        (task(outcome=Text("x")), Text),
        (task(outcome=[Text("x")]), list[Text]),
    ],
)
def test_a_task_comes_back_from_json(example: TaskExample, output: Any) -> None:
    """With the values that its tools take and give."""
    assert read(dump(example), output) == example


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"objective": 5}, "$.objective"),
        ({"steps": [{"tool_name": "nope", "example": {"description": "x"}}]}, "a step calls 'nope'"),
        ({"steps": [{"tool_name": "read", "example": {"description": "x"}}]}, "a step that calls 'read': "),
        (
            {"steps": [{"tool_name": "read", "example": {"description": "x", "input": {"path": "a"}, "output": {}}}]},
            "a step that calls 'read': .*$.text",
        ),
        (
            {"steps": [{"tool_name": "run", "example": {"description": "x", "output": 5}}]},
            "'run': step 1 of task example 1 has output 5",
        ),
        ({"outcome": {"text": "x"}}, "outcome"),
        ({"more": 1}, "$.more"),
    ],
)
def test_json_that_is_no_task_says_where(change: dict[str, Any], problem: str) -> None:
    """Whoever wrote it finds the place."""
    with pytest.raises(
        (ParseError, PromptOverrideError, PromptValidationError), match="(?s)" + problem.replace("$", r"\$")
    ):
        read({**dump(task()), **change})
