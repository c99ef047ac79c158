"""Answer what calls did to the files of a workspace."""

from __future__ import annotations

from functools import partial
from typing import Final

from wink.errors import UnknownCall
from wink.filesystem import FileChange, FileVersion, HostFilesystem, Versions, net_changes
from wink.record import CallRow, Record
from wink.record._browsing import Browsing

_FEW: Final = 100
_LAST: Final = 1 << 63
"""No database numbers further."""


def call_at(record: Record, position: int) -> CallRow:
    """One call; raises `UnknownCall`."""
    found = record.call(position) if 0 < position < _LAST else None
    if found is None:
        raise UnknownCall(position)
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


def _is_same(one: FileVersion | None, other: FileVersion | None) -> bool:
    if one is None or other is None or one != other:
        return one is other
    content = one.content()
    return one.kind != "file" or (content is not None and content == other.content())


def _later(record: Record, call: CallRow) -> tuple[tuple[int, FileChange], ...]:
    """What was done since to the files that a call has changed; a record may hold very much else."""
    paths = {change.path for change in call.changes} | {change.moved_from for change in call.changes} - {None}
    if len(paths) > _FEW:
        return record.changes(call.transaction)
    return Browsing(record).changes_around((path for path in paths if path is not None), call.transaction)
