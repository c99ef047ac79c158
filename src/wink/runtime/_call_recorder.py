"""Say what became of a call: the entry for the record and the event for subscribers."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from wink.errors import ApprovalRequired, CommitFailed, HandleRevoked, WorkspaceNeedsRecovery
from wink.filesystem import FileChange
from wink.limits import is_interruption
from wink.runtime._events import ToolInvoked
from wink.runtime._outcomes import CallFailed, logger
from wink.runtime._results import json_text
from wink.runtime._stages import Approved, Ended, Judged, Requested
from wink.session import Session, SliceDelta
from wink.transactions import Change, CommitEntry, recorder_of

if TYPE_CHECKING:
    from wink.prompt import RenderedPrompt

_NOTHING: Final = Change()


class CallRecorder:
    """Accounts for the calls of one executor; texts of more than `limit` characters are kept and sent in part."""

    __slots__ = ("_limit", "_name", "_rendered", "_run", "_session")

    def __init__(self, session: Session, rendered: RenderedPrompt[Any], run: str, limit: int) -> None:
        self._session, self._rendered, self._run, self._limit = session, rendered, run, limit
        self._name = rendered.prompt_name

    def bounded(self, asked: Requested, text: str) -> str:
        """What is sent of a text, which is kept where it is too long."""
        if len(text) <= self._limit:
            return text
        from wink.runtime._spill import read_result_tool, shortened

        if asked.tool is read_result_tool():
            return text  # a page has a limit of its own
        return shortened(self._session, asked.request.name, asked.call_id, text, self._limit)

    def start(self, call: Judged) -> None:
        """Note that a call which acts on the outside world is about to begin."""
        recorder = recorder_of(self._session, call.parsed.root)
        if recorder is None:
            return
        approval = call.consent.number(committed=False) if isinstance(call, Approved) else 0
        begun = Ended(call, "rolled back", "", approval=approval)
        outermost = call.transaction.outermost
        try:
            recorder.start(replace(self.entry(begun, (), ()), run=outermost.run, call_id=outermost.call_id))
        except (CommitFailed, WorkspaceNeedsRecovery) as error:
            text = f"{call.parsed.tool.name} was not run: that it begins cannot be recorded"
            raise CallFailed(text, "refused", str(error)) from error

    def record_attempt(self, call: Ended) -> None:
        """Keep a call that did not commit; the record's trouble changes nothing about it."""
        transaction = call.transaction
        try:
            if transaction is not None:
                entry = self.entry(call, transaction.logged(), transaction.change.files)
                transaction.record_attempt(entry)
            elif self._session.recorder is not None:
                self._session.recorder.attempt(self.entry(call, (), ()))
        except Exception:  # the call has its outcome; the record's trouble must not change it
            logger().exception("tool %r: could not record the attempt", call.asked.request.name)

    def publish(self, call: Ended) -> None:
        """Tell subscribers that the call has ended; of one that waits for approval there is nothing to tell yet."""
        if isinstance(call.raising, ApprovalRequired):
            return
        asked = call.asked
        event = ToolInvoked(
            prompt_name=self._name,
            name=asked.request.name,
            params=call.params,
            result=call.result,
            rendered_output=call.text,
            success=call.outcome == "committed",
            call_id=asked.call_id,
            started_at=asked.started_at,
            duration=timedelta(seconds=time.perf_counter() - asked.started),
            decisions=call.verdicts,
            change=_NOTHING if call.transaction is None else call.transaction.change,
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
            logger().exception("a subscriber failed on the end of a call of %r", asked.request.name)

    def entry(self, call: Ended, deltas: tuple[SliceDelta, ...], changes: tuple[FileChange, ...]) -> CommitEntry:
        """What the record keeps."""
        asked, tool, transaction = call.asked, call.asked.tool, call.transaction
        arguments = asked.request.arguments
        return CommitEntry(
            transaction_id=asked.call_id if transaction is None else transaction.id,
            session=self._session.name,
            call_id=asked.call_id,
            tool=asked.request.name,
            prompt=self._name,
            arguments=arguments if isinstance(arguments, str) else json_text(arguments),
            outcome=call.outcome,
            rendered=call.text,
            started_at=asked.started_at,
            duration=timedelta(seconds=time.perf_counter() - asked.started),
            decisions=call.verdicts,
            deltas=deltas,
            changes=changes,
            effects="workspace" if tool is None else tool.effects,
            run=self._run if transaction is None or transaction.outer is None else "",
            approval=call.approval,
            error=call.error,
            plugin="" if tool is None else self._rendered.origins.get(tool.name, ""),
        )
