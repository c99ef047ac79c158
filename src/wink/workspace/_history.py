"""Answer what calls did to the files of a workspace, and what one that waits would do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from io import BytesIO
from typing import Any, Final

from wink.errors import UnknownCall, UnknownRun, UnknownSession, WinkError
from wink.filesystem import (
    COMPARED_BYTES,
    FileChange,
    Filesystem,
    FileVersion,
    HostFilesystem,
    Versions,
    file_version,
    net_changes,
)
from wink.record import CallFilter, CallView, Record

_FEW: Final = 100
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
        raise UnknownRun(
            f"r{run}",
            "is not in this workspace",
            tuple(f"r{row.number}" for row in record.runs.rows() if row.state != "ended"),
        )
    runs = [None] if run is None else [f"r{run}"]
    if turn is not None:
        runs = [f"t{one.number}" for one in record.queries.turns()] if turn == 0 else [f"t{turn}"]
    theirs = next(filter(None, (_changing(record, session, one, of_turn=turn is not None) for one in runs)), None)
    if theirs is None:
        return ()
    changes = record.changes(min(theirs), max(theirs))
    mine = [(position, change) for position, change in changes if position in theirs]
    return net_changes(Versions(files.places, record.changes), mine, until_now=False)


def _changing(record: Record, session: str | None, run: str | None, *, of_turn: bool) -> set[int]:
    """The transactions of calls that committed; those of a turn without what it only may have changed, as in an undo of it."""
    calls = record.queries.page(CallFilter(session=session, run=run, changed=True), limit=None, brief=True, width=1)
    return {call.transaction for call in calls if call.committed and not (of_turn and call.effects == "read")}


def _is_same(one: FileVersion | None, other: FileVersion | None) -> bool:
    if one is None or other is None or one != other:
        return one is other
    content = one.content()
    return one.kind != "file" or (content is not None and content == other.content())


def _later(record: Record, call: CallView) -> tuple[tuple[int, FileChange], ...]:
    """What was done since to the files that a call has changed; a record may hold very much else."""
    paths = {change.path for change in call.changes} | {change.moved_from for change in call.changes} - {None}
    if len(paths) > _FEW:
        return record.changes(call.transaction)
    return record.queries.changes_around((path for path in paths if path is not None), call.transaction)


def proposed_change(
    arguments: Mapping[str, Any], files: Filesystem, *, mask: Callable[[bytes], bytes] = bytes
) -> FileChange | None:
    """What a call that writes or edits a file would do, as far as its arguments say; None where that cannot be told.

    `mask` takes secrets out of the file's content before and after. Files above `COMPARED_BYTES` are told by sizes and
    digests, where the whole content is given; an edit of one is not.
    """
    path, content = arguments.get("file_path", arguments.get("path")), arguments.get("content")
    old, new = arguments.get("old_string"), arguments.get("new_string")
    if not isinstance(path, str):
        return None
    before = _there(files, path)
    text = None if before is None else before.content()
    if isinstance(content, str):
        after = content.encode("utf-8", "backslashreplace")
    elif isinstance(old, str) and isinstance(new, str) and old and text is not None:
        sought, put = (one.encode("utf-8", "surrogatepass") for one in (old, new))
        if sought not in text:
            return None
        after = text.replace(sought, put, -1 if arguments.get("replace_all") else 1)
    else:
        return None
    return FileChange(path, before if text is None else _file(mask(text)), _file(mask(after)))


def _there(files: Filesystem, path: str) -> FileVersion | None:
    try:
        size = files.stat(path).size_bytes
        if size > COMPARED_BYTES:
            return file_version(size, 0o644, lambda: files.open_read(path))
        return _file(files.read_bytes(path))
    except (OSError, WinkError):
        return None


def _file(content: bytes) -> FileVersion:
    return file_version(len(content), 0o644, partial(BytesIO, content))
