"""What becomes of a call whose handler raised."""

from __future__ import annotations

import enum
from dataclasses import fields, is_dataclass
from typing import Any, Final

from wink.errors import (
    BudgetExceededError,
    DeadlineExceededError,
    PromptEvaluationError,
    VisibilityExpansionRequired,
    WinkError,
)
from wink.tools import Tool


class Ending(enum.Enum):
    """How a call ends that did not succeed. In each case it has been rolled back."""

    RAISE = "re-raised as it is"
    RAISE_AS_EVALUATION_ERROR = "raised as PromptEvaluationError, phase `tool`"
    FAIL_WITH_MESSAGE = "a failed result with the exception's message"
    FAIL_WITH_EXPECTATION = "a failed result that says what was expected"
    FAIL_WITH_ID = "a failed result with the exception's type and a short id; the event keeps the text"


OUTCOMES: Final[tuple[tuple[type[BaseException], Ending], ...]] = (
    # first match wins               what happens after the rollback
    (VisibilityExpansionRequired,    Ending.RAISE),
    (PromptEvaluationError,          Ending.RAISE),
    (DeadlineExceededError,          Ending.RAISE_AS_EVALUATION_ERROR),
    (BudgetExceededError,            Ending.RAISE_AS_EVALUATION_ERROR),
    # ToolValidationError, and what files and serde refuse: written for a model, with paths of the workspace only
    (WinkError,                      Ending.FAIL_WITH_MESSAGE),
    (TypeError,                      Ending.FAIL_WITH_EXPECTATION),
    (Exception,                      Ending.FAIL_WITH_ID),
    # KeyboardInterrupt, SystemExit, cancellation
    (BaseException,                  Ending.RAISE),
)  # fmt: skip


def ending_of(error: BaseException) -> Ending:
    """The row of `OUTCOMES` that an exception falls under."""
    return next(ending for kind, ending in OUTCOMES if issubclass(type(error), kind))


def failure_text(tool: Tool[Any, Any], error: Exception, error_id: str) -> str:
    """What the model is told of an exception that became a failed result."""
    ending = ending_of(error)
    if ending is Ending.FAIL_WITH_MESSAGE:
        return str(error) or type(error).__name__
    if ending is Ending.FAIL_WITH_EXPECTATION:
        return f"{tool.name} failed with a TypeError (error {error_id}); it takes {_expected(tool)}"
    return f"{tool.name} failed with {type(error).__name__}{_place(error)} (error {error_id})"


def _place(error: Exception) -> str:
    """The file that an error of the file layer is about; paths of the host are not for the model."""
    if not isinstance(error, OSError):
        return ""
    path: object = error.filename
    if not isinstance(path, str) or path.startswith(("/", "~")) or "\\" in path:
        return ""
    return f": {path!r} {error.strerror or ''}".rstrip()


def _expected(tool: Tool[Any, Any]) -> str:
    kind = tool.params_type
    if kind is None or not is_dataclass(kind):
        return "no arguments"
    named = ", ".join(f"{f.name}: {_name(f.type)}" for f in fields(kind) if f.init)
    return f"{kind.__name__}({named})"


def _name(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
