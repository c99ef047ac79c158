"""Answer what calls did to the files of a workspace."""

from __future__ import annotations

from functools import partial
from typing import Final

from wink.errors import UnknownCall, UnknownRun, UnknownSession
from wink.filesystem import FileChange, FileVersion, HostFilesystem, Versions, net_changes
from wink.record import CallFilter, CallView, Record

_LAST: Final = 1 << 63
"""No database numbers further."""


def call_at(record: Record, position: int) -> CallView:
    """One call; raises `UnknownCall`."""
    found = record.call(position) if 0 < position < _LAST else None
    if found is None:
        kept = record.forgetting.first()
        raise UnknownCall(position, kept[0] if kept is not None and 0 < position < kept[0] else 0)
    return found


def diff(
    files: HostFilesystem, record: Record, first: int | None, last: int | None, *, since: int | None
) -> tuple[FileChange, ...]:
    """See `Workspace.diff`."""
    if first is not None and last is None:
        call = call_at(record, first)
        versions = Versions(files.places, partial(_later, record, call))
        return tuple(versions.with_content(call.transaction, change) for change in call.changes)
    versions = Versions(files.places, record.changes)
    if first is None:
        begin = 0 if since is None else call_at(record, since).transaction
        if record.imported is None:
            return net_changes(versions, record.changes(begin), until_now=True)
        # The files are elsewhere: the last that is known of each counts as what is there now.
        net = net_changes(versions, record.changes(begin), until_now=False)
        return tuple(change for change in net if not _is_same(change.before, change.after))
    assert last is not None, "or it would have been one call"
    call, end = call_at(record, first), call_at(record, last).transaction
    return net_changes(versions, record.changes(call.transaction, end), until_now=False)


def diff_of_some(
    files: HostFilesystem, record: Record, session: str | None = None, run: int | None = None, turn: int | None = None
) -> tuple[FileChange, ...]:
    """See `Workspace.diff`."""
    if session is not None and session not in record.sessions():
        raise UnknownSession(session, record.sessions())
    if run is not None and (not 0 < run < _LAST or record.runs.find(run) is None):
        raise UnknownRun(f"r{run}", "is not known", None)
    runs = [None if run is None else f"r{run}"]
    if turn is not None:
        runs = [one.run for one in record.queries.turns()] if turn == 0 else [f"t{turn}"]
    for one in runs:
        found = record.past_of(CallFilter(session=session, run=one, changed=True))
        # Of a turn without what it only may have changed, as in an undo of it.
        theirs = [past.position for past in found if turn is None or past.effects != "read"]
        if theirs:
            return net_changes(Versions(files.places, record.changes), record.changes_of(theirs), until_now=False)
    return ()


def _is_same(one: FileVersion | None, other: FileVersion | None) -> bool:
    if one is None or other is None or one != other:
        return one is other
    content = one.content()
    return one.kind != "file" or (content is not None and content == other.content())


def _later(record: Record, call: CallView) -> tuple[tuple[int, FileChange], ...]:
    """What was done since to the files that a call has changed; a record may hold very much else."""
    paths = {path for change in call.changes for path in (change.path, change.moved_from) if path is not None}
    return record.queries.changes_around(paths, call.transaction)
