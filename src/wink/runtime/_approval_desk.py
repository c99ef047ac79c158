"""One executor's way to the people who answer for its calls."""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from wink.errors import (
    ApprovalRequired,
    CommitFailed,
    HandleRevoked,
    ParseError,
    UnknownApproval,
    WinkError,
    WorkspaceNeedsRecovery,
)
from wink.limits import Deadline, is_interruption, utc_now
from wink.runtime._approvals import Answer, ApprovalRequest, Approvals
from wink.runtime._outcomes import CallFailed

if TYPE_CHECKING:
    from wink.runtime._approval_step import Asked
    from wink.runtime._books import Books
    from wink.runtime._call import PolicyVerdict
    from wink.runtime._in_flight import InFlight
    from wink.runtime._waiting import Waiting
    from wink.session import Session

_log: Final = logging.getLogger("wink.runtime")
MOST_ASKED: Final = 5
"""So often a person is waited for on behalf of one call."""

_asked_here: ContextVar[list[Asked] | None] = ContextVar("wink_asked_here", default=None)


class Desk:
    """Finds answers for calls that policies leave to a person, and asks for them."""

    __slots__ = ("_approvals", "_name", "_run", "_session")

    def __init__(self, session: Session, approvals: Approvals | None, run: str, name: str) -> None:
        self._session, self._approvals, self._run, self._name = session, approvals, run, name

    def consider(self, call: InFlight, asking: Sequence[PolicyVerdict]) -> None:
        """See whether somebody has answered for a call that nobody denies; says in the call what has to happen next.

        Raises `CallFailed` for one that a person has denied.
        """
        from wink.runtime._approval_step import Asked, Consent, Denied, Inquiry, canonical, consider

        tool, transaction = call.tool, call.transaction
        assert tool is not None
        assert transaction is not None
        inquiry = Inquiry(
            session=self._session,
            run=self._run,
            call_id=call.call_id,
            tool=tool.name,
            effects=tool.effects,
            arguments=canonical(call.params),
            asking=tuple(asking),
            files=transaction.filesystem,
            root=call.root,
            is_nested=transaction.outer is not None,
        )
        try:
            found = consider(inquiry, call.edited)
        except WinkError as error:
            text = f"{tool.name} needs approval, and cannot be asked about now: nothing can be stored"
            raise CallFailed(text, "denied", str(error)) from error
        call.asked = call.consent = None
        if isinstance(found, Consent):
            call.consent = found
        elif isinstance(found, Denied):
            call.denied = found
            self._refuse(call)
        elif isinstance(found, Asked):
            call.asked = found
        else:
            # From step 1 with what the person wrote, which policies have not seen yet.
            call.edited = found
            call.request = replace(call.request, arguments=found.arguments)

    async def wait_for_person(self, call: InFlight, waiting: Waiting, deadline: Deadline | None) -> None:
        """Ask a person; returns when the call is to be made again, for which their answer is found.

        Raises `CallFailed` for a call that is denied or that nobody answers for now, and `ApprovalRequired`.
        """
        asked = call.asked
        if asked is None:
            return  # somebody has answered already, with other arguments
        call.asked_times += 1
        request = asked.request
        here = _asked_here.get()
        if here is not None and asked.is_new and call.asked_times == 1:
            here.append(asked)
        self._tell_requested(request)
        if self._approvals is None:
            raise CallFailed(needs(asked), "denied")
        if call.asked_times > MOST_ASKED:
            text = f"{request.tool} was not run: it was asked about {MOST_ASKED} times, and what it concerns keeps changing"
            raise CallFailed(text, "denied")
        answer = await self._answer(self._approvals, request, waiting, deadline)
        if answer is None:
            if getattr(self._approvals, "suspends", False) is True:
                raise ApprovalRequired(request)
            raise CallFailed(needs(asked), "denied")
        self._keep(call, asked, answer)

    async def _answer(
        self, approvals: Approvals, request: ApprovalRequest, waiting: Waiting, deadline: Deadline | None
    ) -> Answer | None:
        from wink.runtime._waiting import HandlerTimedOut

        timeout = None if deadline is None else max(0.0, deadline.remaining().total_seconds())
        try:
            answer: Any = await waiting.handler(partial(approvals.answer, request), is_async=False, timeout=timeout)
        except HandlerTimedOut:
            assert deadline is not None, "only a deadline limits the time"
            deadline.check()
            return None
        except BaseException as error:  # foreign code
            if is_interruption(error):
                raise
            _log.exception("tool %r: a person could not be asked for approval", request.tool)
            return None
        if answer is None or isinstance(answer, Answer):
            return answer
        _log.error("tool %r: %s is no Answer, and counts as none", request.tool, type(answer).__name__)
        return None

    def _keep(self, call: InFlight, asked: Asked, answer: Answer) -> None:
        from wink.runtime._approval_answers import keep_answer
        from wink.runtime._approval_step import Denied

        try:
            files = None if call.transaction is None or call.transaction.outer is not None else call.root
            keep_answer(asked.store, asked.row, answer, self._session, files)
        except ParseError as error:
            raise CallFailed(
                f"{asked.row.tool} was not run: a person's arguments are not valid: {error}", "denied"
            ) from error
        except UnknownApproval:
            return  # asked anew by another call, or answered and used: the next round will tell
        self._tell_answered(asked.request, answer)
        if not answer.approved:
            call.denied = Denied(asked.store, replace(asked.row, note=answer.note.strip()))
            self._refuse(call)

    def _refuse(self, call: InFlight) -> None:
        denied = call.denied
        assert denied is not None
        if not denied.store.is_durable:
            denied.store.use(denied.row.number)
        note = denied.row.note
        raise CallFailed(
            f"denied by a person: {note}" if note else f"{denied.row.tool} was denied by a person", "denied"
        )

    # -- around the call that has an approval

    def start(self, call: InFlight, books: Books) -> None:
        """Take the approval that the call was given; note that what acts on the outside world is about to begin."""
        tool = call.tool
        if call.consent is not None:
            self.take(call)
        if tool is None or tool.effects != "external":
            return
        start = getattr(self._session.recorder or getattr(call.root, "recorder", None), "start", None)
        if start is None or call.transaction is None:
            return
        outermost = call.transaction.outermost
        try:
            start(replace(books.entry(call, (), ()), run=outermost.run, call_id=outermost.call_id))
        except (CommitFailed, WorkspaceNeedsRecovery) as error:
            text = f"{tool.name} was not run: that it begins cannot be recorded"
            raise CallFailed(text, "refused", str(error)) from error

    def take(self, call: InFlight) -> None:
        """Take the approval for a call that is about to begin, and see to it that others of the session stay good.

        What a person has approved, and what waited beside it, was shown to them together: that one of them runs does not
        make the others something else. Raises `CallFailed` where another call has taken it.
        """
        from wink.runtime._approval_step import renew, standing

        consent, transaction, root = call.consent, call.transaction, call.root
        assert consent is not None
        assert transaction is not None
        if not consent.take():
            text = f"{consent.row.tool} was not run: its approval was used by another call; call it again"
            raise CallFailed(text, "denied")
        call.is_consent_taken = True
        if transaction.outer is not None:
            return
        session, store = self._session, consent.store
        others = standing(session, transaction.filesystem, store, without=consent.row.number)
        if others:
            # Before the turn is given back, which is the first of what ends a call that has one.
            at = 0 if call.tool is not None and call.tool.effects == "read" else 1
            call.ends.insert(at, lambda: renew(others, session, root, store))

    @contextmanager
    def together(self) -> Generator[list[Asked]]:
        """What is asked about by the calls of one turn stands for the files as that turn leaves them."""
        asked: list[Asked] = []
        token = _asked_here.set(asked)
        try:
            yield asked
        finally:
            _asked_here.reset(token)

    def settle(self, asked: Sequence[Asked], root: Any, outcomes: Sequence[object]) -> None:
        """The turn has ended, and nobody has been told yet what was asked about: let it stand for what is there now."""
        from wink.runtime._approval_step import renew, request_of

        for one in asked:
            row = one.store.find(one.row.number)
            if row is None or row.state != "pending":
                continue
            try:
                renew((row,), self._session, root, one.store)
            except (WinkError, OSError, HandleRevoked):
                continue  # inside another call; it will be asked again if something has changed
            now = one.store.find(row.number)
            for outcome in outcomes:
                if now is not None and isinstance(outcome, ApprovalRequired) and outcome.request.id == one.request.id:
                    outcome.request = request_of(now)

    # -- events

    def _tell_requested(self, request: ApprovalRequest) -> None:
        from wink.runtime._events import ApprovalRequested

        self._publish(ApprovalRequested(self._name, request, utc_now()))

    def _tell_answered(self, request: ApprovalRequest, answer: Answer) -> None:
        from wink.runtime._events import ApprovalAnswered

        self._publish(ApprovalAnswered(self._name, request, answer, utc_now()))

    def _publish(self, event: object) -> None:
        try:
            self._session.publish(event)
        except HandleRevoked:
            self._session.dispatcher.dispatch(event)


def needs(asked: Asked) -> str:
    """What the model is told of a call that nobody has answered for."""
    request = asked.request
    how = f"approve it with `wink approve {request.id}`, then call it again"
    if not asked.store.is_durable:
        how = "a person has to approve it before it is called again"
    return f"{request.tool} needs approval ({request.id}): {request.reason}; {how}"
