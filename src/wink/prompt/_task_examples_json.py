"""Read worked tasks that were stored as JSON: the types of their values are those of the tools that they call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wink.errors import ParseError, Problem, PromptValidationError
from wink.prompt._answer import Answer
from wink.prompt._task_examples import TaskExample, TaskStep
from wink.tools import Tool, ToolExample

__all__ = ["read_task_example"]


@dataclass(frozen=True, slots=True)
class _Call:
    description: str
    input: Any = None
    output: Any = None


@dataclass(frozen=True, slots=True)
class _Step:
    tool_name: str
    example: _Call


@dataclass(frozen=True, slots=True)
class _Task:
    objective: str
    outcome: Any
    steps: tuple[_Step, ...]


def read_task_example(value: object, tools: Mapping[str, Sequence[Tool[Any, Any]]], answer: Answer) -> TaskExample:
    """What `wink.serde.dump` made of a `TaskExample` as such an example again.

    Raises `ParseError` with paths for what fits neither a task nor its tools, and `PromptValidationError` for a task that
    says too little.
    """
    from wink.serde import dumps, parse

    task = parse(_Task, dumps(value))
    steps: list[TaskStep] = []
    for number, step in enumerate(task.steps):
        path = f"$.steps[{number}]"
        known = tools.get(step.tool_name)
        if not known:
            raise ParseError([Problem(f"{path}.tool_name", f"there is no tool {step.tool_name!r}")])
        steps.append(TaskStep(step.tool_name, _example(step.example, known, f"{path}.example")))
    outcome = task.outcome
    if not isinstance(outcome, str) and outcome is not None:
        if answer.type is None:
            raise ParseError([Problem("$.outcome", "must be text, since the prompt declares no output")])
        outcome = _at("$.outcome", answer.annotation, outcome)
    return TaskExample(task.objective, outcome, tuple(steps))


def _example(call: _Call, known: Sequence[Tool[Any, Any]], path: str) -> ToolExample[Any, Any]:
    """The example as one of the tools reads it; several of one name exclude each other."""
    problem: ParseError | None = None
    for tool in known:
        try:
            example = ToolExample[Any, Any](
                call.description, _input(call.input, tool, path), _output(call.output, tool, path)
            )
            tool.check_example(example)
        except ParseError as error:
            problem = problem or error
        except PromptValidationError as error:
            problem = problem or ParseError([Problem(path, error.message)])
        else:
            return example
    assert problem is not None, "there is at least one tool"
    raise problem


def _input(value: Any, tool: Tool[Any, Any], path: str) -> Any:
    from wink.serde import dumps

    try:
        return tool.parse("{}" if value is None else dumps(value))
    except ParseError as error:
        raise _below(f"{path}.input", error) from None


def _output(value: Any, tool: Tool[Any, Any], path: str) -> Any:
    kind: Any = tool.result_type
    if kind is None:
        return value
    return _at(f"{path}.output", list[kind] if tool.result_container == "array" else kind, value)


def _at(path: str, annotation: Any, value: Any) -> Any:
    from wink.serde import dumps, parse

    try:
        return parse(annotation, dumps(value))
    except ParseError as error:
        raise _below(path, error) from None


def _below(path: str, error: ParseError) -> ParseError:
    return ParseError([Problem(path + one.path[1:], one.message) for one in error.problems])
