"""Turn examples into JSON and back, and put what overrides say of them in the place of the code's own."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from wink.dataclass import dataclass
from wink.errors import ParseError, PromptOverrideError, PromptValidationError
from wink.prompt import PromptTemplate, TaskExample, TaskExamplesSection, TaskStep
from wink.tools import Tool, ToolExample
from wink_overrides._values import TaskExampleOverride, ToolExampleOverride

__all__ = ["overridden_task_examples", "overridden_tool_examples"]

T = TypeVar("T")
E = TypeVar("E", ToolExampleOverride, TaskExampleOverride)

_Tools = Mapping[str, Sequence[Tool[Any, Any]]]


@dataclass(frozen=True)
class _Call:
    description: str
    input: Any = None
    output: Any = None


@dataclass(frozen=True)
class _Step:
    tool_name: str
    example: _Call


@dataclass(frozen=True)
class _Task:
    """A `TaskExample` as JSON has it, before its tools tell of what types the values are."""

    objective: str
    outcome: Any
    steps: tuple[_Step, ...]


def overridden_tool_examples(
    tool: Tool[Any, Any], overrides: Sequence[ToolExampleOverride]
) -> list[ToolExample[Any, Any]]:
    """The tool's examples with what overrides say; raises `ParseError` when values are not of the tool's types."""
    return _overridden(
        tool.examples,
        overrides,
        lambda one: _typed(tool, _Call(one.description, one.input, one.output)),
    )


def overridden_task_examples(
    section: TaskExamplesSection[Any],
    overrides: Sequence[TaskExampleOverride],
    template: PromptTemplate[Any],
) -> list[TaskExample]:
    """The section's examples with what overrides say; raises `ParseError` or `PromptOverrideError` for other types."""
    return _overridden(section.examples, overrides, lambda one: _task(one.example, template))


def _overridden(present: Sequence[T], overrides: Sequence[E], make: Callable[[E], T]) -> list[T]:
    by_index = {one.index: one for one in overrides if one.index is not None}
    made: list[T] = []
    for index, example in enumerate(present):
        other = by_index.get(index)
        if other is None:
            made.append(example)
        elif other.action == "replace":
            made.append(make(other))
    return made + [make(one) for one in overrides if one.action == "append"]


def _task(value: Any, template: PromptTemplate[Any]) -> TaskExample:
    from wink.serde import dumps, parse

    tools, answer = template.plan.tools, template.answer
    task = parse(_Task, dumps(value))
    outcome = task.outcome
    if outcome is not None and not isinstance(outcome, str) and answer.type is not None:
        try:
            outcome = parse(answer.annotation, dumps(outcome), extra="ignore" if answer.allow_extra_keys else "forbid")
        except ParseError as error:
            raise PromptOverrideError(f"the outcome of {task.objective!r}: {error}") from error
    steps = [TaskStep(step.tool_name, _of_any(step, tools)) for step in task.steps]
    return TaskExample(task.objective, outcome, tuple(steps))


def _of_any(step: _Step, tools: _Tools) -> ToolExample[Any, Any]:
    """The call of a step, of the types of the tool that it names, or of one of them."""
    known = tools.get(step.tool_name, ())
    if not known:
        from difflib import get_close_matches

        near = get_close_matches(step.tool_name, tools, n=1)
        remedy = f"did you mean {near[0]!r}?" if near else f"its tools are {', '.join(sorted(tools)) or 'none'}"
        raise PromptOverrideError(f"a step calls {step.tool_name!r}, and the prompt has no such tool; {remedy}")
    problem: Exception | None = None
    for tool in known:
        try:
            return _typed(tool, step.example)
        except (ParseError, PromptValidationError) as error:
            problem = problem or error
    raise PromptOverrideError(f"the example of a step that calls {step.tool_name!r}: {problem}")


def _typed(tool: Tool[Any, Any], call: _Call) -> ToolExample[Any, Any]:
    """A call of the tool's own types; raises `ParseError` when the values are of others."""
    from wink.serde import dumps, parse

    output: Any = call.output  # for a tool without a result refused later, in the words for examples of the code
    if tool.result_type is not None:
        kind: Any = tool.result_type
        output = parse(list[kind] if tool.result_container == "array" else kind, dumps(call.output))
    given = "{}" if call.input is None else dumps(call.input)
    return ToolExample(call.description, tool.parse(given), output)
