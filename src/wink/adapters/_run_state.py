"""How far a run has come, so that another process can go on with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol, runtime_checkable

from wink.adapters._conversation import Exchange, ModelTurn
from wink.dataclass import dataclass, field, replace
from wink.errors import RunStateError
from wink.limits import TokenUsage
from wink.runtime import ToolCall, ToolReply
from wink.tools import ToolResult

FORMAT: Final = 1
"""The format of `RunState.to_json`."""


@dataclass(frozen=True, slots=True)
class RunState:
    """What has been said so far, and the turn that is not answered yet, if there is one.

    `replies` are those to the calls of `turn` that have ended, `None` for the others. Values of results do not survive
    `to_json`, the texts that the model was sent do.

    >>> RunState.from_json(RunState("review").to_json()) == RunState("review")
    True
    """

    prompt_name: str
    exchanges: tuple[Exchange, ...] = ()
    turn: ModelTurn | None = None
    replies: tuple[ToolReply | None, ...] = ()
    usage: TokenUsage = field(default_factory=TokenUsage)

    def to_json(self) -> str:
        """The state as JSON text."""
        from wink.serde import dumps

        return dumps(_stored(self))

    @classmethod
    def from_json(cls, text: str) -> RunState:
        """The state that `to_json` wrote; raises `RunStateError` for anything else."""
        from wink.serde import parse

        try:
            stored = parse(_Stored, text, extra="ignore")
        except ValueError as error:
            raise RunStateError(str(error)) from error
        if stored.format != FORMAT:
            raise RunStateError(f"it has format {stored.format}, and this version of wink reads {FORMAT}")
        for number, one in enumerate(stored.exchanges, 1):
            if [reply.call_id for reply in one.replies] != [call.call_id for call in one.turn.calls]:
                raise RunStateError(f"exchange {number} does not answer each of its calls once, in their order")
        return cls(
            prompt_name=stored.prompt_name,
            exchanges=tuple(Exchange(one.turn, tuple(map(_reply, one.replies)), one.note) for one in stored.exchanges),
            turn=stored.turn,
            replies=tuple(None if one is None else _reply(one) for one in stored.replies),
            usage=stored.usage,
        )


class RunJournal(Protocol):
    """Keeps a run while it goes on, so that what ends it loses nothing.

    The evaluation tells it of each step before the next one begins. `executed` is asked when a run is resumed.
    """

    def turned(self, number: int, turn: ModelTurn) -> None:
        """The model has answered for the `number`th time, from 1; nothing of it has been executed."""
        ...

    def replied(self, number: int, replies: Sequence[ToolReply], note: str) -> None:
        """The turn has been answered: with replies to its calls, or with a note alone."""
        ...

    def suspended(self, state: RunState) -> None:
        """The run waits for a person; `state.replies` are those of the unanswered turn."""
        ...

    def stopped(self, problem: str) -> None:
        """The run has failed; it can be resumed."""
        ...

    def ended(self, text: str) -> None:
        """The run has come to its end."""
        ...

    def executed(self, call_id: str) -> str | None:
        """The text that a call of this run came to, if it has committed; it must not be executed again."""
        ...


@runtime_checkable
class KeepsPrompts(Protocol):
    """A journal that keeps prompts, too, as they are sent."""

    def rendered(self, prompt_name: str, text: str, tools: Sequence[str]) -> None:
        """The prompt was rendered, at the beginning or since sections were opened; `tools` are the names that it shows."""
        ...


@dataclass(frozen=True, slots=True)
class _StoredReply:
    call_id: str
    name: str
    text: str
    success: bool


@dataclass(frozen=True, slots=True)
class _StoredExchange:
    turn: ModelTurn
    replies: tuple[_StoredReply, ...]
    note: str


@dataclass(frozen=True, slots=True)
class _Stored:
    format: int
    prompt_name: str
    exchanges: tuple[_StoredExchange, ...]
    turn: ModelTurn | None
    replies: tuple[_StoredReply | None, ...]
    usage: TokenUsage


def _stored(state: RunState) -> _Stored:
    return _Stored(
        format=FORMAT,
        prompt_name=state.prompt_name,
        exchanges=tuple(
            _StoredExchange(_spoken(one.turn), tuple(map(_stored_reply, one.replies)), one.note)
            for one in state.exchanges
        ),
        turn=None if state.turn is None else _spoken(state.turn),
        replies=tuple(None if one is None else _stored_reply(one) for one in state.replies),
        usage=state.usage,
    )


def _spoken(turn: ModelTurn) -> ModelTurn:
    """Without what is for people, who find it in the record."""
    return replace(turn, thinking="", model="")


def _stored_reply(reply: ToolReply) -> _StoredReply:
    # What is attached may be large, and is not kept: the model is told that it was there.
    attached = reply.result.attachments if reply.success else ()
    text = "\n".join(
        [reply.text, *(f"[{one.described}; was here, and is not kept]" for one in attached if not one.text)]
    )
    return _StoredReply(reply.call_id, reply.name, text, reply.success)


def _reply(stored: _StoredReply) -> ToolReply:
    return told(ToolCall(stored.name, call_id=stored.call_id), stored.text, success=stored.success)


def told(call: ToolCall, text: str, *, success: bool) -> ToolReply:
    """A reply of which only the text is known."""
    result = ToolResult[Any](text, None, success=success)
    return ToolReply(call.call_id, call.name, text, success, result)
