"""What people are asked about calls, and what they answer."""

from __future__ import annotations

import re
from collections.abc import Awaitable
from datetime import datetime
from typing import Final, Protocol

from wink.dataclass import dataclass
from wink.runtime._call import PolicyVerdict

_ID: Final = re.compile(r"[aA]?([1-9][0-9]{0,14})")


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A call that waits for a person.

    `arguments` is JSON of what the tool takes, defaults included. `policies` are the verdicts of those that ask, and `reason`
    is what they say together. `fingerprint` stands for all that an answer is bound to: tool, arguments, policies with
    their reasons, and the state of the files concerned. `run` names the run that the call belongs to, if it has a name.
    """

    id: str
    tool: str
    arguments: str
    policies: tuple[PolicyVerdict, ...]
    reason: str
    call_id: str
    session: str
    fingerprint: str
    at: datetime
    run: str = ""
    effects: str = "workspace"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person says to a request. `note` is told to the model.

    `arguments` is a JSON object to call the tool with in place of the model's; policies see it, and may deny.
    """

    approved: bool
    note: str = ""
    arguments: str | None = None


class Approvals(Protocol):
    """Where an executor finds somebody to ask. The call does not keep others waiting meanwhile.

    With `suspends`, a request that nobody answers raises `ApprovalRequired`, which suspends a run; otherwise such a call is
    denied, and the model is told how it can be approved.

    One that is an `async def`, and does not suspend, is asked by programs of the call too, about hosts that are not listed: it is
    cancelled when somebody else has answered, or the program has ended.
    """

    @property
    def suspends(self) -> bool:
        """Whether a request without an answer suspends the run."""
        ...

    def answer(self, request: ApprovalRequest) -> Awaitable[Answer | None] | Answer | None:
        """Ask a person; usually an `async def`. None where nobody has answered now."""
        ...


class SuspendRun:
    """Suspends the run at every request, so that it can be answered from elsewhere, and the run be resumed.

    >>> SuspendRun().suspends
    True
    """

    __slots__ = ()

    suspends: bool = True

    async def answer(self, request: ApprovalRequest) -> Answer | None:
        """Nobody is here."""
        del request
        return None


def approval_id(number: int) -> str:
    """The short name of a request."""
    return f"a{number}"


def approval_number(text: str) -> int | None:
    """The number that a short name stands for; None for what is no such name.

    >>> approval_number("a3"), approval_number("3"), approval_number("c3")
    (3, 3, None)
    """
    found = _ID.fullmatch(text.strip())
    return None if found is None else int(found[1])
