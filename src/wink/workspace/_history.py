"""Answer what calls did to the files of a workspace, and what one that waits would do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from wink.errors import UnknownCall, UnknownRun, UnknownSession, WinkError
from wink.filesystem import COMPARED_BYTES, FileChange, Filesystem, FileVersion, HostFilesystem, Versions, net_changes
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
    files: HostFilesystem, record: Record, *, session: str | None = None, run: int | None = None
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
    wanted = CallFilter(session=session, run=None if run is None else f"r{run}", changed=True)
    theirs = {
        call.transaction for call in record.queries.page(wanted, limit=None, brief=True, width=1) if call.committed
    }
    if not theirs:
        return ()
    changes = record.changes(min(theirs), max(theirs))
    mine = [(position, change) for position, change in changes if position in theirs]
    return net_changes(Versions(files.places, record.changes), mine, until_now=False)


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

    `mask` takes secrets out of the file's content before and after. Of files above `COMPARED_BYTES` nothing is told.
    """
    path, content = arguments.get("file_path", arguments.get("path")), arguments.get("content")
    old, new = arguments.get("old_string"), arguments.get("new_string")
    if not isinstance(path, str):
        return None
    try:
        before, size = _text(files, path)
    except (OSError, WinkError):
        before, size = None, 0
    if size > COMPARED_BYTES:
        return None
    if isinstance(content, str):
        after = content
    elif isinstance(old, str) and isinstance(new, str) and before is not None and old and old in before:
        after = before.replace(old, new, -1 if arguments.get("replace_all") else 1)
    else:
        return None
    if len(after) > COMPARED_BYTES:
        return None
    return FileChange(path, None if before is None else _file(before, mask), _file(after, mask))


def _text(files: Filesystem, path: str) -> tuple[str | None, int]:
    """A text that can be compared, and how many bytes it has."""
    size = files.stat(path).size_bytes
    return (None if size > COMPARED_BYTES else files.read(path).content), size


def _file(text: str, mask: Callable[[bytes], bytes]) -> FileVersion:
    content = mask(text.encode("utf-8", "backslashreplace"))
    return FileVersion("file", len(content), 0o644, load=lambda: content)
