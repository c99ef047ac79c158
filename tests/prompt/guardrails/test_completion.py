"""Whether a model may stop."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from wink.adapters import ScriptedAdapter
from wink.errors import PromptEvaluationError, PromptValidationError
from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.prompt import (
    CompositeChecker,
    FileOutputChecker,
    MarkdownSection,
    Prompt,
    PromptTemplate,
    TaskCompletionChecker,
    TaskCompletionContext,
    TaskCompletionResult,
    Tool,
    ToolContext,
    ToolResult,
    check_completion,
)
from wink.runtime import ToolCall
from wink.session import Session


@dataclass(frozen=True)
class Path:
    """Which file to write."""

    path: str


def write(params: Path, *, context: ToolContext) -> ToolResult[None]:
    context.filesystem.write(params.path, "x")
    return ToolResult.ok(None, message="written")


WRITE = Tool[Path, None](name="write", description="Write a file.", handler=write)


class Says:
    """A checker that answers what a test wants."""

    def __init__(self, answer: Callable[[TaskCompletionContext], Any]) -> None:
        self._answer = answer

    def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        return self._answer(context)


OK = Says(lambda context: TaskCompletionResult.ok())
NO = Says(lambda context: TaskCompletionResult.incomplete("Not yet."))
BROKEN = Says(lambda context: 1 // 0)


def context_with(files: Filesystem | None = None, **given: Any) -> TaskCompletionContext:
    return TaskCompletionContext(session=Session(), filesystem=files, **given)


def prompt_with(checker: TaskCompletionChecker, files: Filesystem | None = None) -> Prompt[Any]:
    sections = [MarkdownSection("Work", "Work.", tools=[WRITE])]
    template = PromptTemplate(
        ns="tests",
        key="done",
        sections=sections,
        task_completion_checker=checker,
        resources={Filesystem: files or InMemoryFilesystem()},
    )
    return Prompt(template)


# -- results and what is not one


def test_a_result_says_whether_and_what() -> None:
    """What is missing has to be told, or the model cannot do it."""
    assert TaskCompletionResult.ok() == TaskCompletionResult(complete=True, feedback=None)
    assert TaskCompletionResult.ok("Well done.").feedback == "Well done."
    assert TaskCompletionResult.incomplete("Write it.") == TaskCompletionResult(complete=False, feedback="Write it.")
    with pytest.raises(ValueError, match="tell the model what is missing"):
        TaskCompletionResult.incomplete(" ")


@pytest.mark.parametrize("checker", [BROKEN, Says(lambda context: True), Says(lambda context: None)])
def test_what_cannot_be_checked_is_not_complete(
    checker: TaskCompletionChecker, caplog: pytest.LogCaptureFixture
) -> None:
    """A broken checker must not pass a task that nobody has looked at; whoever wrote it reads the log."""
    with caplog.at_level(logging.ERROR, "wink.prompt"):
        result = check_completion(checker, context_with())

    assert not result.complete
    assert (result.feedback or "").startswith("It could not be checked whether the task is complete")
    assert len(caplog.records) == 1


def test_an_incomplete_result_always_has_words() -> None:
    """Also when somebody builds it by hand."""
    result = check_completion(Says(lambda context: TaskCompletionResult(complete=False)), context_with())
    assert result == TaskCompletionResult.incomplete("The task is not complete. Do what is missing, then answer again.")


@pytest.mark.parametrize("checker", [object(), Says, lambda context: TaskCompletionResult.ok()])
def test_a_template_takes_only_what_can_check(checker: Any) -> None:
    """The mistake is told when the template is built, not when the model is done."""
    with pytest.raises(PromptValidationError, match=r"cannot check a task; pass an object with `check\(context\)`"):
        prompt_with(checker)
    with pytest.raises(PromptValidationError, match="cannot check a task"):
        CompositeChecker([OK, checker])


def test_a_checker_is_not_asynchronous() -> None:
    """Nobody would wait for it."""

    class Later:
        async def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
            return TaskCompletionResult.ok()

    with pytest.raises(PromptValidationError, match="Later is a coroutine function; make it a plain one"):
        prompt_with(Later())  # type: ignore[arg-type]


# -- files


def test_files_must_be_there() -> None:
    """All that are missing are named at once; a directory is no output."""
    files = InMemoryFilesystem()
    checker = FileOutputChecker(["report.md", "data/out.csv", "dir"])
    files.mkdir("dir")

    assert checker.check(context_with(files)) == TaskCompletionResult.incomplete(
        "The task is not complete: report.md, data/out.csv, dir are missing. Write them, then answer again."
    )
    files.write("report.md", "x")
    files.write("data/out.csv", "x")
    assert checker.check(context_with(files)) == TaskCompletionResult.incomplete(
        "The task is not complete: dir is missing. Write it, then answer again."
    )
    files.delete("dir")
    files.write("dir", "x")
    assert checker.check(context_with(files)) == TaskCompletionResult.ok()


def test_without_files_to_look_in_nothing_is_there() -> None:
    """Nobody can have written them."""
    result = FileOutputChecker(("report.md",)).check(context_with())
    assert not result.complete
    assert "no filesystem" in (result.feedback or "")
    assert FileOutputChecker(()).check(context_with()).complete


@pytest.mark.parametrize("files", ["report.md", [""], [5]])
def test_files_are_a_list_of_paths(files: Any) -> None:
    """One text would be taken for a list of letters."""
    with pytest.raises(PromptValidationError, match=r"pass a list of paths, such as \['report.md'\]"):
        FileOutputChecker(files)


def test_a_path_outside_of_the_workspace_is_never_there() -> None:
    """It raises, which counts as not done, and the rest of the checkers is still asked."""
    result = CompositeChecker([FileOutputChecker(["../x"]), NO]).check(context_with(InMemoryFilesystem()))
    assert not result.complete
    assert "Not yet." in (result.feedback or "")


# -- several as one


@pytest.mark.parametrize(
    ("checkers", "all_must_pass", "complete", "feedback"),
    [
        ([], True, True, None),
        ([], False, True, None),
        ([OK, OK], True, True, None),
        ([OK, NO], True, False, "Not yet."),
        ([NO, NO], True, False, "Not yet.\n\nNot yet."),
        ([NO, OK], False, True, None),
        ([NO, NO], False, False, "Not yet.\n\nNot yet."),
        ([BROKEN, OK], False, True, None),
        ([BROKEN, OK], True, False, None),
    ],
)
def test_several_checkers_as_one(
    checkers: list[TaskCompletionChecker], all_must_pass: bool, complete: bool, feedback: str | None
) -> None:
    """All or any; the model hears of everything that is missing at once."""
    result = CompositeChecker(checkers, all_must_pass=all_must_pass).check(context_with())
    assert result.complete is complete
    if feedback is not None:
        assert result.feedback == feedback


def test_composites_are_checkers_themselves() -> None:
    """(a or b) and c."""
    either = CompositeChecker([NO, OK], all_must_pass=False)
    assert isinstance(either, TaskCompletionChecker)
    assert CompositeChecker((either, OK)).check(context_with()).complete
    with pytest.raises(PromptValidationError, match="pass a list of task completion checkers"):
        CompositeChecker(OK)  # type: ignore[arg-type]


# -- in an evaluation


def test_a_model_goes_on_until_the_file_is_there() -> None:
    """What is missing goes to the model as the run's own words."""
    session, prompt = Session(), prompt_with(FileOutputChecker(["out.txt"]))
    adapter = ScriptedAdapter(["Done.", ToolCall("write", {"path": "out.txt"}), "Now done."])

    assert adapter.evaluate(prompt, session=session).text == "Now done."


def test_a_checker_sees_the_run() -> None:
    """Session, answer, files and adapter."""
    seen: list[TaskCompletionContext] = []

    def answer(context: TaskCompletionContext) -> TaskCompletionResult:
        seen.append(context)
        return TaskCompletionResult.ok()

    session, files, adapter = Session(), InMemoryFilesystem(), ScriptedAdapter(["The answer."])
    adapter.evaluate(prompt_with(Says(answer), files), session=session)

    (context,) = seen
    assert (context.session, context.filesystem, context.adapter) == (session, files, adapter)
    assert context.tentative_output == "The answer."


@pytest.mark.parametrize("checker", [NO, BROKEN], ids=["never", "broken"])
def test_a_model_is_not_asked_for_ever(checker: TaskCompletionChecker) -> None:
    """The run ends with an error that says what was missing."""
    with pytest.raises(PromptEvaluationError) as raised:
        ScriptedAdapter(["Done."] * 50).evaluate(prompt_with(checker), session=Session())
    assert raised.value.phase == "completion"


def test_a_prompt_inside_a_call_is_checked_on_the_files_of_the_call() -> None:
    """They are not real yet, and the files themselves refuse to be used beside the call's handle."""
    files, session = InMemoryFilesystem(), Session()

    def ask(params: None, *, context: ToolContext) -> ToolResult[None]:
        context.filesystem.write("out.txt", "x")
        own = Says(lambda context: TaskCompletionResult(context.filesystem.exists("out.txt")))  # type: ignore[union-attr]
        inner = prompt_with(CompositeChecker([FileOutputChecker(["out.txt"]), own]), files)
        answer = ScriptedAdapter(["Inner."]).evaluate(inner, session=context.session)
        return ToolResult.ok(None, message=answer.text)

    tool = Tool[None, None](name="ask", description="Ask.", handler=ask)
    sections = [MarkdownSection("T", "x", tools=[tool])]
    outer = Prompt(PromptTemplate(ns="tests", key="outer", sections=sections, resources={Filesystem: files}))
    seen: list[str] = []

    def last(conversation: Any) -> Any:
        from wink.adapters import ModelTurn

        seen.extend(reply.text for exchange in conversation.exchanges for reply in exchange.replies)
        return ModelTurn("Done.")

    ScriptedAdapter([ToolCall("ask"), last]).evaluate(outer, session=session)
    assert seen == ["Inner."]
