"""Errors of model adapters and scripts."""

from collections.abc import Sequence
from typing import Any

from wink.errors._core import WinkError
from wink.errors._prompt import PromptEvaluationError

__all__ = [
    "ModelUnusable",
    "RunStateError",
    "RunSuspended",
    "ScriptError",
    "ScriptMismatch",
]


class ScriptError(WinkError, ValueError):
    """A script of model turns cannot be used; `where` says which file, turn and call."""

    says = "{where}: {problem}"

    def __init__(self, where: str, problem: str) -> None:
        self.where, self.problem = where, problem
        super().__init__(where, problem)


class ScriptMismatch(ScriptError):
    """A run went another way than its script expects."""

    is_failure = True


class RunSuspended(PromptEvaluationError):
    """A run waits until a person has answered; `phase` is `approval`.

    `requests` are the calls that were asked about. `state` is how far the run has come: give it to `evaluate` as
    `resume`, in another process too, when they have been answered.
    """

    def __init__(self, requests: Sequence[Any], state: Any, prompt_name: str = "") -> None:
        self.requests, self.state = tuple(requests), state
        names = ", ".join(str(getattr(request, "id", request)) for request in self.requests)
        super().__init__(f"the run waits for approval: {names}", "approval", prompt_name)
        self.args = (self.requests, state, prompt_name)


class RunStateError(WinkError, ValueError):
    """A stored run cannot be read; `problem` says why."""

    says = "this is not the state of a run: {problem}"

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(problem)


class ModelUnusable(WinkError, ValueError):
    """A model cannot be used as it was named or set up, for want of a key for example; `problem` says what to do."""

    says = "{provider}: {problem}"

    def __init__(self, provider: str, problem: str) -> None:
        self.provider, self.problem = provider, problem
        super().__init__(provider, problem)
