"""Task completion checkers that many prompts can use."""

from collections.abc import Sequence
from typing import cast

from wink.dataclass import dataclass
from wink.errors import PromptValidationError
from wink.prompt.guardrails._completion import (
    TaskCompletionChecker,
    TaskCompletionContext,
    TaskCompletionResult,
    check_completion,
    checked_checker,
)

__all__ = ["CompositeChecker", "FileOutputChecker"]


@dataclass(frozen=True, slots=True)
class FileOutputChecker:
    """The task is complete when each of `files`, paths in the prompt's filesystem, is a file."""

    files: Sequence[str]

    def __post_init__(self) -> None:
        files = cast("object", self.files)
        if isinstance(files, str) or not all(map(_is_path, self.files)):
            raise PromptValidationError(f"files is {files!r:.200}; pass a list of paths, such as ['report.md']")
        object.__setattr__(self, "files", tuple(self.files))

    def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        """Look for the files; those that are missing are named, all at once."""
        if not self.files:
            return TaskCompletionResult.ok()
        named = ", ".join(self.files)
        files = context.filesystem
        if files is None:
            return TaskCompletionResult.incomplete(
                f"The task is complete when there are these files: {named}. But this run has no filesystem to look in."
            )
        missing = [path for path in self.files if not (files.exists(path) and files.stat(path).is_file)]
        if not missing:
            return TaskCompletionResult.ok()
        return TaskCompletionResult.incomplete(
            f"The task is not complete: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing. "
            f"Write {'it' if len(missing) == 1 else 'them'}, then answer again."
        )


def _is_path(path: object) -> bool:
    return isinstance(path, str) and bool(path.strip())


@dataclass(frozen=True, slots=True)
class CompositeChecker:
    """Several checkers as one: all of them must be satisfied, or with `all_must_pass=False` any.

    All are asked, and the feedback of those that are not satisfied is put together, so that the model hears of
    everything at once. One that raises counts as not satisfied. Without checkers every task is complete.
    """

    checkers: Sequence[TaskCompletionChecker]
    all_must_pass: bool = True

    def __post_init__(self) -> None:
        checkers = cast("object", self.checkers)
        if not isinstance(checkers, Sequence):
            raise PromptValidationError(f"checkers is {checkers!r:.200}; pass a list of task completion checkers")
        object.__setattr__(self, "checkers", tuple(checked_checker(checker) for checker in self.checkers))

    def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        """Ask the checkers in their order; when any is enough, the first that is satisfied ends it."""
        missing: list[str] = []
        for checker in self.checkers:
            result = check_completion(checker, context)
            if not result.complete:
                missing.append(result.feedback or "")
            elif not self.all_must_pass:
                return result
        return TaskCompletionResult.incomplete("\n\n".join(missing)) if missing else TaskCompletionResult.ok()
