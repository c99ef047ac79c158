"""Ask about a host whoever answers for the calls of this process: the person at an MCP client, or at an editor."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from wink.dataclass import replace

if TYPE_CHECKING:
    from wink.runtime import Answer, ApprovalRequest
    from wink.session import ApprovalRow

_log: Final = logging.getLogger("wink_sandbox")

Person = Callable[["ApprovalRequest"], Awaitable["Answer | None"]]
"""Puts a request to somebody; None where they say nothing. It is cancelled when nobody needs an answer any more."""


def person_of(approvals: Any) -> Person | None:
    """How one who answers for a call is asked while its program waits.

    None where nobody is there, where that takes suspending the run, which a program cannot be, and where the question could not be
    withdrawn, as at a terminal.
    """
    answer = getattr(approvals, "answer", None)  # whoever was written before runs could be suspended does not say that
    return answer if inspect.iscoroutinefunction(answer) and not getattr(approvals, "suspends", False) else None


async def said_by(person: Person, row: ApprovalRow, reason: str) -> Answer | None:
    """What they say to a request, as it is kept; None where that is nothing that can be used."""
    from wink.runtime import (  # which programs that ask nobody do not need
        Answer,
        ApprovalRequest,
        PolicyVerdict,
        edited_arguments,
    )

    request = ApprovalRequest(
        id=f"a{row.number}",
        tool=row.tool,
        arguments=row.arguments,
        policies=(PolicyVerdict("network", False, reason, True),),
        reason=reason,
        call_id=row.call_id,
        session=row.session,
        fingerprint=row.fingerprint,
        at=row.at,
        run=row.run,
        effects=row.effects,
    )
    try:
        answer: Any = await person(request)
        if isinstance(answer, Answer) and answer.arguments is not None:
            answer = replace(answer, arguments=edited_arguments(answer.arguments))
    except Exception:  # foreign code
        _log.exception("a person could not be asked about a host")
        return None
    return answer if isinstance(answer, Answer) else None
