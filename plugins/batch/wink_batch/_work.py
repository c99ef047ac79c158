"""What an attempt's own process does: open the workspace, put prompt and model together, evaluate, have it judged."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from wink_batch._attempt import Channel, Gone
from wink_batch._outcome import Outcome, Usage
from wink_batch._plan import Plan
from wink_batch._task import Task, task_of

if TYPE_CHECKING:
    from wink.adapters import PromptResponse
    from wink.errors import PromptEvaluationError
    from wink.workspace import Workspace
    from wink_batch._metering import Books

_CAUSES: Final = {
    # of an evaluation that ended early, by its phase
    "request": "model",
    "deadline": "time",
    "tool": "time",
    "budget": "tokens",
    "turns": "turns",
    "response": "answer",
    "length": "answer",
    "completion": "incomplete",
    "approval": "approval",
    "cost": "cost",
    "batch": "budget",
}
_LONGEST: Final = 4000
_SIGNS: Final = 0.2
"""Seconds between two signs of life."""


class _Wrong(Exception):
    """The prompt or the model cannot be put together."""


def work(request: Mapping[str, Any], channel: Channel) -> int:
    """Do one attempt; the exit status. Everything else is told over the channel."""
    before = set(sys.modules)
    out = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    for number in (1, 2):
        os.dup2(out, number)
    try:
        os.environ.update(request["env"])
        if request["mount"] is not None:
            from wink_sandbox import mount

            try:
                mount(request["mount"])
            except OSError as error:
                channel.tell(unmounted=f"{error.strerror or error} ({error.filename})")
                return 0
        channel.tell(sign=1)
        os.chdir(request["root"])
        _Worker(request, channel, before).run()
        return 0
    except (Gone, KeyboardInterrupt):
        return 1
    finally:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()


class _Worker:
    """One attempt under way."""

    def __init__(self, request: Mapping[str, Any], channel: Channel, before: set[str]) -> None:
        self._before = before
        task, problems = task_of(request["task"], base="/")
        assert task is not None, problems
        self._task: Task = task
        self._plan = Plan.from_json(request["plan"])
        self._root, self._place, self._channel = request["root"], request["place"], channel
        self._state: str = request["state"]
        self._last = 0.0

    def run(self) -> None:
        """Work on it, and have it judged when whoever runs it has seen what was changed."""
        from wink.workspace import Workspace

        outcome: Outcome
        with Workspace.open(self._root, state=self._state) as workspace:
            try:
                outcome = self._evaluated(workspace)
            except KeyboardInterrupt:
                outcome = Outcome(
                    "stopped", "interrupted", "the batch was interrupted; a call in the middle was taken back"
                )
            # Nobody interrupts what is left to do: it is short, and ends by being killed.
            import signal

            signal.signal(signal.SIGINT, signal.SIG_IGN)
            self._channel.tell(imported=_installed(set(sys.modules) - self._before))
            self._channel.tell(ended=outcome.to_row())
            answer = self._channel.hear()[0]
            if answer.get("check"):
                from wink_batch._checking import Attempted, judged

                attempted = Attempted(self._task, outcome.text, outcome.output, self._root, workspace.filesystem)
                found = judged(
                    self._plan.check,
                    attempted,
                    directory=os.path.join(self._place, "check"),
                    seconds=self._plan.check_seconds,
                    sign=self._sign,
                )
                self._channel.tell(verdict={"passed": found.passed, "score": found.score, "message": found.message})

    def _evaluated(self, workspace: Workspace) -> Outcome:
        from wink.errors import PromptEvaluationError, ScriptMismatch, WinkError
        from wink.serde import dump

        books = self._books()
        try:
            response = self._respond(workspace, books)
            output = None if response.output is None else dump(response.output)
            end = Outcome("done", text=response.text, output=output)
        except _Wrong as error:
            end = Outcome("failed", "template", _text(error.__cause__ or error))
        except PromptEvaluationError as error:
            end = Outcome("failed", _cause(error), _text(error))
        except ScriptMismatch as error:
            end = Outcome("failed", "script", _text(error))
        except KeyboardInterrupt:
            raise
        except Exception as error:  # foreign code: anything that a template or a model brings along
            if not isinstance(error, WinkError):
                traceback.print_exc()
            end = Outcome("failed", "error", _text(error))
        from dataclasses import replace

        return replace(end, usage=books.usage, calls=len(workspace.calls()))

    def _respond(self, workspace: Workspace, books: Books) -> PromptResponse[Any]:
        from wink.adapters import ProviderAdapter
        from wink.limits import Budget, Deadline, Heartbeat
        from wink_batch._assembling import Assembling, assembly
        from wink_batch._metering import Metered

        limits = self._plan.limits
        try:
            made = assembly(self._plan.assembly)(Assembling(self._task, self._plan.options, workspace))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # foreign code
            raise _Wrong from error
        prompt, adapter = made
        session = workspace.session("default")
        books.watch(session)
        if type(adapter).evaluate is ProviderAdapter.evaluate:
            metered = Metered(adapter, books, cost=limits.cost, ask=self._ask if self._plan.is_metered else None)
            metered.watch(session, lambda seconds: self._channel.tell(slow=seconds))
            adapter = metered
        heartbeat = Heartbeat()
        heartbeat.add_callback(self._sign)
        self._watch(session)
        try:
            with prompt.resources:
                return adapter.evaluate(
                    prompt,
                    session=session,
                    deadline=None if limits.seconds is None else Deadline.after(limits.seconds),
                    budget=None if limits.tokens is None else Budget(max_total_tokens=limits.tokens),
                    heartbeat=heartbeat,
                )
        finally:
            adapter.close()

    def _books(self) -> Books:
        from wink_batch._metering import Books

        def tell() -> None:
            self._channel.tell(usage=_usage(books.usage))

        books = Books(self._plan.prices, tell)
        return books

    def _watch(self, session: Any) -> None:
        """Everything that happens is a sign of life."""
        from wink.adapters import ModelDelta, RequestFailed, RequestSent
        from wink.runtime import ToolInvoked

        for kind in (ModelDelta, RequestSent, RequestFailed, ToolInvoked):
            session.dispatcher.subscribe(kind, self._signed)

    def _signed(self, event: object) -> None:
        del event
        self._sign()

    def _sign(self) -> None:
        now = time.monotonic()
        if now - self._last >= _SIGNS:
            self._last = now
            self._channel.tell(sign=1)

    def _ask(self, usage: Usage) -> str:
        self._channel.tell(ask=_usage(usage))
        return str(self._channel.hear()[0].get("over", ""))


def _cause(error: PromptEvaluationError) -> str:
    """Which of the causes it is; a limit that is passed inside a call can be either of two."""
    from wink.errors import BudgetExceededError

    if error.phase == "tool":
        inner: BaseException | None = error
        while inner is not None:
            if isinstance(inner, BudgetExceededError):
                return "tokens"
            inner = inner.__cause__ or inner.__context__
        return "tokens" if "tokens used of" in str(error) else "time"
    return _CAUSES.get(error.phase, "error")


def _installed(names: set[str]) -> list[str]:
    """Those of some modules that every attempt of the kind will import, and that are not the user's own."""
    found: list[str] = []
    for name in sorted(names):
        file = getattr(sys.modules.get(name), "__file__", None) or ""
        is_ours = name.partition(".")[0].startswith("wink")
        if is_ours or "site-packages" in file or name.partition(".")[0] in sys.stdlib_module_names:
            found.append(name)
    return found


def _usage(usage: Usage) -> dict[str, Any]:
    return {name: getattr(usage, name) for name in Usage.__slots__}


def _text(error: BaseException) -> str:
    said = str(error) or type(error).__name__
    from wink.errors import WinkError

    known = isinstance(error, WinkError) or type(error).__module__.startswith(("click", "wink"))
    return (said if known else f"{type(error).__name__}: {said}")[:_LONGEST]
