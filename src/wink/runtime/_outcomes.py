"""What becomes of a call that did not succeed: what the model is told, what the event keeps, and what is raised."""

from __future__ import annotations

import enum
import os
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final

from wink.errors import (
    ApprovalRequired,
    BudgetExceededError,
    DeadlineExceededError,
    EditFailed,
    FileConflict,
    FileTooLarge,
    HandleRevoked,
    JournalNotOurs,
    NotText,
    ParseError,
    PathRefused,
    PatternError,
    PromptEvaluationError,
    ReadOnlyFilesystem,
    RollbackFailed,
    SerdeError,
    ToolValidationError,
    VisibilityExpansionRequired,
    WorkspaceNeedsRecovery,
)
from wink.limits import is_interruption, said_by
from wink.runtime._results import printable
from wink.runtime._words import words_of
from wink.tools import Tool, ToolResult
from wink.transactions import Outcome

if TYPE_CHECKING:
    import logging


class Ending(enum.Enum):
    """How a call ends that did not succeed. In each case it has been rolled back."""

    RAISE = "re-raised as it is"
    RAISE_AS_EVALUATION_ERROR = "raised as PromptEvaluationError, phase `tool`"
    FAIL_WITH_MESSAGE = "a failed result with the exception's message"
    FAIL_WITH_EXPECTATION = "a failed result that says what was expected"
    FAIL_WITH_ID = (
        "a failed result with the exception's type and a short id, and what it says of the workspace or of data; "
        "the event keeps the text"
    )


OUTCOMES: Final[tuple[tuple[type[BaseException], Ending], ...]] = (
    # first match wins               what happens after the rollback
    (VisibilityExpansionRequired,    Ending.RAISE),
    (PromptEvaluationError,          Ending.RAISE),
    # the call has not ended: it is made again when somebody has answered
    (ApprovalRequired,               Ending.RAISE),
    (RollbackFailed,                 Ending.RAISE),
    (WorkspaceNeedsRecovery,         Ending.RAISE),
    (DeadlineExceededError,          Ending.RAISE_AS_EVALUATION_ERROR),
    (BudgetExceededError,            Ending.RAISE_AS_EVALUATION_ERROR),
    # written for a model, with paths of the workspace only; other errors of ours may name places of the host
    (ToolValidationError,            Ending.FAIL_WITH_MESSAGE),
    (ParseError,                     Ending.FAIL_WITH_MESSAGE),
    (SerdeError,                     Ending.FAIL_WITH_MESSAGE),
    (PathRefused,                    Ending.FAIL_WITH_MESSAGE),
    (ReadOnlyFilesystem,             Ending.FAIL_WITH_MESSAGE),
    (FileConflict,                   Ending.FAIL_WITH_MESSAGE),
    (FileTooLarge,                   Ending.FAIL_WITH_MESSAGE),
    (NotText,                        Ending.FAIL_WITH_MESSAGE),
    (EditFailed,                     Ending.FAIL_WITH_MESSAGE),
    (PatternError,                   Ending.FAIL_WITH_MESSAGE),
    (HandleRevoked,                  Ending.FAIL_WITH_MESSAGE),
    (JournalNotOurs,                 Ending.FAIL_WITH_MESSAGE),
    (TypeError,                      Ending.FAIL_WITH_EXPECTATION),
    # SystemExit, and whatever else foreign code raises
    (BaseException,                  Ending.FAIL_WITH_ID),
)  # fmt: skip
"""What becomes of a call whose handler raised; the first line that fits counts.

An interruption, which `is_interruption` tells from what was raised by the handler itself, is re-raised before.
"""

MOST_KEPT: Final = 10_000
"""So many characters of what an exception says are kept for people."""

_UNKNOWABLE: Final = {
    RollbackFailed: "the call failed, and its changes could not be taken back",
    WorkspaceNeedsRecovery: "it cannot be told whether the call was stored",
}


class CallFailed(Exception):
    """The call ends here, with a failed result of this text; inside this package only. `detail` is for the event.

    `result` is a failure as the handler returned it, `approval` the number of the person's answer that is used up, and
    `raising` is raised in place of a reply.
    """

    def __init__(
        self,
        text: str,
        outcome: Outcome = "rolled back",
        detail: str | None = None,
        *,
        result: ToolResult[Any] | None = None,
        approval: int = 0,
        raising: BaseException | None = None,
    ) -> None:
        self.text, self.detail, self.result, self.approval, self.raising = text, detail, result, approval, raising
        self.outcome: Outcome = outcome
        super().__init__(text)


def ending_of(error: BaseException) -> Ending:
    """The row of `OUTCOMES` that an exception falls under, unless somebody interrupts."""
    return Ending.RAISE if is_interruption(error) else _first(OUTCOMES, error)


def _first(rows: Sequence[tuple[type[BaseException], Ending]], error: BaseException) -> Ending:
    return next(ending for kind, ending in rows if isinstance(error, kind))


def failure_of(
    error: BaseException, *, name: str, tool: Tool[Any, Any] | None, prompt_name: str, root: str = ""
) -> CallFailed:
    """How a call of the tool called `name` ends; `tool` is None when the call ended before its handler's turn.

    `root` is the workspace's directory, so that paths can be told without it.
    """
    if isinstance(error, CallFailed):
        error.text = _text(error.text, name)
        return error
    ending, kind = ending_of(error), type(error).__name__
    if ending is Ending.RAISE:
        text = next((text for unknown, text in _UNKNOWABLE.items() if isinstance(error, unknown)), f"{name}: {kind}")
        return CallFailed(text, "raised", told(error), raising=error)
    if ending is Ending.RAISE_AS_EVALUATION_ERROR:
        text = said_by(error) or kind
        raising = PromptEvaluationError(text, phase="tool", prompt_name=prompt_name)
        raising.__cause__ = error
        return CallFailed(_text(text, name), "raised", f"{kind}: {text}", raising=raising)
    error_id = new_error_id()
    detail = f"{told(error)} ({error_id})"
    if ending is Ending.FAIL_WITH_MESSAGE:
        return CallFailed(_text(said_by(error) or kind, name), "rolled back", detail)
    if tool is None:
        return CallFailed(f"{name} could not start (error {error_id}); nothing was changed", "rolled back", detail)
    _log(name, error_id, error)
    if ending is Ending.FAIL_WITH_EXPECTATION:
        text = f"{name} failed with a TypeError (error {error_id}); it takes {_expected(tool)}"
    else:
        words = words_of(error, root)
        text = f"{name} failed with {kind}{f': {words}' if words else ''} (error {error_id})"
    return CallFailed(_text(text, name), "rolled back", detail)


def failed_after(name: str, step: str, error: BaseException) -> CallFailed:
    """The handler succeeded, and `step` of what comes after it raised; the tool's arguments are not to blame."""
    error_id = new_error_id()
    _log(name, error_id, error)
    kind = type(error).__name__
    text = f"{name} was taken back: {step} ({kind}, error {error_id}); nothing was changed"
    return CallFailed(text, detail=f"{step}: {told(error)} ({error_id})")


def fails_with_words(error: BaseException) -> bool:
    """Whether the table gives an exception a text, or an ending, that needs no id."""
    return ending_of(error) not in (Ending.FAIL_WITH_ID, Ending.FAIL_WITH_EXPECTATION)


def told(error: BaseException) -> str:
    """An exception's type, and what it says within bounds: for people, not for the model."""
    said = said_by(error)
    if len(said) > MOST_KEPT:
        said = f"{said[:MOST_KEPT]}... ({len(said)} characters)"
    return f"{type(error).__name__}: {said}"


def new_error_id() -> str:
    """What connects the text that a model saw with the event and the log."""
    return os.urandom(4).hex()


def logger() -> logging.Logger:
    """Where failures of foreign code are told; importing `logging` takes 4 ms."""
    import logging

    return logging.getLogger("wink.runtime")


def _log(name: str, error_id: str, error: BaseException) -> None:
    try:
        logger().error("tool %r raised (error %s)", name, error_id, exc_info=error)
    except BaseException as worse:  # foreign code: a message that exits, a thousand groups, a stream that was closed
        if is_interruption(worse):
            raise


def _text(text: str, name: str) -> str:
    """What a model can be sent: never empty, and always encodable."""
    return printable(text if text.strip() else f"{name} failed")


def _expected(tool: Tool[Any, Any]) -> str:
    kind = tool.params_type
    if kind is None or not is_dataclass(kind):
        return "no arguments"
    named = ", ".join(f"{f.name}: {_name(f.type)}" for f in fields(kind) if f.init)
    return f"{kind.__name__}({named})"


def _name(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
