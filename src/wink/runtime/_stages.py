"""The stages of a call: `Requested` → `Parsed` → `Begun` → `Judged` → `Ended`. Each holds what is known from there on.

None is ever changed. They are plain classes, since several are made for every call: a NamedTuple takes twice the time to make.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from wink.filesystem import Filesystem
from wink.runtime._call import PolicyVerdict, ToolCall
from wink.tools import Tool, ToolContext, ToolResult
from wink.transactions import Outcome, Transaction

if TYPE_CHECKING:
    from wink.resources import ResourceContext
    from wink.runtime._approval_step import Consent, Edited
    from wink.runtime._order import Place


class Requested:
    """A model has made it; `tool` is None where there is none of this name, and `started` is `time.perf_counter()`.

    `edited` is the answer of a person who has changed its arguments, and `asked_times` says how often one was waited for;
    `verdicts` are those of the round before.
    """

    __slots__ = ("asked_times", "call_id", "edited", "request", "started", "started_at", "tool", "verdicts")

    def __init__(
        self,
        request: ToolCall,
        call_id: str,
        tool: Tool[Any, Any] | None,
        started_at: datetime,
        started: float,
        edited: Edited | None = None,
        asked_times: int = 0,
        verdicts: tuple[PolicyVerdict, ...] = (),
    ) -> None:
        self.request: Final = request
        self.call_id: Final = call_id
        self.tool: Final = tool
        self.started_at: Final = started_at
        self.started: Final = started
        self.edited: Final = edited
        self.asked_times: Final = asked_times
        self.verdicts: Final = verdicts

    def again(self, edited: Edited | None, verdicts: tuple[PolicyVerdict, ...]) -> Requested:
        """The request after a person was waited for, or with the arguments that one has given."""
        request, asked_times = self.request, self.asked_times + 1
        if edited is not None:
            request, asked_times = replace(request, arguments=edited.arguments), self.asked_times
        edited = edited or self.edited
        return Requested(request, self.call_id, self.tool, self.started_at, self.started, edited, asked_times, verdicts)


class Parsed:
    """There is such a tool, and its arguments fit; `root` is the filesystem that the prompt is bound to."""

    __slots__ = ("asked", "params", "root", "tool")

    def __init__(self, asked: Requested, tool: Tool[Any, Any], root: Filesystem | None, params: Any) -> None:
        self.asked: Final = asked
        self.tool: Final = tool
        self.root: Final = root
        self.params: Final = params


class Begun:
    """What it changes from here on can be taken back; `resources` are those of the prompt."""

    __slots__ = ("parsed", "resources", "transaction")

    def __init__(self, parsed: Parsed, resources: ResourceContext, transaction: Transaction) -> None:
        self.parsed: Final = parsed
        self.resources: Final = resources
        self.transaction: Final = transaction


class Judged:
    """The policies have said what they think of it; `context` is what they, and its handler, are given."""

    __slots__ = ("context", "parsed", "transaction", "verdicts")

    def __init__(self, begun: Begun | Judged, context: ToolContext, verdicts: tuple[PolicyVerdict, ...]) -> None:
        self.parsed: Final = begun.parsed
        self.transaction: Final = begun.transaction
        self.context: Final = context
        self.verdicts: Final = verdicts


class Approved(Judged):
    """A person had to be asked, and this call has taken their approval."""

    __slots__ = ("consent",)

    def __init__(self, judged: Judged, consent: Consent, verdicts: tuple[PolicyVerdict, ...]) -> None:
        super().__init__(judged, judged.context, verdicts)
        self.consent: Final = consent


Stage = Requested | Parsed | Begun | Judged
TRANSACTED: Final = (Begun, Judged)


class Ended:
    """What became of it, wherever it ended; `transaction` is None where it had none yet.

    `approval` is the number of the person's answer that it used, 0 for none; `raising` is raised in place of a reply.
    """

    __slots__ = (
        "approval",
        "asked",
        "error",
        "outcome",
        "params",
        "raising",
        "result",
        "text",
        "transaction",
        "verdicts",
    )

    def __init__(
        self,
        call: Stage,
        outcome: Outcome,
        text: str,
        result: ToolResult[Any] | None = None,
        approval: int = 0,
        error: str | None = None,
        raising: BaseException | None = None,
    ) -> None:
        transaction: Transaction | None = None
        if isinstance(call, Requested):
            asked, params, verdicts = call, None, call.verdicts
        elif isinstance(call, Parsed):
            asked, params, verdicts = call.asked, call.params, call.asked.verdicts
        else:
            asked, params, transaction = call.parsed.asked, call.parsed.params, call.transaction
            verdicts = call.verdicts if isinstance(call, Judged) else asked.verdicts
        self.asked: Final = asked
        self.params: Final = params
        self.transaction: Final = transaction
        self.verdicts: Final = verdicts
        self.outcome: Final = outcome
        self.text: Final = text
        self.result: Final = ToolResult[Any].error(text) if result is None else result
        self.approval: Final = approval
        self.error: Final = error
        self.raising: Final = raising


class Progress:
    """How far a call has come: its stage, what has to be done at its end, last first, and its place among its siblings."""

    __slots__ = ("ends", "name", "place", "stage")

    def __init__(self, asked: Requested) -> None:
        self.name: Final = asked.request.name
        self.stage: Stage = asked
        self.ends: list[Callable[[], object]] = []
        self.place: Place | None = None
