"""`AdapterContract` finds what is wrong: each of these adapters breaks one promise."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.testing.trying import assert_each_is_caught

from wink.adapters import Conversation, ModelTurn, ProviderAdapter, ScriptedAdapter
from wink.errors import PromptEvaluationError
from wink.limits import TokenUsage
from wink.runtime import ToolCall
from wink.testing import AdapterContract

pytest_plugins = ["pytester"]


class Sound(ScriptedAdapter):
    """Says what it is told to, and remembers what it was sent."""

    def __init__(self, turns: Sequence[Any] = ()) -> None:
        super().__init__(turns)
        self.sent: list[list[tuple[str, str]]] = []

    def respond(self, conversation: Conversation) -> ModelTurn:
        self.sent.append(self.answers(conversation))
        return self.said(super().respond(conversation))

    def answers(self, conversation: Conversation) -> list[tuple[str, str]]:
        return [(reply.call_id, reply.text) for one in conversation.exchanges for reply in one.replies]

    def said(self, turn: ModelTurn) -> ModelTurn:
        return turn


def changing(change: Callable[[ModelTurn], ModelTurn]) -> type[Sound]:
    """An adapter that makes another turn of each."""

    class Changing(Sound):
        def said(self, turn: ModelTurn) -> ModelTurn:
            return change(turn)

    return Changing


def calls(change: Callable[[tuple[ToolCall, ...]], Sequence[ToolCall]]) -> type[Sound]:
    """An adapter that makes other calls of those of a turn."""
    return changing(lambda turn: replace(turn, calls=tuple(change(turn.calls))))


def each(change: Callable[[ToolCall], ToolCall]) -> type[Sound]:
    return calls(lambda given: [change(call) for call in given])


def loops(**dropped: Any) -> type[Sound]:
    """An adapter that does not hand everything on to the loop."""

    class Looping(Sound):
        def evaluate(self, prompt: Any, *, session: Any, **limits: Any) -> Any:
            return super().evaluate(prompt, session=session, **{**limits, **dropped})

    return Looping


def once_only(turn: ModelTurn) -> ModelTurn:
    """Drops calls whose id was seen."""
    ids: set[str] = set()
    kept = [call for call in turn.calls if not (call.call_id in ids or ids.add(call.call_id))]
    return replace(turn, calls=tuple(kept))


def strictly(call: ToolCall) -> ToolCall:
    """Believes the model."""
    arguments = json.loads(str(call.arguments))
    if call.name not in ("note", "fail", "wait") or "text" not in arguments:
        raise KeyError(call.name)
    return call


class AsyncDrops(Sound):
    async def arespond(self, conversation: Conversation) -> ModelTurn:
        turn = self.respond(conversation)
        return replace(turn, calls=turn.calls[:1])


class AsyncFails(Sound):
    async def arespond(self, conversation: Conversation) -> ModelTurn:
        raise RuntimeError("no loop")


class Remembers(Sound):
    """Takes every evaluation for the first one's next turns, and is over when it was closed."""

    def respond(self, conversation: Conversation) -> ModelTurn:
        turn = self.turns[len(self.sent) * 2]
        self.sent.append([])
        assert isinstance(turn, ModelTurn)
        return turn


class EndsForGood(Sound):
    closed = False

    def close(self) -> None:
        self.closed = True

    def said(self, turn: ModelTurn) -> ModelTurn:
        assert not self.closed
        return turn


class SendsTheLast(Sound):
    def answers(self, conversation: Conversation) -> list[tuple[str, str]]:
        return super().answers(replace(conversation, exchanges=conversation.exchanges[-1:]))


class SendsTwice(Sound):
    def answers(self, conversation: Conversation) -> list[tuple[str, str]]:
        return super().answers(conversation) * 2


class SendsBackwards(Sound):
    def answers(self, conversation: Conversation) -> list[tuple[str, str]]:
        return super().answers(conversation)[::-1]


class SendsNothing(Sound):
    def answers(self, conversation: Conversation) -> list[tuple[str, str]]:
        return [(call_id, "ok") for call_id, _ in super().answers(conversation)]


class Gone(Sound):
    """Its provider is not there."""

    def respond(self, conversation: Conversation) -> ModelTurn:
        raise PromptEvaluationError("nobody listens", phase="request", prompt_name="adapter")


class GoneRaw(Sound):
    def respond(self, conversation: Conversation) -> ModelTurn:
        raise ConnectionError("nobody listens")


class GoneElsewhere(Sound):
    def respond(self, conversation: Conversation) -> ModelTurn:
        raise PromptEvaluationError("nobody listens", phase="response", prompt_name="adapter")


class GoneRawOnLoop(Gone):
    async def arespond(self, conversation: Conversation) -> ModelTurn:
        raise ConnectionError("nobody listens")


class TestSound(AdapterContract):
    """What the broken ones are made of keeps every promise."""

    can_be_unreachable = shows_requests = True

    def make_adapter(self, turns: Sequence[ModelTurn]) -> ProviderAdapter:
        return Sound(turns)

    def make_unreachable(self) -> ProviderAdapter:
        return Gone()

    def answers_sent(self, adapter: ProviderAdapter) -> Sequence[Sequence[tuple[str, str]]]:
        assert isinstance(adapter, Sound)
        return adapter.sent


def broken(name: str, cls: type[Sound] = Sound, gone: type[Sound] = Gone) -> type[AdapterContract]:
    """The contract for an adapter."""

    class Broken(TestSound):
        def make_adapter(self, turns: Sequence[ModelTurn]) -> ProviderAdapter:
            return cls(turns)

        def make_unreachable(self) -> ProviderAdapter:
            return gone()

    Broken.__name__ = name
    return Broken


ORDER = "test_calls_are_executed_once_each_and_in_order"
ARGUMENTS = "test_arguments_arrive_as_they_are"
BUDGET = "test_a_budget_that_is_used_up_ends_the_run"
IN_PLACE = "test_every_call_is_answered_once_and_in_its_place"
GONE = "test_a_provider_that_cannot_be_had_is_one_kind_of_error"
FAILING = "test_a_call_that_fails_does_not_end_the_run"

BROKEN: list[tuple[type[AdapterContract], str]] = [
    (broken("Shortens", changing(lambda turn: replace(turn, text=turn.text[:5]))), "test_a_text_ends_the_work"),
    (broken("Invents", calls(lambda given: given or [ToolCall("note", '{"text": "x"}')])), "test_a_text_ends_the_work"),
    (broken("DropsOne", calls(lambda given: given[:1])), ORDER),
    (broken("Doubles", calls(lambda given: given * 2)), ORDER),
    (broken("Reverses", calls(lambda given: given[::-1])), ORDER),
    (broken("TextOrCalls", changing(lambda turn: ModelTurn(turn.text) if turn.text else turn)), ORDER),
    (broken("DropsText", changing(lambda turn: replace(turn, text="") if turn.calls else turn)), ORDER),
    (broken("NewIds", each(lambda call: replace(call, call_id=f"new-{call.call_id}"))), "test_calls_keep_their_ids"),
    (broken("OnceOnly", changing(once_only)), "test_calls_with_one_id_are_two_calls"),
    (broken("Ascii", each(lambda call: replace(call, arguments=str(call.arguments).replace("\\u", "")))), ARGUMENTS),
    (broken("Strips", each(lambda call: replace(call, arguments=str(call.arguments).replace(" \\t", "")))), ARGUMENTS),
    (broken("Cuts", each(lambda call: replace(call, arguments=str(call.arguments)[:4000]))), ARGUMENTS),
    (broken("Strict", each(strictly)), FAILING),
    (broken("CutOff", changing(lambda turn: replace(turn, cut_off=False))), "test_a_turn_that_was_cut_off_is_no_answer"),
    (broken("Trims", changing(lambda turn: replace(turn, text=turn.text.strip("{}")))), "test_answers_that_are_data_are_read"),
    (broken("SendsTheLast", SendsTheLast), IN_PLACE),
    (broken("SendsTwice", SendsTwice), IN_PLACE),
    (broken("SendsBackwards", SendsBackwards), IN_PLACE),
    (broken("SendsNothing", SendsNothing), IN_PLACE),
    (broken("Free", changing(lambda turn: replace(turn, usage=TokenUsage()))), "test_tokens_are_counted"),
    (broken("FreeBudget", changing(lambda turn: replace(turn, usage=TokenUsage()))), BUDGET),
    (broken("NoBudget", loops(budget=None)), BUDGET),
    (broken("NoDeadline", loops(deadline=None)), "test_a_passed_deadline_ends_the_run"),
    (broken("NoDeadlineInCall", loops(deadline=None)), "test_a_deadline_that_passes_in_a_call_ends_the_run"),
    (broken("NoTurns", loops(max_turns=200)), "test_a_model_that_never_ends_is_stopped"),
    (broken("Raw", gone=GoneRaw), GONE),
    (broken("Elsewhere", gone=GoneElsewhere), GONE),
    (broken("RawOnLoop", gone=GoneRawOnLoop), GONE),
    (broken("AsyncDrops", AsyncDrops), "test_it_works_on_an_event_loop"),
    (broken("AsyncFails", AsyncFails), "test_it_works_on_an_event_loop"),
    (broken("Remembers", Remembers), "test_it_can_be_used_again"),
    (broken("EndsForGood", EndsForGood), "test_it_can_be_used_again"),
]  # fmt: skip


@pytest.mark.timeout(600)
def test_every_broken_promise_is_found(pytester: pytest.Pytester) -> None:
    """By the test that is there for it, whose report says what was promised and what to do."""
    assert_each_is_caught(pytester, __name__, "BROKEN", [contract.__name__ for contract, _ in BROKEN])
