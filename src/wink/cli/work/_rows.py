"""Put what happens in a run into JSON for machines: one object for each event, with the key `event` to tell them apart."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Final

from wink.adapters import ModelDelta, ModelReplied, ModelTold, RequestFailed, RequestSent
from wink.cli._calls import json_of_change
from wink.cli._masked import masked_value
from wink.cli.work._approval_view import json_of as request_row
from wink.cli.work._story import Began, Ended, TestsRan
from wink.cli.work._view import ending, milliseconds
from wink.filesystem import FileChange, path_in_json
from wink.runtime import ApprovalAnswered, ApprovalRequested, PromptRendered, RenderedTools, ToolInvoked


def json_of(event: object) -> str | None:
    """One line of JSON for an event; None for events that machines are not told of.

    It is plain ASCII, so that no encoding of standard output and no lone surrogate can get in its way.
    """
    row_of = _ROWS.get(type(event))
    return None if row_of is None else json.dumps(masked_value(row_of(event)), default=str)


def _began(event: Began) -> dict[str, Any]:
    return {"event": "begin", "directory": event.directory, "task": event.task}


def _prompt(event: PromptRendered) -> dict[str, Any]:
    return {"event": "prompt", "prompt": event.prompt_name, "text": event.text, "at": event.at.isoformat()}


def _tools(event: RenderedTools) -> dict[str, Any]:
    return {"event": "tools", "prompt": event.prompt_name, "names": list(event.names)}


def _model(event: ModelReplied) -> dict[str, Any]:
    calls = [{"id": call.call_id, "tool": call.name, "arguments": call.arguments} for call in event.turn.calls]
    usage = event.turn.usage
    return {
        "event": "model",
        "text": event.turn.text,
        "calls": calls,
        "tokens": {"input": usage.input_tokens, "output": usage.output_tokens, "cached": usage.cached_tokens},
        "at": event.at.isoformat(),
    }


def _told(event: ModelTold) -> dict[str, Any]:
    return {"event": "note", "prompt": event.prompt_name, "text": event.note, "at": event.at.isoformat()}


def _request(event: RequestSent) -> dict[str, Any]:
    return {"event": "request", "model": event.model, "attempt": event.attempt, "at": event.at.isoformat()}


def _request_failed(event: RequestFailed) -> dict[str, Any]:
    return {
        "event": "request-failed",
        "model": event.model,
        "attempt": event.attempt,
        "problem": event.problem,
        "retry_in": event.retry_in,
        "at": event.at.isoformat(),
    }


def _delta(event: ModelDelta) -> dict[str, Any]:
    return {"event": "delta", "kind": event.kind, "text": event.text, "attempt": event.attempt}


def _call(event: ToolInvoked) -> dict[str, Any]:
    return {
        "event": "call",
        "id": event.call_id,
        "tool": event.name,
        "success": event.success,
        "outcome": ending(event)[0],
        "reply": event.rendered_output,
        "error": event.error,
        "decisions": [verdict._asdict() for verdict in event.decisions],
        "changes": _changes(event.change.files),
        "rolled_back": bool(event.change) and event.change.rolled_back,
        "started_at": event.started_at.isoformat(),
        "milliseconds": round(milliseconds(event), 3),
    }


def _requested(event: ApprovalRequested) -> dict[str, Any]:
    return {"event": "approval", **request_row(event.request)}


def _answered(event: ApprovalAnswered) -> dict[str, Any]:
    answer = event.answer
    return {
        "event": "answer",
        "id": event.request.id,
        "approved": answer.approved,
        "note": answer.note,
        "arguments": None if answer.arguments is None else json.loads(answer.arguments),
        "at": event.at.isoformat(),
    }


def _tests(event: TestsRan) -> dict[str, Any]:
    return {"event": "tests", "passed": event.passed, "outcome": event.outcome, "failures": list(event.failures)}


def _ended(event: Ended) -> dict[str, Any]:
    return {
        "event": "end",
        "success": event.success,
        "problem": event.problem,
        "text": event.text,
        "changed": [path_in_json(change.path) for change in event.changes],
        "changes": _changes(event.changes),
        **({} if event.repository is None else {"git": event.repository}),
    }


def _changes(changes: Iterable[FileChange]) -> list[dict[str, object]]:
    return [json_of_change(change, diff=change.diff()) for change in changes]


_ROWS: Final[dict[type, Callable[[Any], dict[str, Any]]]] = {
    Began: _began,
    ApprovalRequested: _requested,
    ApprovalAnswered: _answered,
    PromptRendered: _prompt,
    RenderedTools: _tools,
    ModelReplied: _model,
    ModelTold: _told,
    RequestSent: _request,
    RequestFailed: _request_failed,
    ModelDelta: _delta,
    ToolInvoked: _call,
    TestsRan: _tests,
    Ended: _ended,
}
