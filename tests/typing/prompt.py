"""What a type checker concludes about prompts and policies."""

from dataclasses import dataclass
from typing import Any, assert_type

from wink.adapters import PromptResponse, ScriptedAdapter
from wink.filesystem import Filesystem
from wink.policies import SequentialDependencyPolicy, ToolPolicy
from wink.prompt import (
    MarkdownSection,
    Prompt,
    PromptTemplate,
    ReadBeforeWritePolicy,
    RenderedPrompt,
    Section,
    SectionVisibility,
    SetVisibilityOverride,
    TaskExample,
    TaskExamplesSection,
    TaskStep,
    TextSection,
    Tool,
    ToolExample,
    ToolsSection,
    VisibilityExpansionRequired,
    VisibilityOverrides,
    WorkspaceSection,
    apply_expansion,
    parse_structured_output,
)
from wink.session import Session
from wink.tools import PromptLike, RenderedPromptLike


@dataclass(frozen=True)
class Task:
    """Parameters of a section."""

    issue: str


def only_with_parameters(task: Task, *, session: Session | None) -> bool:
    """An `enabled` function."""
    return bool(task.issue) and session is not None


# A section knows its parameters from a subscript, an instance or the dataclass itself; without any it takes none.
assert_type(MarkdownSection[Task]("Task", "$issue"), MarkdownSection[Task])
assert_type(MarkdownSection("Task", "$issue", default_params=Task("x")), MarkdownSection[Task])
assert_type(TextSection("Task", "$issue", Task), TextSection[Task])
assert_type(ToolsSection("Tools", [], params=Task("x")), ToolsSection[Task])
assert_type(MarkdownSection("Task", "x"), MarkdownSection[Any])

template = PromptTemplate("ns", "key", sections=[Section("One", enabled=only_with_parameters), TextSection("Two", "x")])
prompt = Prompt(template).bind(Task("x"), resources={int: 5})
assert_type(prompt, Prompt)
assert_type(prompt.render(session=Session()), RenderedPrompt)
assert_type(prompt.tools(), tuple[Tool[Any, Any], ...])
assert_type(prompt.resources.get(Filesystem), Filesystem)
assert_type(prompt.find_section(TextSection[Task]), TextSection[Task])
assert_type(prompt.find_section("two"), Section[Any])


def summarised_without_parameters(task: Task | None = None) -> SectionVisibility:
    """A `visibility` function."""
    return SectionVisibility.FULL if task else SectionVisibility.SUMMARY


Section("Rules", summary="What is allowed.", visibility=SectionVisibility.SUMMARY)
MarkdownSection("Rules", "x", summary="What is allowed.", visibility=summarised_without_parameters)
ToolsSection("Rules", [], visibility="summary")  # pyright: ignore[reportArgumentType]


@dataclass(frozen=True)
class Finding:
    """An answer."""

    line: int


# What a template declares as its output is what its prompts and renderings speak of; without any it may be anything.
one, many = PromptTemplate[Finding]("ns", "one"), PromptTemplate[list[Finding]]("ns", "many")
assert_type(one, PromptTemplate[Finding])
assert_type(Prompt(one), Prompt[Finding])
assert_type(Prompt(many).bind(Task("x")).render(), RenderedPrompt[list[Finding]])
assert_type(Prompt(template), Prompt[Any])
anything: Prompt = Prompt(many)
some_object: Prompt[object] = Prompt(one)

# What comes of them has the type that the template declares.
assert_type(parse_structured_output("{}", Prompt(one).render()), Finding)
assert_type(parse_structured_output("[]", Prompt(many).render()), list[Finding])
response = ScriptedAdapter(["[]"]).evaluate(Prompt(many), session=Session())
assert_type(response, PromptResponse[list[Finding]])
assert_type(response.output, list[Finding] | None)
assert_type(ScriptedAdapter(["x"]).evaluate(prompt, session=Session()).output, Any | None)

# Sections of examples and files are sections like any other, and copies are of the same type.
step = TaskStep("search", ToolExample("Search", Task("x"), None))
examples = TaskExamplesSection[Task](examples=[TaskExample("Find it.", Finding(1), (step,))])
assert_type(examples.with_examples([]), TaskExamplesSection[Task])
assert_type(WorkspaceSection[Task](template="$issue", mounts={"": "."}).clone(), WorkspaceSection[Task])
prompt.render(visibility_overrides={("rules",): SectionVisibility.FULL})
opened: str = apply_expansion(Session(), VisibilityExpansionRequired({}, "why", []))
assert_type(Session()[VisibilityOverrides].latest(), VisibilityOverrides | None)
Session().dispatch(SetVisibilityOverride(("rules",), SectionVisibility.FULL))
SetVisibilityOverride("rules", SectionVisibility.FULL)  # pyright: ignore[reportArgumentType]

# What tools and executors ask of prompts and policies, ours satisfy.
as_prompt: PromptLike = prompt
as_rendered: RenderedPromptLike = prompt.render()
policies: list[ToolPolicy] = [
    SequentialDependencyPolicy({"deploy": {"test"}}),
    ReadBeforeWritePolicy(mount_point="/work"),
]
