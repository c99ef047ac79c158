"""Run a call's handler, and do all of its success that can still fail."""

from __future__ import annotations

import functools
from typing import Any

from wink.errors import SerdeError, WorkspaceBusy
from wink.runtime._beginning import Surroundings
from wink.runtime._call_recorder import CallRecorder
from wink.runtime._outcomes import CallFailed, failed_after, fails_with_words, told
from wink.runtime._policing import tell
from wink.runtime._results import check_result, new_values, rendered
from wink.runtime._stages import Approved, Ended, Judged
from wink.runtime._waiting import HandlerTimedOut, Waiting
from wink.tools import ToolResult


async def run_handler(call: Judged, around: Surroundings, waiting: Waiting) -> object:
    """What the handler returns, whatever that is."""
    tool, deadline = call.parsed.tool, call.context.deadline
    timeout = tool.timeout
    if timeout is not None and deadline is not None:
        timeout = min(timeout, max(0.0, deadline.remaining().total_seconds()))
    assert tool.handler is not None, "a tool without a handler is refused when it is looked up"
    handler = functools.partial(tool.handler, call.parsed.params, context=call.context)
    try:
        return await waiting.handler(handler, is_async=tool.is_async, timeout=timeout, apart=tool.effects == "process")
    except HandlerTimedOut:
        if deadline is not None:
            deadline.check()
        call.transaction.revoke()
        raise CallFailed(f"{tool.name} timed out after {timeout:g} s; nothing was changed") from None
    except WorkspaceBusy as error:
        raise around.no_turn(tool, error, "was taken back", "rolled back") from error


async def settle(
    call: Judged, returned: object, around: Surroundings, recorder: CallRecorder, waiting: Waiting
) -> Ended:
    """Everything of a success that can still fail: the result's type, its text, reducers and policies."""
    tool, consent = call.parsed.tool, call.consent if isinstance(call, Approved) else None
    problem = check_result(tool, returned)
    if problem is not None:
        raise CallFailed(problem)
    result: ToolResult[Any] = returned  # pyright: ignore[reportAssignmentType]  # as `check_result` has said
    step = "its result could not be rendered"
    preface, approval = "", 0
    try:
        if consent is not None:
            preface, approval = consent.preface, consent.number(committed=True)
        text = recorder.bounded(call.parsed.asked, preface + rendered(tool, result))
        if not result.success:
            raise CallFailed(text, result=result)
        step = "the session could not take its result"
        for value in new_values(result):
            around.session.dispatch(value)
        policies = around.rendered.policies_for_tool(tool.name)
        await tell(policies, tool, call.parsed.params, result, call.context, waiting)
        step = "what it read could not be noted"
        call.transaction.note_reads()  # last: a policy may have taken a look at files itself
    except CallFailed:
        raise
    except SerdeError as error:
        raise CallFailed(
            f"{tool.name} was taken back: {step}: {error}; nothing was changed", detail=told(error)
        ) from error
    except BaseException as error:  # foreign code: render(), reducers
        if fails_with_words(error):
            raise
        raise failed_after(tool.name, step, error) from error
    return Ended(call, "committed", text, result, approval)
