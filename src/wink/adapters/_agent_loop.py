"""Serve requests one after the other, each with a prompt and a session of its own."""

from __future__ import annotations

from typing import Any

from wink.adapters._adapter import ProviderAdapter
from wink.adapters._response import PromptResponse
from wink.limits import Budget, Deadline
from wink.prompt import Prompt
from wink.session import Session


class AgentLoop:
    """What serves requests of one kind: each gets a prompt and a session, and is evaluated by an adapter.

    A subclass overrides `prepare`. `budget` is what each request may use.
    """

    def __init__(self, *, adapter: ProviderAdapter, budget: Budget | None = None) -> None:
        self.adapter, self.budget = adapter, budget

    def prepare(self, request: Any) -> tuple[Prompt[Any], Session]:
        """The prompt and the session for a request."""
        del request
        raise NotImplementedError(f"{type(self).__qualname__} does not override `prepare`")

    def finish(self, prompt: Prompt[Any], session: Session) -> None:
        """Called after each request, also after one that failed, when the prompt's resources are closed."""

    def execute(
        self, request: Any, *, deadline: Deadline | None = None, budget: Budget | None = None
    ) -> tuple[PromptResponse[Any], Session]:
        """Work on a request; gives the response and the session that was used. Raises like `evaluate`."""
        prompt, session = self.prepare(request)
        try:
            with prompt.resources:
                response = self.adapter.evaluate(
                    prompt, session=session, deadline=deadline, budget=self.budget if budget is None else budget
                )
        finally:
            self.finish(prompt, session)
        return response, session
