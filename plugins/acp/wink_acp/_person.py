"""Ask the person at the editor whether a call may run, in the protocol's own way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, Final

from wink.errors import WinkError
from wink.runtime import Answer, ApprovalRequest
from wink_acp._messages import Message, Refused, mapping, notification
from wink_acp._workspaces import Conversation

ASK: Final = "session/request_permission"
_KINDS: Final = {"read_file": "read", "write_file": "edit", "run_command": "execute"}
_OPTIONS: Final = (
    {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
    {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
)


class Person:
    """Asks while the call waits; an editor that cannot be asked leaves it to the shell."""

    suspends = False

    def __init__(
        self,
        conversation: Conversation,
        ask: Callable[[str, Message], Awaitable[Message]],
        send: Callable[[bytes], Awaitable[object]],
    ) -> None:
        self._conversation, self._ask, self._send = conversation, ask, send
        self._loop = asyncio.get_running_loop()

    async def answer(self, request: ApprovalRequest) -> Answer | None:
        """Ask on the loop of the protocol; this runs on one of its own."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._asked(request), self._loop))

    async def _asked(self, request: ApprovalRequest) -> Answer | None:
        """Show the call, ask about it, and say what became of it; only a clear yes is one."""
        identity, session = f"wink-{request.id}", self._conversation.id
        call = self._call(request, identity)
        await self._send(_update(session, {"sessionUpdate": "tool_call", **call}))
        params = {"sessionId": session, "toolCall": call, "options": _OPTIONS}
        try:
            outcome = mapping((await self._ask(ASK, params)).get("outcome"))
        except Refused:
            return None
        allowed = outcome.get("outcome") == "selected" and outcome.get("optionId") == "allow"
        status = "completed" if allowed else "failed"
        await self._send(
            _update(session, {"sessionUpdate": "tool_call_update", "toolCallId": identity, "status": status})
        )
        return Answer(allowed, "" if outcome.get("outcome") == "selected" else "the prompt was cancelled")

    def _call(self, request: ApprovalRequest, identity: str) -> Message:
        arguments = mapping(json.loads(request.arguments))
        path, command = arguments.get("file_path"), arguments.get("command")
        found: Message = {
            "toolCallId": identity,
            "title": request.reason if command is None else f"{command}: {request.reason}",
            "kind": _KINDS.get(request.tool, "other"),
            "status": "pending",
            "rawInput": arguments,
        }
        if isinstance(path, str):
            whole = f"{self._conversation.opened.root}/{path}"
            found["locations"] = [{"path": whole}]
            if request.tool == "write_file":
                found["content"] = [self._difference(whole, path, arguments.get("content"))]
        return found

    def _difference(self, whole: str, path: str, content: Any) -> Message:
        try:
            before: str | None = self._conversation.opened.workspace.filesystem.read(path).content
        except (OSError, WinkError):
            before = None
        return {"type": "diff", "path": whole, "oldText": before, "newText": content}


def _update(session: str, update: Message) -> bytes:
    return notification("session/update", {"sessionId": session, "update": update})
