"""A model that asks before each request whether the task, and the whole batch, may have it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wink.adapters import Conversation, ModelReplied, ModelTurn, ProviderAdapter, RequestFailed, RequestSent
from wink.errors import PromptEvaluationError
from wink.session import Session
from wink_batch._outcome import Usage
from wink_batch._plan import Prices

Asked = Callable[[Usage], str]
"""Waits until a request may be sent, being told what was used so far; gives why there may be none, or nothing."""


class Books:
    """What an attempt has used, by the events of its session."""

    def __init__(self, prices: Prices, on_use: Callable[[], object]) -> None:
        self.usage, self._prices, self._on_use = Usage(), prices, on_use

    def watch(self, session: Session) -> None:
        """Take in what the session tells from now on."""
        session.dispatcher.subscribe(ModelReplied, self._replied)

    def asked(self) -> None:
        """Count a request."""
        self.usage += Usage(requests=1)

    def _replied(self, event: object) -> None:
        assert isinstance(event, ModelReplied)
        used = event.turn.usage
        cost = self._prices.cost(used.input_tokens, used.output_tokens, used.cached_tokens)
        self.usage += Usage(used.input_tokens, used.output_tokens, used.cached_tokens, cost)
        self._on_use()


class Metered(ProviderAdapter):
    """Another adapter, whose every request has to be asked for first."""

    def __init__(self, inner: ProviderAdapter, books: Books, *, cost: float | None, ask: Asked | None) -> None:
        self._inner, self._books, self._cost, self._ask_for = inner, books, cost, ask

    def respond(self, conversation: Conversation) -> ModelTurn:
        """Ask the model, when it may be asked; raises `PromptEvaluationError`, phase `cost` or `batch`, when not."""
        self._permitted(conversation.prompt.prompt_name)
        return self._inner.respond(conversation)

    def close(self) -> None:
        """Close the other adapter."""
        self._inner.close()

    def watch(self, session: Session, slow: Callable[[float], object]) -> None:
        """Ask also for requests that are sent again, and pass on how long a provider wants to be left alone."""

        def sent(event: Any) -> None:
            if event.attempt > 1:
                self._books.asked()
                if self._ask_for is not None:
                    self._ask_for(self._books.usage)

        def failed(event: Any) -> None:
            if event.retry_in and event.retry_in > 1:
                slow(event.retry_in)

        session.dispatcher.subscribe(RequestSent, sent)
        session.dispatcher.subscribe(RequestFailed, failed)

    def _permitted(self, name: str) -> None:
        used = self._books.usage
        if self._cost is not None and used.cost >= self._cost:
            raise PromptEvaluationError(
                f"{used.cost:.4f} was spent of {self._cost:g} allowed", phase="cost", prompt_name=name
            )
        if self._ask_for is not None:
            problem = self._ask_for(used)
            if problem:
                raise PromptEvaluationError(problem, phase="batch", prompt_name=name)
        self._books.asked()
