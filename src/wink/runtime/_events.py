"""What subscribers of a session are told. All times are timezone-aware UTC."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from wink.dataclass import dataclass, replace
from wink.limits import TokenUsage
from wink.runtime._approvals import Answer, ApprovalRequest
from wink.runtime._call import PolicyVerdict
from wink.tools import ToolResult
from wink.transactions import Change


@dataclass(frozen=True, slots=True)
class ToolInvoked:
    """A call has ended. There is exactly one for each call that a model requested, unknown and denied ones too.

    `params` is None when the arguments could not be parsed. `rendered_output` is what the model was sent. `change`
    tells what happened to files, also what was rolled back. `error` keeps the text of an exception that the model was
    not shown. `outcome` is what the record says of it: `committed`, `rolled back`, `denied`, `refused` or `raised`.
    """

    prompt_name: str
    name: str
    params: Any
    result: ToolResult[Any]
    rendered_output: str
    success: bool
    call_id: str
    started_at: datetime
    duration: timedelta
    decisions: tuple[PolicyVerdict, ...] = ()
    change: Change = Change()
    error: str | None = None
    outcome: str = ""

    def for_log(self) -> ToolInvoked:
        """The same event, holding no file's content."""
        return replace(self, change=self.change.without_content()) if self.change else self


@dataclass(frozen=True, slots=True)
class PromptRendered:
    """A prompt was rendered and is about to be sent. `text` is what the model reads."""

    prompt_name: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class RenderedTools:
    """The tools that a rendered prompt shows, in order."""

    prompt_name: str
    names: tuple[str, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class PromptExecuted:
    """A prompt was evaluated to its end. `usage` sums up every request of the evaluation."""

    prompt_name: str
    text: str
    usage: TokenUsage
    started_at: datetime
    duration: timedelta


@dataclass(frozen=True, slots=True)
class ApprovalRequested:
    """A policy leaves a call to a person. It has been rolled back, and is made again when they have answered."""

    prompt_name: str
    request: ApprovalRequest
    at: datetime


@dataclass(frozen=True, slots=True)
class ApprovalAnswered:
    """A person has answered while the run was waiting for it."""

    prompt_name: str
    request: ApprovalRequest
    answer: Answer
    at: datetime
