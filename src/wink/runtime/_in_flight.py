"""What is known of a call while it is executed."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from wink.filesystem import Filesystem
from wink.resources import ResourceContext
from wink.runtime._call import PolicyVerdict, ToolCall
from wink.tools import Tool, ToolContext, ToolResult
from wink.transactions import Change, Outcome, Transaction

if TYPE_CHECKING:
    from wink.runtime._approval_step import Asked, Consent, Denied, Edited


@dataclass(slots=True)
class InFlight:
    """A call so far; `ends` are what ends it, last first.

    `asked` is the request that a person has to answer before it can go on, `consent` their approval once it can, `denied`
    their denial, and `edited` the answer that changed the arguments. `asked_times` counts how often they were waited for.
    """

    request: ToolCall
    call_id: str
    started_at: datetime
    started: float
    tool: Tool[Any, Any] | None = None
    params: Any = None
    resources: ResourceContext | None = None
    root: Filesystem | None = None
    context: ToolContext | None = None
    transaction: Transaction | None = None
    verdicts: tuple[PolicyVerdict, ...] = ()
    result: ToolResult[Any] | None = None
    text: str = ""
    outcome: Outcome = "rolled back"
    change: Change = Change()  # noqa: RUF009  frozen
    error: str | None = None
    ends: list[Any] = field(default_factory=list[Any])
    asked: Asked | None = None
    asked_times: int = 0
    edited: Edited | None = None
    consent: Consent | None = None
    is_consent_taken: bool = False
    denied: Denied | None = None
    is_suspended: bool = False
