"""Look at what waits for a person, and answer it: from the process that runs the calls, or from any other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from wink.errors import ApprovalChanged, UnknownApproval
from wink.runtime._approval_state import differences, facts_of, is_nested, noted_in
from wink.runtime._approval_step import canonical_json, fingerprint_of, request_of, state_now
from wink.runtime._approval_store import store_of
from wink.runtime._approvals import Answer, ApprovalRequest, approval_id, approval_number
from wink.session import ApprovalRow, ApprovalStore, Session

if TYPE_CHECKING:
    from wink.filesystem import Filesystem
    from wink.workspace import Workspace

_GONE: Final = {
    "used": "has been used by a call",
    "claimed": "was taken by a call of which nothing more is known",
    "replaced": "does not stand any more",
}


def pending_approvals(where: Workspace | Session) -> tuple[ApprovalRequest, ...]:
    """The requests that wait for an answer, oldest first: of all sessions of a workspace, or of one session."""
    if isinstance(where, Session):
        rows = store_of(where).rows(session=where.name, states=("pending",))
    else:
        rows = where.record.approvals.rows(states=("pending",))
    return tuple(request_of(row) for row in rows)


def request_to_answer(where: Workspace | Session, request_id: str) -> ApprovalRequest:
    """The request of this id, which waits or can be answered anew; raises `UnknownApproval`."""
    return request_of(_find(store_of(where) if isinstance(where, Session) else where.record.approvals, request_id))


def answer_approval(where: Workspace | Session, request_id: str, answer: Answer) -> ApprovalRequest:
    """Answer a request; the next call that it stands for uses the answer. Until then it can be answered anew.

    In a workspace, an approval is refused with `ApprovalChanged` when the files concerned are not as they were when it was
    asked: it is asked again under another id. Raises `UnknownApproval`, and `ParseError` for arguments that are no JSON
    object.
    """
    session = where if isinstance(where, Session) else None
    store = store_of(where) if isinstance(where, Session) else where.record.approvals
    row = _find(store, request_id)
    files: Filesystem | None = None
    if not isinstance(where, Session):
        session, files = where.session(row.session), where.filesystem
        if answer.approved and not is_nested(row.facts):
            _refuse_changed(store, row, session, files)
    assert session is not None
    keep_answer(store, row, answer, session, files)
    return request_of(row)


def keep_answer(
    store: ApprovalStore, row: ApprovalRow, answer: Answer, session: Session, files: Filesystem | None
) -> None:
    """Store an answer with the state of what it concerns; raises `UnknownApproval` where the request is gone."""
    edited = edited_facts = None
    if answer.approved and answer.arguments is not None:
        edited = edited_arguments(answer.arguments)
        edited = None if edited == row.arguments else edited
    if edited is not None and files is not None:
        edited_facts = facts_of(
            files,
            session,
            arguments=edited,
            effects=row.effects,
            position=store.position(),
            place=store.place(),
            noted=noted_in(row.facts),
            nested=is_nested(row.facts),
        )
    kept = store.answer(
        row, approved=answer.approved, note=answer.note.strip(), edited=edited, edited_facts=edited_facts
    )
    if not kept:
        _find(store, approval_id(row.number))
        raise UnknownApproval(approval_id(row.number), "was asked anew meanwhile", _known(store))


def edited_arguments(text: str) -> str:
    """Arguments that a person gave, as JSON in its one spelling; raises `ParseError` for what is no JSON object."""
    from wink.serde import parse

    parse(dict[str, object], text)
    return canonical_json(text)


def _refuse_changed(store: ApprovalStore, row: ApprovalRow, session: Session, files: Filesystem) -> None:
    now = state_now(row, session, files, store)
    if now == row.facts:
        return
    fingerprint = fingerprint_of(row.tool, row.arguments, row.policies, now)
    again = store.ask(replace(row, facts=now, fingerprint=fingerprint), (row.number,))
    raise ApprovalChanged(approval_id(row.number), differences(row.facts, now), request_of(again))


def _find(store: ApprovalStore, request_id: str) -> ApprovalRow:
    number = approval_number(request_id)
    row = None if number is None else store.find(number)
    if row is None:
        raise UnknownApproval(request_id, known=_known(store))
    if not row.is_live:
        instead = "" if row.instead is None else f"; it is asked again as {approval_id(row.instead)}"
        raise UnknownApproval(approval_id(row.number), _GONE[row.state] + instead, _known(store))
    return row


def _known(store: ApprovalStore) -> tuple[str, ...]:
    return tuple(approval_id(row.number) for row in store.rows(states=("pending",)))
