"""Ask the person at a client whether a call may run, in the way of the client's era of the protocol."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any, Final

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from wink.runtime import Answer, ApprovalRequest, Approvals

_log: Final = logging.getLogger("wink_mcp")

_LONG: Final = 4000
_FORM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "approve": {"type": "boolean", "title": "Let it run", "description": "Without this it is denied."},
        "note": {"type": "string", "title": "Note", "description": "What the model is told when it is denied."},
    },
    "required": ["approve"],
}


def person_at(ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams) -> Approvals | None:
    """Whom to ask about a call of this request; `None` where the client cannot ask anybody."""
    capabilities = ctx.session.client_capabilities
    elicitation = None if capabilities is None else capabilities.elicitation
    if elicitation is None or (elicitation.form is None and elicitation.url is not None):
        return None
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return _AskedBefore(params.input_responses or {}, params.request_state)
    if not ctx.session.can_send_request:
        return None
    return _AsksNow(ctx)


def asked_for(request: ApprovalRequest) -> types.InputRequiredResult:
    """The interim result that has a client of the stateless era ask, and send the request again with the answer."""
    question = types.ElicitRequest(params=_question(request))
    return types.InputRequiredResult(input_requests={request.id: question}, request_state=_state(request))


class _AsksNow:
    """Asks while the call waits; a client that cannot be asked, or says nothing usable, leaves it to the shell."""

    suspends = False

    def __init__(self, ctx: ServerRequestContext[Any, Any]) -> None:
        self._ctx = ctx
        self._loop = asyncio.get_running_loop()

    async def answer(self, request: ApprovalRequest) -> Answer | None:
        """Ask on the server's event loop; this runs on a loop of its own."""
        asking = asyncio.run_coroutine_threadsafe(self._ask(request), self._loop)
        return await asyncio.wrap_future(asking)

    async def _ask(self, request: ApprovalRequest) -> Answer | None:
        question = _question(request)
        try:
            given = await self._ctx.session.elicit_form(
                question.message, question.requested_schema, self._ctx.request_id
            )
        except ValueError:  # of the wrong shape: pydantic's errors are such
            return Answer(False, "the answer could not be understood")
        except Exception as error:  # foreign code: the transport, and whatever the client makes of it
            _log.warning("nobody could be asked about a call of %s: %s", request.tool, error)
            return None
        return _answer(given)


class _AskedBefore:
    """Finds the answer in the request, or has it asked for."""

    def __init__(self, responses: Mapping[str, object], state: str | None) -> None:
        self._responses, self._state = responses, state
        self.suspends = True

    async def answer(self, request: ApprovalRequest) -> Answer | None:
        """The answer to just this request: what it concerns must not have changed since it was asked."""
        given = self._responses.get(request.id)
        if given is None or self._state != _state(request):
            return None
        answer = _answer(given)
        self.suspends = answer is not None  # nobody is there: asking once more would not help
        return answer


def _answer(given: object) -> Answer | None:
    """Only a clear yes is one.

    A question that was dismissed has no answer, and is left to the shell: clients without a terminal dismiss all of them.
    """
    if not isinstance(given, types.ElicitResult):
        return Answer(False, "the answer could not be understood")
    if given.action == "cancel":
        return None
    content = given.content or {}
    note = content.get("note")
    if given.action == "accept" and content.get("approve") is True:
        return Answer(True)
    return Answer(False, note if given.action == "accept" and isinstance(note, str) else "")


def _question(request: ApprovalRequest) -> types.ElicitRequestFormParams:
    arguments = request.arguments
    if len(arguments) > _LONG:
        arguments = f"{arguments[:_LONG]}… ({len(arguments)} characters; `wink approvals` shows them all)"
    message = f"{request.tool} needs approval ({request.id}): {request.reason}\n{arguments}"
    return types.ElicitRequestFormParams(message=message, requested_schema=_FORM)


def _state(request: ApprovalRequest) -> str:
    return json.dumps([request.id, request.fingerprint])
