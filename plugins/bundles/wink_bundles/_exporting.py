"""Collect what one session was, with secrets masked, so that it can be read elsewhere."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final

from wink.errors import UnknownSession
from wink.filesystem import COMPARED_BYTES, DIFFABLE_BYTES, FileChange, FileVersion, Versions
from wink.record import CallView, Masking, Said, microseconds
from wink_bundles._chain import links_of
from wink_bundles._rows import Call, Change, Event, Exported, Prompt, Run, Side, Slice, Turn

if TYPE_CHECKING:
    from wink.workspace import Workspace

_LARGE_TOGETHER: Final = 64 << 20
"""So many bytes may texts above 64 KiB have in one bundle, so that it can be read again; those beyond are told by digests."""


def export(workspace: Workspace, session: str) -> Exported:
    """One session; raises `UnknownSession`."""
    record, masking = workspace.record, workspace.masking
    known = {row.name: row for row in record.queries.sessions()}
    if session not in known:
        raise UnknownSession(session, tuple(known))
    versions = Versions(workspace.filesystem.places, record.changes)
    reverts = {past.position: past.reverts for past in record.past()}
    rows = record.calls(session)
    # Calls inside of another one have its changes: they are told with the outermost, which comes last.
    outermost = {row.transaction: row.position for row in reversed(rows)}
    sides = _Sides(masking)
    calls = tuple(
        _call(row, versions, reverts, sides, is_outermost=outermost[row.transaction] == row.position)
        for row in reversed(rows)
    )
    runs = tuple(_run(workspace, row.number) for row in record.runs.rows() if row.session == session)
    events: list[Event] = []
    for _, one in record.queries.whole_stream(session=session):
        if not isinstance(one, CallView):
            data = dict(masking.value(dict(one.data)))
            events.append(Event(one.number, one.position, microseconds(one.at), one.kind, one.run, data))
    load = record.loader(session)
    slices = tuple(
        Slice(one.type, one.policy, tuple((key, masking.json(text)) for key, text in load(one.type) or ()))
        for one in record.queries.slices(session)
    )
    row = known[session]
    return Exported(
        session,
        row.session_id,
        microseconds(row.created_at),
        calls,
        tuple(events),
        runs,
        slices,
        links_of(workspace, session, calls),
    )


def _call(
    row: CallView, versions: Versions, reverts: dict[int, tuple[int, ...]], sides: _Sides, *, is_outermost: bool
) -> Call:
    masking = sides.masking
    return Call(
        number=row.position,
        transaction=row.transaction,
        committed=row.committed,
        call_id=row.call_id,
        tool=row.tool,
        prompt=row.prompt,
        outcome=row.outcome,
        started_at=microseconds(row.started_at),
        duration=round(row.duration.total_seconds() * 1_000_000),
        effects=row.effects,
        run=row.run,
        approval=row.approval,
        error=row.error and masking.text(row.error),
        arguments=masking.json(row.arguments),
        reply=masking.text(row.rendered),
        decisions=tuple((name, ok, why and masking.text(why), asks) for name, ok, why, asks in row.decisions),
        changes=tuple(_change(versions.with_content(row.transaction, change), sides) for change in row.changes)
        if is_outermost
        else (),
        takes_back=reverts.get(row.transaction, ()),
        plugin=row.plugin,
    )


def _change(change: FileChange, sides: _Sides) -> Change:
    return Change(change.path, change.moved_from, sides.side(change.before), sides.side(change.after))


class _Sides:
    """Makes sides of changes, as long as there is room for their texts."""

    def __init__(self, masking: Masking) -> None:
        self.masking = masking
        self._left = _LARGE_TOGETHER

    def side(self, version: FileVersion | None) -> Side | None:
        """One side of a change."""
        if version is None:
            return None
        target = version.target and self.masking.text(version.target)
        facts = version.kind, version.size, version.mode, target
        content = version.content(COMPARED_BYTES) if version.kind == "file" else None
        if content is None:
            return Side(*facts, None, version.digest() if version.kind == "file" else None)
        content = self.masking.content(content)
        text = self._text(content)
        return Side(*facts, text, sha256(content).hexdigest() if text is None else None)

    def _text(self, content: bytes) -> str | None:
        try:
            text = content.decode()
        except UnicodeDecodeError:
            return None
        if len(content) <= DIFFABLE_BYTES:
            return text
        if len(content) > self._left:
            return None
        self._left -= len(content)
        return text


def _run(workspace: Workspace, number: int) -> Run:
    table, masking = workspace.record.runs, workspace.masking
    row = table.find(number)
    assert row is not None, "it was listed"
    prompts = tuple(
        Prompt(one.number, one.position, microseconds(one.at), one.prompt, masking.text(one.text), one.tools)
        for one in table.prompts(number)
    )
    used = row.usage
    times = microseconds(row.started_at), microseconds(row.changed_at)
    tokens = used.input_tokens, used.output_tokens, used.cached_tokens
    problem = masking.text(row.problem)
    plan, said = masking.json(row.plan), tuple(_turn(one, masking) for one in table.said(number))
    return Run(number, plan, row.state, problem, *times, row.attempt, row.turns, *tokens, prompts, said)


def _turn(said: Said, masking: Masking) -> Turn:
    model, text, thinking, note = map(masking.value, (said.model, said.text, said.thinking, said.note))
    used = said.usage
    tokens = used.input_tokens, used.output_tokens, used.cached_tokens
    return Turn(said.number, said.position, microseconds(said.at), model, text, thinking, note, *tokens)
