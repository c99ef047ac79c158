"""Say what became of a call: the entry for the record, the event for subscribers, the reply for the model."""

from __future__ import annotations

import logging
import time
from datetime import timedelta
from typing import Any, Final, cast

from wink.errors import HandleRevoked
from wink.filesystem import FileChange
from wink.limits import is_interruption
from wink.runtime._call import ToolReply
from wink.runtime._events import ToolInvoked
from wink.runtime._in_flight import InFlight
from wink.runtime._results import json_text
from wink.session import Session, SliceDelta
from wink.tools import ToolResult
from wink.transactions import CommitEntry, Recorder

_log: Final = logging.getLogger("wink.runtime")


class Books:
    """Accounts for the calls of one executor; texts of more than `limit` characters are kept and sent in part."""

    __slots__ = ("_limit", "_name", "_rendered", "_run", "_session")

    def __init__(self, session: Session, name: str, run: str, limit: int, rendered: Any) -> None:
        self._session, self._name, self._run, self._limit, self._rendered = session, name, run, limit, rendered

    def bounded(self, call: InFlight, text: str) -> str:
        """What is sent of a text, which is kept where it is too long."""
        if len(text) <= self._limit:
            return text
        from wink.runtime._spill import read_result_tool, shortened

        if call.tool is read_result_tool():
            return text  # a page has a limit of its own
        return shortened(self._session, call.request.name, call.call_id, text, self._limit)

    def record_attempt(self, call: InFlight) -> None:
        """Keep a call that did not commit; the record's trouble changes nothing about it."""
        try:
            if call.transaction is not None:
                call.transaction.record_attempt(self.entry(call, call.transaction.logged(), call.change.files))
            elif self._session.recorder is not None:
                cast("Recorder", self._session.recorder).attempt(self.entry(call, (), ()))
        except Exception:  # the call has its outcome; the record's trouble must not change it
            _log.exception("tool %r: could not record the attempt", call.request.name)

    def publish(self, call: InFlight) -> None:
        """Tell subscribers that the call has ended; of one that waits for approval there is nothing to tell yet."""
        if call.is_suspended:
            return
        result = call.result if call.result is not None else ToolResult[Any].error("")
        event = ToolInvoked(
            prompt_name=self._name,
            name=call.request.name,
            params=call.params,
            result=result,
            rendered_output=call.text,
            success=call.outcome == "committed",
            call_id=call.call_id,
            started_at=call.started_at,
            duration=timedelta(seconds=time.perf_counter() - call.started),
            decisions=call.verdicts,
            change=call.change,
            error=call.error,
            outcome=call.outcome,
        )
        try:
            try:
                self._session.publish(event, kept=event.for_log())
            except HandleRevoked:
                # A thread that an ended call left behind: the session's log is closed to it, the subscribers are not.
                self._session.dispatcher.dispatch(event)
        except BaseException as error:  # foreign code: a subscriber; the call has its outcome
            if isinstance(error, Exception) or is_interruption(error):
                raise
            _log.exception("a subscriber failed on the end of a call of %r", call.request.name)

    def reply(self, call: InFlight) -> ToolReply:
        """What the model is sent."""
        assert call.result is not None, "a call that ended without an exception has one"
        result = call.result
        return ToolReply(call.call_id, call.request.name, call.text, call.outcome == "committed", result)

    def entry(self, call: InFlight, deltas: tuple[SliceDelta, ...], changes: tuple[FileChange, ...]) -> CommitEntry:
        """What the record keeps."""
        arguments, approval = call.request.arguments, 0
        is_outermost = call.transaction is None or call.transaction.outer is None
        if call.consent is not None and call.is_consent_taken:
            approval = call.consent.number(committed=call.outcome == "committed")
        elif call.denied is not None:
            approval = call.denied.number
        return CommitEntry(
            transaction_id=call.call_id if call.transaction is None else call.transaction.id,
            session=self._session.name,
            call_id=call.call_id,
            tool=call.request.name,
            prompt=self._name,
            arguments=arguments if isinstance(arguments, str) else json_text(arguments),
            outcome=call.outcome,
            rendered=call.text,
            started_at=call.started_at,
            duration=timedelta(seconds=time.perf_counter() - call.started),
            decisions=call.verdicts,
            deltas=deltas,
            changes=changes,
            effects="workspace" if call.tool is None else call.tool.effects,
            run=self._run if is_outermost else "",
            approval=approval,
            error=call.error,
            plugin="" if call.tool is None else self._rendered.origins.get(call.tool.name, ""),
        )
