"""What a type checker concludes about prompts and policies."""

from dataclasses import dataclass
from typing import Any, assert_type

from wink.filesystem import Filesystem
from wink.policies import SequentialDependencyPolicy, ToolPolicy
from wink.prompt import (
    MarkdownSection,
    Prompt,
    PromptTemplate,
    ReadBeforeWritePolicy,
    RenderedPrompt,
    Section,
    TextSection,
    Tool,
    ToolsSection,
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

# What tools and executors ask of prompts and policies, ours satisfy.
as_prompt: PromptLike = prompt
as_rendered: RenderedPromptLike = prompt.render()
policies: list[ToolPolicy] = [
    SequentialDependencyPolicy({"deploy": {"test"}}),
    ReadBeforeWritePolicy(mount_point="/work"),
]
