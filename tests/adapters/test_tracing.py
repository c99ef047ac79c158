"""What OpenTelemetry is told of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from tests.adapters.test_loop import call, fail, note, prompt_of

from wink.adapters import ModelTurn, PromptEvaluationError, ScriptedAdapter, _tracing, trace_calls
from wink.limits import TokenUsage
from wink.runtime import ToolExecutor
from wink.session import Session


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """What a program that exports spans would see."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(_tracing, "_tracer", lambda: provider.get_tracer("wink"))
    yield exporter
    provider.shutdown()


def facts(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_a_run_is_a_span_with_its_turns_and_calls(spans: InMemorySpanExporter) -> None:
    """By the names of the conventions; nothing that was said is among the attributes."""
    turns = [
        ModelTurn("secret", (call("note"), call("fail")), TokenUsage(10, 2)),
        ModelTurn("Done.", (), TokenUsage(20, 3)),
    ]
    session = Session()
    ScriptedAdapter(turns).evaluate(prompt_of(note, fail), session=session)

    ended = {span.name: span for span in spans.get_finished_spans()}
    run = ended["invoke_agent looping"]
    assert [span.name for span in spans.get_finished_spans()] == [
        "chat", "execute_tool note", "execute_tool fail", "chat", "invoke_agent looping",
    ]  # fmt: skip
    assert all(span.parent == run.context for span in spans.get_finished_spans() if span is not run)
    assert facts(run)["gen_ai.conversation.id"] == str(session.session_id)
    first, last = [facts(span) for span in spans.get_finished_spans() if span.name == "chat"]
    assert (first["gen_ai.usage.input_tokens"], first["gen_ai.response.finish_reasons"]) == (10, ("tool_calls",))
    assert (last["gen_ai.usage.output_tokens"], last["gen_ai.response.finish_reasons"]) == (3, ("stop",))
    failed = ended["execute_tool fail"]
    assert failed.status.status_code is StatusCode.ERROR
    assert (facts(failed)["error.type"], facts(failed)["wink.call.rolled_back"]) == ("failed", True)
    assert facts(ended["execute_tool note"])["wink.call.changed_files"] == 1
    assert "secret" not in str([facts(span) for span in spans.get_finished_spans()])


def test_a_run_that_fails_is_a_span_that_failed(spans: InMemorySpanExporter) -> None:
    """With the error's type, and without what it says."""
    with pytest.raises(PromptEvaluationError):
        ScriptedAdapter([call("note")] * 3).evaluate(prompt_of(note), session=Session(), max_turns=1)
    run = spans.get_finished_spans()[-1]
    assert facts(run)["error.type"] == "PromptEvaluationError"
    assert run.events == ()


def test_nothing_is_told_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing is missing."""
    monkeypatch.setattr(_tracing, "_tracer", lambda: None)
    assert ScriptedAdapter([call("note"), "Done."]).evaluate(prompt_of(note), session=Session()).text == "Done."


def test_calls_outside_of_runs_are_spans_where_that_is_asked_for(spans: InMemorySpanExporter) -> None:
    """What a client of `wink serve` calls belongs to no run of ours; asking twice does not count twice."""
    session = Session()
    prompt = prompt_of(note, fail)
    executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
    executor.execute(call("note"))
    assert spans.get_finished_spans() == ()

    assert trace_calls(session)
    assert trace_calls(session)
    executor.execute(call("note"))

    (span,) = spans.get_finished_spans()
    assert (span.name, span.parent, facts(span)["gen_ai.tool.name"]) == ("execute_tool note", None, "note")
