"""A model that says what it was told to say: for demonstrations, tests, and runs that must be repeatable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from wink.adapters._adapter import ProviderAdapter
from wink.adapters._conversation import Conversation, ModelTurn
from wink.adapters._script import Script, ScriptedTurn
from wink.errors import ScriptMismatch
from wink.runtime import ToolCall

Turn = ModelTurn | ScriptedTurn | str | ToolCall | Sequence[ToolCall] | Callable[[Conversation], ModelTurn]
"""A model's turn: text, a call, several calls, or a function of the conversation so far."""

SCRIPT: Final = "script"


class ScriptedAdapter(ProviderAdapter):
    """Answers with the given turns, one after the other, and then with nothing, which ends the evaluation.

    Where a turn says what it expects of its replies, the next request checks it and raises `ScriptMismatch` if the run
    went another way. An adapter can be used again; each evaluation starts at the first turn.

    >>> from wink.adapters import ScriptedAdapter
    >>> [turn.text for turn in ScriptedAdapter(["Hello."]).turns]
    ['Hello.']
    """

    def __init__(self, turns: Sequence[Turn], *, name: str = SCRIPT) -> None:
        self.turns = tuple(_turn(turn) for turn in turns)
        self._name = name

    @classmethod
    def from_script(cls, script: Script) -> ScriptedAdapter:
        """An adapter that plays a script."""
        return cls(script.turns, name=script.name)

    def respond(self, conversation: Conversation) -> ModelTurn:
        """The next turn, after a look at whether the last one was answered as expected."""
        number = len(conversation.exchanges)
        self._check(conversation, number)
        if number >= len(self.turns):
            return ModelTurn()
        turn = self.turns[number]
        if isinstance(turn, ScriptedTurn):
            return turn.turn
        return turn if isinstance(turn, ModelTurn) else turn(conversation)

    def _check(self, conversation: Conversation, number: int) -> None:
        turn = self.turns[number - 1] if 0 < number <= len(self.turns) else None
        if not isinstance(turn, ScriptedTurn):
            return
        replies = conversation.exchanges[-1].replies
        for index, (expectation, reply) in enumerate(zip(turn.expectations, replies, strict=True), 1):
            problem = expectation.problem(reply)
            if problem is not None:
                raise ScriptMismatch(f"{self._name}, turn {number}, call {index} ({reply.name})", problem)


def _turn(turn: Turn) -> ModelTurn | ScriptedTurn | Callable[[Conversation], ModelTurn]:
    if isinstance(turn, str):
        return ModelTurn(turn)
    if isinstance(turn, ToolCall):
        return ModelTurn(calls=(turn,))
    if isinstance(turn, ModelTurn | ScriptedTurn) or callable(turn):
        return turn
    return ModelTurn(calls=tuple(turn))
