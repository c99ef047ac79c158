"""Decide what becomes of a call that policies leave to a person: it runs with an answer that stands, or is asked about.

An answer stands for a session, a tool, its arguments, the policies that ask with their reasons, and the state of the files
concerned (see `_approval_state`). Where any of it differs, the request is replaced by a new one. A denial of the very call
that was asked about stands whatever has changed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from wink.dataclass import dataclass
from wink.filesystem import Filesystem
from wink.runtime._approval_state import facts_of, is_nested, noted_in
from wink.runtime._approval_store import store_of
from wink.runtime._approvals import ApprovalRequest, approval_id
from wink.runtime._call import PolicyVerdict
from wink.session import ApprovalRow, ApprovalStore, Session

FIRM: Final = ("process", "external")
"""The effects that leave traces before the call commits: such a call takes its approval for good before it begins."""


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A call that nobody denies, with all that an answer to it is bound to."""

    session: Session
    run: str
    call_id: str
    tool: str
    effects: str
    arguments: str
    asking: tuple[PolicyVerdict, ...]
    files: Filesystem | None
    root: Filesystem | None
    is_nested: bool

    @property
    def policies(self) -> str:
        """The policies that ask, with their reasons, as JSON."""
        return policies_text(self.asking)

    def facts(self, store: ApprovalStore, noted: Sequence[str] | None = None) -> str:
        """The state of the files concerned."""
        return facts_of(
            self.files,
            self.session,
            arguments=self.arguments,
            effects=self.effects,
            position=store.position(),
            place=store.place(),
            noted=noted,
            nested=self.is_nested,
        )


@dataclass(frozen=True, slots=True)
class Consent:
    """An approval that a call may use."""

    store: ApprovalStore
    row: ApprovalRow
    is_edited: bool = False

    @property
    def is_firm(self) -> bool:
        """Whether it is taken before the call begins, and not given back."""
        return self.row.effects in FIRM

    @property
    def preface(self) -> str:
        """What the model has to be told of it before the result."""
        note = f": {self.row.note}" if self.row.note else ""
        if self.is_edited:
            return f"a person changed the arguments to {self.row.edited or self.row.arguments}{note}\n"
        return f"approved by a person{note}\n" if note else ""

    def covers(self, asking: Sequence[PolicyVerdict]) -> bool:
        """Whether it is an answer to these verdicts."""
        return self.row.policies == policies_text(asking)

    def take(self) -> bool:
        """Take it for the call that is about to begin; False when another call has it."""
        return self.store.claim(self.row.number) if self.is_firm or not self.store.is_durable else True

    def number(self, *, committed: bool) -> int:
        """What the record is told of it, so that storing the call uses it up."""
        return self.row.number if self.store.is_durable and (committed or self.is_firm) else 0

    def end(self, *, committed: bool) -> None:
        """The call has ended."""
        if committed or self.is_firm:
            self.store.use(self.row.number)
        else:
            self.store.give_back(self.row.number)


@dataclass(frozen=True, slots=True)
class Edited:
    """An approval with other arguments: the call is to be made again with those, for what the person agreed to."""

    row: ApprovalRow

    @property
    def arguments(self) -> str:
        """What to call the tool with."""
        return self.row.edited or "{}"


@dataclass(frozen=True, slots=True)
class Denied:
    """A person said no."""

    store: ApprovalStore
    row: ApprovalRow

    @property
    def number(self) -> int:
        """What the record is told of it."""
        return self.row.number if self.store.is_durable else 0


@dataclass(frozen=True, slots=True)
class Asked:
    """A person has to answer first; `is_new` when nobody can have been told of the request before."""

    store: ApprovalStore
    row: ApprovalRow
    is_new: bool = False

    @property
    def request(self) -> ApprovalRequest:
        """The request, for people."""
        return request_of(self.row)


def consider(inquiry: Inquiry, edited: Edited | None) -> Consent | Edited | Denied | Asked:
    """Find an answer that stands for a call, or store that it is asked about; `edited` is what it was changed by."""
    store = store_of(inquiry.session, inquiry.root)
    agreed = None if edited is None else store.find(edited.row.number)
    if agreed is not None and agreed.state == "approved" and _still_agreed(inquiry, store, agreed):
        return Consent(store, agreed, is_edited=True)
    replaced: list[int] = [] if agreed is None else [agreed.number]
    for row in _candidates(inquiry, store):
        is_same = row.policies == inquiry.policies and row.facts == inquiry.facts(store, noted_in(row.facts))
        if row.state == "denied" and (is_same or (row.run, row.call_id) == (inquiry.run, inquiry.call_id)):
            return Denied(store, row)
        if not is_same:
            replaced.append(row.number)
        elif row.state == "approved":
            return Consent(store, row, is_edited=edited is not None) if row.edited is None else Edited(row)
        elif row.state == "pending":
            if (row.run, row.call_id) != (inquiry.run, inquiry.call_id):
                store.asked_by(row.number, inquiry.run, inquiry.call_id)
            return Asked(store, row)
    given = None if edited is not None else _given_before(inquiry, store)
    return _ask(inquiry, store, tuple(replaced)) if given is None else given


def _given_before(inquiry: Inquiry, store: ApprovalStore) -> Edited | None:
    """The arguments that a person gave for this very call, and about which they had to be asked anew."""
    for row in reversed(store.rows(session=inquiry.session.name, states=("replaced",), tool=inquiry.tool)):
        if row.edited is None or row.instead is None or row.arguments != inquiry.arguments:
            continue
        if (row.run, row.call_id) == (inquiry.run, inquiry.call_id):
            instead = store.find(row.instead)
            if instead is not None and instead.is_live and instead.arguments == row.edited:
                return Edited(row)
    return None


def _candidates(inquiry: Inquiry, store: ApprovalStore) -> list[ApprovalRow]:
    """What was asked about these arguments, newest first."""
    rows = store.rows(session=inquiry.session.name, states=ApprovalRow.LIVE, tool=inquiry.tool)
    return [row for row in reversed(rows) if row.arguments == inquiry.arguments]


def _still_agreed(inquiry: Inquiry, store: ApprovalStore, row: ApprovalRow) -> bool:
    """Whether a call with the arguments that a person gave is what they agreed to."""
    if row.policies != inquiry.policies:
        return False
    return row.edited_facts is None or row.edited_facts == inquiry.facts(store, noted_in(row.edited_facts))


def _ask(inquiry: Inquiry, store: ApprovalStore, replaced: tuple[int, ...]) -> Asked:
    facts = inquiry.facts(store)
    row = ApprovalRow(
        number=0,
        session=inquiry.session.name,
        run=inquiry.run,
        call_id=inquiry.call_id,
        tool=inquiry.tool,
        effects=inquiry.effects,
        arguments=inquiry.arguments,
        policies=inquiry.policies,
        facts=facts,
        fingerprint=fingerprint_of(inquiry.tool, inquiry.arguments, inquiry.policies, facts),
    )
    return Asked(store, store.ask(row, replaced), is_new=True)


def policies_text(asking: Sequence[PolicyVerdict]) -> str:
    """Policies and their reasons as JSON."""
    return json.dumps([[verdict.policy, verdict.reason] for verdict in asking], separators=(",", ":"))


def fingerprint_of(tool: str, arguments: str, policies: str, facts: str) -> str:
    """The hash of all that an answer is bound to."""
    from hashlib import sha256

    return sha256(json.dumps([tool, arguments, policies, facts]).encode()).hexdigest()


def canonical(params: object) -> str:
    """The arguments of a call as JSON, the same text for the same arguments."""
    from wink.serde import dumps

    return "{}" if params is None else canonical_json(dumps(params))


def canonical_json(text: str) -> str:
    """JSON with its keys in order and without spaces."""
    return json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))


def request_of(row: ApprovalRow) -> ApprovalRequest:
    """A request as people are shown it."""
    policies = tuple(PolicyVerdict(policy, False, reason, True) for policy, reason in json.loads(row.policies))
    return ApprovalRequest(
        id=approval_id(row.number),
        tool=row.tool,
        arguments=row.arguments,
        policies=policies,
        reason="; ".join(dict.fromkeys(str(verdict.reason) for verdict in policies)),
        call_id=row.call_id,
        session=row.session,
        fingerprint=row.fingerprint,
        at=row.at,
        run=row.run,
        effects=row.effects,
    )


def state_now(row: ApprovalRow, session: Session, files: Filesystem | None, store: ApprovalStore) -> str:
    """The state that a request would be bound to now."""
    return facts_of(
        files,
        session,
        arguments=row.arguments,
        effects=row.effects,
        position=store.position(),
        place=store.place(),
        noted=noted_in(row.facts),
    )


def standing(
    session: Session, files: Filesystem | None, store: ApprovalStore, *, without: int
) -> tuple[ApprovalRow, ...]:
    """The other requests of a session that stand for what is there now."""
    rows = store.rows(session=session.name, states=ApprovalRow.LIVE)
    return tuple(
        row
        for row in rows
        if row.number != without and not is_nested(row.facts) and row.facts == state_now(row, session, files, store)
    )


def renew(rows: Sequence[ApprovalRow], session: Session, files: Filesystem | None, store: ApprovalStore) -> None:
    """Let requests stand for what is there now."""
    for row in rows:
        facts = state_now(row, session, files, store)
        if facts != row.facts:
            store.renew(row, facts, fingerprint_of(row.tool, row.arguments, row.policies, facts))
