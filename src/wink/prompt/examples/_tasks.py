"""Worked tasks that show a model how several tools are used one after the other."""

import copy
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Self, Unpack, cast

from wink.dataclass import dataclass
from wink.errors import PromptValidationError
from wink.prompt._answer import Answer
from wink.prompt._checks import all_of
from wink.prompt._section import P, Section, SectionOptions
from wink.prompt.examples._calls import arguments, code, gives
from wink.serde import type_name
from wink.tools import Tool, ToolExample

if TYPE_CHECKING:
    from wink.session import Session

__all__ = ["TaskExample", "TaskExamplesSection", "TaskStep"]

_INDENTATION: Final = "   "
"""Of what belongs to an item of a numbered list (CommonMark 5.2)."""


@dataclass(frozen=True)
class TaskStep:
    """One call of a task: the tool's name, and what is sent to it and comes back."""

    tool_name: str
    example: ToolExample[Any, Any]

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.tool_name), str) or not self.tool_name:
            raise PromptValidationError(f"a step names its tool, which {self.tool_name!r} does not")
        if not isinstance(cast("object", self.example), ToolExample):
            raise PromptValidationError(f"a step's example is a ToolExample, not {self.example!r}", tool=self.tool_name)


@dataclass(frozen=True)
class TaskExample:
    """A task that was solved: what was asked for, the calls in their order, and what came of it.

    `outcome` is text, or what a prompt with a structured output gives: an instance of its dataclass, or a list of them.
    """

    objective: str
    outcome: Any
    steps: tuple[TaskStep, ...]

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.objective), str) or not self.objective.strip():
            raise PromptValidationError("a task example needs an objective; say in a line what was asked for")
        if self.outcome is None or (isinstance(self.outcome, str) and not self.outcome.strip()):
            raise PromptValidationError(f"the task example {self.objective!r} needs an outcome; say what came of it")
        object.__setattr__(self, "steps", all_of(TaskStep, self.steps, "steps", ()))
        if not self.steps:
            raise PromptValidationError(f"the task example {self.objective!r} needs at least one step")


class TaskExamplesSection(Section[P]):
    """A section of worked tasks, to be put beside the sections whose tools they call.

    When a template is built from it, each step's tool must be one of the template's, and the step's example must be of
    that tool's types. A rendering leaves out the tasks that call a tool which it does not have at the moment.

    The other arguments are those of `Section`.
    """

    examples: tuple[TaskExample, ...]

    def __init__(
        self,
        title: str = "Task examples",
        examples: Sequence[TaskExample] = (),
        key: str | None = None,
        *,
        default_params: P | None = None,
        tools: Sequence[Tool[Any, Any]] | None = (),
        accepts_overrides: bool = True,
        **options: Unpack[SectionOptions],
    ) -> None:
        super().__init__(
            title, key, default_params=default_params, tools=tools, accepts_overrides=accepts_overrides, **options
        )
        self.examples = all_of(TaskExample, examples, "examples", (self.key,))

    def with_examples(self, examples: Sequence[TaskExample]) -> Self:
        """A copy for the same place, with the same children and other examples."""
        twin = copy.copy(self)
        twin.examples = all_of(TaskExample, examples, "examples", (self.key,))
        return twin

    def render_body(
        self,
        params: P | None,  # noqa: ARG002
        *,
        session: "Session | None" = None,  # noqa: ARG002
        tools: Collection[str] | None = None,
    ) -> str:
        """The examples, those only whose steps all call one of `tools`, if the tools are given."""
        shown = [
            example
            for example in self.examples
            if tools is None or all(step.tool_name in tools for step in example.steps)
        ]
        return "\n\n".join(_written(number, example) for number, example in enumerate(shown, 1))

    def check_steps(
        self, tools: Mapping[str, Sequence[Tool[Any, Any]]], path: tuple[str, ...], *, complete: bool, types: bool
    ) -> None:
        """Check each step against the tool that it names, or one of them; raises `PromptValidationError`.

        `complete` says that there are no tools but `tools`, `types` that only the types are to be checked.
        """
        for number, example in enumerate(self.examples, 1):
            for position, step in enumerate(example.steps, 1):
                what = f"step {position} of task example {number}"
                if step.tool_name not in tools and complete:
                    raise PromptValidationError(
                        f"{what} calls {step.tool_name!r}, and the prompt has no such tool; {_remedy(step, tools)}",
                        path,
                    )
                _check_step(step, tools.get(step.tool_name, ()), what, path, types=types)

    def check_outcomes(self, answer: Answer, path: tuple[str, ...]) -> None:
        """Check each outcome that is not text against the output that the template declares."""
        for number, example in enumerate(self.examples, 1):
            if not isinstance(example.outcome, str) and not answer.fits(example.outcome):
                output = "the prompt's output is " + type_name(answer.annotation)
                raise PromptValidationError(
                    f"task example {number} has an outcome of {type(example.outcome).__name__}, but "
                    f"{'the prompt declares no output' if answer.type is None else output}",
                    path,
                )


def _check_step(
    step: TaskStep, known: Iterable[Tool[Any, Any]], what: str, path: tuple[str, ...], *, types: bool
) -> None:
    """Sections that exclude each other may bring different tools of one name; one of them has to fit."""
    problem: PromptValidationError | None = None
    for tool in known:
        try:
            tool.check_example(step.example, what, types=types)
        except PromptValidationError as error:
            problem = problem or PromptValidationError(error.message, path, tool.name, error.dataclass)
        else:
            return
    if problem is not None:
        raise problem


def _remedy(step: TaskStep, tools: Mapping[str, Any]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(step.tool_name, tools, n=1)
    return f"did you mean {near[0]!r}?" if near else f"its tools are {', '.join(sorted(tools)) or 'none'}"


def _written(number: int, example: TaskExample) -> str:
    steps = "\n".join(f"{position}. {_step(step)}" for position, step in enumerate(example.steps, 1))
    return f"**Example {number}:** {example.objective.strip()}\n\n{steps}\n\n**Outcome:** {_outcome(example.outcome)}"


def _step(step: TaskStep) -> str:
    example = step.example
    return (
        f"{example.description.strip()}: {code(step.tool_name)} with {arguments(example)}{gives(example, _INDENTATION)}"
    )


def _outcome(outcome: Any) -> str:
    """Text as it is; what the model itself has to give as JSON."""
    if isinstance(outcome, str):
        return outcome.strip()
    from wink.serde import dumps

    return code(dumps(outcome))
