"""A model behind one method; the loop around it is the same for all."""

from __future__ import annotations

from collections.abc import Sequence
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Unpack

from wink.adapters._conversation import Conversation, ModelTurn
from wink.adapters._evaluation import MAX_TURNS, Evaluation, EvaluationOptions
from wink.adapters._response import Out_co, PromptResponse
from wink.prompt import Prompt
from wink.runtime import ToolCall, ToolExecutor, ToolReply, drive, in_own_loop
from wink.session import Session


class ProviderAdapter:
    """A model behind one method, `respond` or `arespond`; the loop around it is the same for all.

    A subclass overrides one of the two, or `evaluate` where it has a loop of its own.
    """

    if not TYPE_CHECKING:  # annotations of programs name the type of its outputs
        __class_getitem__ = classmethod(GenericAlias)

    def respond(self, conversation: Conversation) -> ModelTurn:
        """Ask the model for its next turn. Raises `PromptEvaluationError` (phase `request`) when it cannot be had."""
        if type(self).arespond is ProviderAdapter.arespond:
            raise NotImplementedError(f"{type(self).__qualname__} overrides neither `respond` nor `evaluate`")
        return in_own_loop(lambda: self.arespond(conversation))

    async def arespond(self, conversation: Conversation) -> ModelTurn:
        """Like `respond`, on the running event loop; without an override, `respond` is called on a thread."""
        import asyncio

        return await asyncio.to_thread(self.respond, conversation)

    def check(self) -> None:
        """Raise `ExtraMissing` or `ModelUnusable` if it is clear before any request that the model cannot be asked."""

    def close(self) -> None:
        """Let go of what the adapter holds, such as connections; it can be used again."""

    def evaluate(
        self, prompt: Prompt[Out_co], *, session: Session, **options: Unpack[EvaluationOptions]
    ) -> PromptResponse[Out_co]:
        """Work on `prompt` until the model answers without calling a tool, and its answer is what the prompt asks for.

        The options are those of `EvaluationOptions`, all of which can be left out: a `deadline`, a `budget`, and `max_turns`,
        how many answers the model may give (`MAX_TURNS` unless given), bound it; `heartbeat` is told that it is alive, and
        `run_context` names it.

        A tool call never ends the evaluation, whatever becomes of it. Inside a tool call the deadline and the budget of
        the run around it count as well.

        Where a policy asks for a person's approval, `approvals` gives the answer, or the run is suspended: `RunSuspended`
        carries its state, which goes on as `resume`, in another process too. A `journal` keeps each step as it is taken.
        `images` are shown to the model with the prompt; a run that is resumed has to be given them again.

        Raises `PromptEvaluationError`: phase `request` when the model cannot be reached, `deadline`, `budget` and `turns`
        when a limit is passed, `tool` when a limit is passed inside a call, `response` when the output that the prompt
        declares could not be had, `completion` when the task stays incomplete, and `approval` for `RunSuspended`.
        """
        return drive(Evaluation(self, prompt, session, **options).run(self._ask, _execute))

    async def aevaluate(
        self, prompt: Prompt[Out_co], *, session: Session, **options: Unpack[EvaluationOptions]
    ) -> PromptResponse[Out_co]:
        """Like `evaluate`, on the running event loop. Cancelling it takes back the call that is under way."""
        if type(self).evaluate is not ProviderAdapter.evaluate:
            import asyncio

            # Only what says something: one that was written before an argument existed does not take it.
            given: dict[str, Any] = {name: one for name, one in options.items() if one not in (None, (), [], MAX_TURNS)}
            return await asyncio.to_thread(self.evaluate, prompt, session=session, **given)
        return await Evaluation(self, prompt, session, **options).run(self.arespond, _aexecute)

    async def _ask(self, conversation: Conversation) -> ModelTurn:
        return self.respond(conversation)


async def _execute(executor: ToolExecutor, calls: Sequence[ToolCall]) -> Sequence[ToolReply | Exception]:
    return executor.execute_batch(calls, return_exceptions=True)


async def _aexecute(executor: ToolExecutor, calls: Sequence[ToolCall]) -> Sequence[ToolReply | Exception]:
    return await executor.aexecute_batch(calls, return_exceptions=True)
