"""Whether a model may stop: the protocol of those who decide it."""

from typing import TYPE_CHECKING, Any, Protocol, Self, cast, runtime_checkable

from wink.dataclass import dataclass, replace
from wink.errors import PromptValidationError
from wink.prompt.guardrails._asynchronous import is_coroutine_function
from wink.prompt.guardrails._files import reachable
from wink.prompt.guardrails._said import sayable

if TYPE_CHECKING:
    from wink.filesystem import Filesystem
    from wink.session import Session
    from wink.tools import AdapterLike

__all__ = [
    "TaskCompletionChecker",
    "TaskCompletionContext",
    "TaskCompletionResult",
    "check_completion",
    "checked_checker",
]


@dataclass(frozen=True, slots=True)
class TaskCompletionContext:
    """What a checker is given: the session, the answer that the model wants to end with, and the files.

    `tentative_output` is the parsed output of a prompt that declares one, else the text. With `adapter` a checker may
    ask a model.
    """

    session: "Session"
    tentative_output: Any = None
    filesystem: "Filesystem | None" = None
    adapter: "AdapterLike | None" = None


@dataclass(frozen=True, slots=True)
class TaskCompletionResult:
    """Whether the task is complete; if not, `feedback` tells the model what is missing.

    >>> TaskCompletionResult.incomplete("Write report.md.")
    TaskCompletionResult(complete=False, feedback='Write report.md.')
    >>> TaskCompletionResult.ok().complete
    True
    """

    complete: bool
    feedback: str | None = None

    @classmethod
    def ok(cls, feedback: str | None = None) -> Self:
        """The task is complete."""
        return cls(True, feedback)

    @classmethod
    def incomplete(cls, feedback: str) -> Self:
        """The task is not complete; `feedback` is what the model is told to do."""
        if not isinstance(cast("object", feedback), str) or not feedback.strip():
            raise ValueError(f"feedback is {feedback!r}; tell the model what is missing")
        return cls(False, feedback)


@runtime_checkable
class TaskCompletionChecker(Protocol):
    """Decides whether a model that wants to stop may; what `PromptTemplate(task_completion_checker=...)` takes.

    It is asked when the model has answered without calling a tool. When it says that something is missing, its
    feedback goes to the model and the run goes on, a few times at most. One that raises counts as not satisfied.
    """

    def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        """Whether the task is complete."""
        ...


def checked_checker(checker: TaskCompletionChecker | None) -> TaskCompletionChecker | None:
    """A template's checker, when it is one; raises `PromptValidationError`."""
    if checker is not None and (
        isinstance(checker, type) or not isinstance(cast("object", checker), TaskCompletionChecker)
    ):
        raise PromptValidationError(
            f"{checker!r:.200} cannot check a task; pass an object with `check(context)`, such as FileOutputChecker([...])"
        )
    if checker is not None and is_coroutine_function(checker.check):
        raise PromptValidationError(
            f"check of {type(checker).__qualname__} is a coroutine function; make it a plain one"
        )
    return checker


def check_completion(checker: TaskCompletionChecker, context: TaskCompletionContext) -> TaskCompletionResult:
    """Ask `checker`; whatever it does there is a result.

    A checker that raises, or answers with anything but a `TaskCompletionResult`, is logged, and the task counts as
    incomplete: what cannot be checked has not been shown to be done. Inside a call the checker is given the call's files.
    """
    try:
        result = cast("object", checker.check(replace(context, filesystem=reachable(context.filesystem))))
    except Exception as error:  # foreign code
        import logging

        logging.getLogger("wink.prompt").exception("the task completion checker %r failed", checker)
        return TaskCompletionResult.incomplete(
            f"It could not be checked whether the task is complete ({type(error).__name__}). "
            "Make sure that everything you were asked for is there, then answer again."
        )
    if isinstance(result, TaskCompletionResult):
        if result.complete:
            return result
        if (result.feedback or "").strip():
            return TaskCompletionResult.incomplete(sayable(result.feedback or ""))
        return TaskCompletionResult.incomplete("The task is not complete. Do what is missing, then answer again.")
    import logging

    logging.getLogger("wink.prompt").error(
        "the task completion checker %r returned %r; return a TaskCompletionResult", checker, result
    )
    return TaskCompletionResult.incomplete(
        "It could not be checked whether the task is complete. "
        "Make sure that everything you were asked for is there, then answer again."
    )
