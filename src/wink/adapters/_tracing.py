"""Tell OpenTelemetry what a run does, where `opentelemetry-api` is installed.

Names and attributes are those of the semantic conventions for generative AI: a span `invoke_agent` for the run, in it a span
`chat` for each turn of the model and a span `execute_tool` for each call. What was said is in none of them. Calls outside of runs, of
`wink call` and of the clients of `wink serve`, get the same span `execute_tool` where they are asked for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from wink.adapters._conversation import ModelTurn
from wink.runtime import ToolInvoked
from wink.session import Session

if TYPE_CHECKING:
    from opentelemetry.trace import Span


_lock = threading.Lock()
_traced: WeakKeyDictionary[Session, Tracing] = WeakKeyDictionary()


class Tracing:
    """The spans of one run."""

    __slots__ = ("_facts", "_tracer")

    def __init__(self, tracer: Any, adapter: Any) -> None:
        self._tracer = tracer
        provider, model = (getattr(adapter, name, None) for name in ("provider", "model"))
        self._facts: dict[str, Any] = {"gen_ai.provider.name": str(provider or "wink").removesuffix("-chat")}
        if isinstance(model, str):
            self._facts["gen_ai.request.model"] = model

    @contextmanager
    def run(self, prompt_name: str, session: Session) -> Generator[None]:
        """A span around the run."""
        with self._span(
            "invoke_agent",
            prompt_name,
            {"gen_ai.agent.name": prompt_name, "gen_ai.conversation.id": str(session.session_id)},
        ):
            session.dispatcher.subscribe(ToolInvoked, self.called)
            try:
                yield
            finally:
                session.dispatcher.unsubscribe(ToolInvoked, self.called)

    @contextmanager
    def turn(self) -> Generator[list[ModelTurn]]:
        """A span around the requests for one turn; put the turn into the list."""
        turns: list[ModelTurn] = []
        with self._span("chat", str(self._facts.get("gen_ai.request.model", "")), {}, kind="CLIENT") as span:
            yield turns
            for turn in turns:
                span.set_attribute("gen_ai.usage.input_tokens", turn.usage.input_tokens)
                span.set_attribute("gen_ai.usage.output_tokens", turn.usage.output_tokens)
                reason = "length" if turn.cut_off else "tool_calls" if turn.calls else "stop"
                span.set_attribute("gen_ai.response.finish_reasons", [reason])

    @contextmanager
    def _span(self, operation: str, name: str, facts: dict[str, Any], kind: str = "INTERNAL") -> Generator[Span]:
        from opentelemetry.trace import SpanKind, StatusCode

        attributes = {"gen_ai.operation.name": operation, **self._facts, **facts}
        with self._tracer.start_as_current_span(
            f"{operation} {name}".rstrip(),
            kind=SpanKind[kind],
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except BaseException as error:
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(StatusCode.ERROR)  # without the error's words, which may repeat the model's
                raise

    def called(self, event: ToolInvoked) -> None:
        """A span for a call that has ended; it is made afterwards, with the times that were measured."""
        from opentelemetry.trace import StatusCode

        end = time.time_ns()
        span = self._tracer.start_span(
            f"execute_tool {event.name}",
            start_time=end - round(event.duration.total_seconds() * 1e9),
            attributes={
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": event.name,
                "gen_ai.tool.call.id": event.call_id,
                "gen_ai.tool.type": "function",
                "wink.call.rolled_back": bool(event.change) and event.change.rolled_back,
                "wink.call.changed_files": len(event.change.files) if event.change else 0,
            },
        )
        if not event.success:
            denied = any(not verdict.allowed for verdict in event.decisions)
            span.set_attribute("error.type", "denied" if denied else "failed")
            span.set_status(StatusCode.ERROR)
        span.end(end)


def trace_calls(session: Session) -> bool:
    """Tell OpenTelemetry of each call that is made in a session outside of runs; False where it is not installed.

    Asking twice for the same session changes nothing. A call costs nothing more where this was not asked for.
    """
    tracer = _tracer()
    if tracer is None:
        return False
    with _lock:
        if session not in _traced:
            made = _traced[session] = Tracing(tracer, None)
            session.dispatcher.subscribe(ToolInvoked, made.called)
    return True


def tracing(adapter: Any) -> Tracing | None:
    """What tells OpenTelemetry of a run of `adapter`; None where it is not installed."""
    tracer = _tracer()
    return None if tracer is None else Tracing(tracer, adapter)


@cache
def _tracer() -> Any:
    try:
        from opentelemetry.trace import get_tracer
    except ImportError:
        return None
    from wink import __version__

    return get_tracer("wink", __version__, schema_url="https://opentelemetry.io/schemas/1.37.0")
