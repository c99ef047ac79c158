"""One executor's way to the people who answer for its calls."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from wink.errors import ApprovalRequired, HandleRevoked, ParseError, UnknownApproval, WinkError
from wink.limits import Deadline, is_interruption, utc_now
from wink.runtime._approvals import Answer, ApprovalRequest, Approvals
from wink.runtime._outcomes import CallFailed, logger

if TYPE_CHECKING:
    from wink.runtime._approval_step import Asked, Consent, Denied
    from wink.runtime._call import PolicyVerdict
    from wink.runtime._stages import Approved, Judged, Requested
    from wink.runtime._waiting import Waiting
    from wink.session import Session

MOST_ASKED: Final = 5
"""So often a person is waited for on behalf of one call."""

_asked_here: ContextVar[list[Asked] | None] = ContextVar("wink_asked_here", default=None)


class ApprovalFlow:
    """Finds answers for calls that policies leave to a person, and asks for them."""

    __slots__ = ("_approvals", "_name", "_run", "_session")

    def __init__(self, session: Session, approvals: Approvals | None, run: str, name: str) -> None:
        self._session, self._approvals, self._run, self._name = session, approvals, run, name

    async def resolve(
        self,
        call: Judged,
        asking: Sequence[PolicyVerdict],
        waiting: Waiting,
        deadline: Deadline | None,
        give_way: Callable[[], None],
    ) -> Consent | Requested:
        """An approval that stands for a call which nobody denies, or what is to be requested now that somebody has answered.

        `give_way` takes back what the call has begun, before a person is waited for. Raises `CallFailed` for a call that is
        denied or that nobody answers for now, and `ApprovalRequired`.
        """
        from wink.runtime._approval_step import Asked, Consent, Denied, Inquiry, canonical, consider

        parsed, transaction = call.parsed, call.transaction
        asked, tool = parsed.asked, parsed.tool
        inquiry = Inquiry(
            session=self._session,
            run=self._run,
            call_id=asked.call_id,
            tool=tool.name,
            effects=tool.effects,
            arguments=canonical(parsed.params),
            asking=tuple(asking),
            files=transaction.filesystem,
            root=parsed.root,
            is_nested=transaction.outer is not None,
        )
        try:
            found = consider(inquiry, asked.edited)
        except WinkError as error:
            text = f"{tool.name} needs approval, and cannot be asked about now: nothing can be stored"
            raise CallFailed(text, "denied", str(error)) from error
        if isinstance(found, Consent):
            return found
        if isinstance(found, Denied):
            raise _denial(found)
        give_way()
        if isinstance(found, Asked):
            await self._wait_for_person(call, found, waiting, deadline)
            return asked.again(None, call.verdicts)
        return asked.again(found, call.verdicts)  # with what the person wrote, which policies have not seen yet

    async def _wait_for_person(self, call: Judged, asked: Asked, waiting: Waiting, deadline: Deadline | None) -> None:
        """Returns when the call is to be made again, for which their answer is found."""
        asked_times, request = call.parsed.asked.asked_times + 1, asked.request
        here = _asked_here.get()
        if here is not None and asked.is_new and asked_times == 1:
            here.append(asked)
        self._tell_requested(request)
        if self._approvals is None:
            raise CallFailed(needs(asked), "denied")
        if asked_times > MOST_ASKED:
            text = f"{request.tool} was not run: it was asked about {MOST_ASKED} times, and what it concerns keeps changing"
            raise CallFailed(text, "denied")
        answer = await self._answer(self._approvals, request, waiting, deadline)
        if answer is None:
            # An answerer that was written before runs could be suspended does not say.
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
            logger().exception("tool %r: a person could not be asked for approval", request.tool)
            return None
        if answer is None or isinstance(answer, Answer):
            return answer
        logger().error("tool %r: %s is no Answer, and counts as none", request.tool, type(answer).__name__)
        return None

    def _keep(self, call: Judged, asked: Asked, answer: Answer) -> None:
        from wink.runtime._approval_answers import keep_answer
        from wink.runtime._approval_step import Denied

        try:
            files = None if call.transaction.outer is not None else call.parsed.root
            keep_answer(asked.store, asked.row, answer, self._session, files)
        except ParseError as error:
            raise CallFailed(
                f"{asked.row.tool} was not run: a person's arguments are not valid: {error}", "denied"
            ) from error
        except UnknownApproval:
            return  # asked anew by another call, or answered and used: the next round will tell
        self._tell_answered(asked.request, answer)
        if not answer.approved:
            raise _denial(Denied(asked.store, replace(asked.row, note=answer.note.strip())))

    # -- around the call that has an approval

    def take(self, consent: Consent) -> None:
        """Take the approval for a call that is about to begin; raises `CallFailed` where another call has taken it."""
        if not consent.take():
            text = f"{consent.row.tool} was not run: its approval was used by another call; call it again"
            raise CallFailed(text, "denied")

    def keep_others(self, call: Approved, ends: list[Callable[[], object]]) -> None:
        """See to it that other approvals of the session stay good while this one's call changes things.

        What a person has approved, and what waited beside it, was shown to them together: that one of them runs does not
        make the others something else.
        """
        from wink.runtime._approval_step import renew, standing

        if call.transaction.outer is not None:
            return
        session, store, root = self._session, call.consent.store, call.parsed.root
        others = standing(session, call.transaction.filesystem, store, without=call.consent.row.number)
        if others:
            # Before the turn is given back, which is the first of what ends a call that has one.
            ends.insert(0 if call.parsed.tool.effects == "read" else 1, lambda: renew(others, session, root, store))

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


def _denial(denied: Denied) -> CallFailed:
    """What ends a call that a person has denied."""
    if not denied.store.is_durable:
        denied.store.use(denied.row.number)
    note = denied.row.note
    text = f"denied by a person: {note}" if note else f"{denied.row.tool} was denied by a person"
    return CallFailed(text, "denied", approval=denied.number)


def needs(asked: Asked) -> str:
    """What the model is told of a call that nobody has answered for."""
    request = asked.request
    how = f"approve it with `wink approve {request.id}`, then call it again"
    if not asked.store.is_durable:
        how = "a person has to approve it before it is called again"
    return f"{request.tool} needs approval ({request.id}): {request.reason}; {how}"
