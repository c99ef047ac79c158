"""Show a call that waits for a person so that they can judge it: who asks, why, with which arguments, and what it would do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from wink.cli._calls import argument_lines, when
from wink.cli._masked import masked_lines, masked_value
from wink.cli._shorten import diff_lines, one_line, visible
from wink.cli.work._proposed import proposed_change

if TYPE_CHECKING:
    from wink.filesystem import Filesystem
    from wink.filesystem.diffs import FileDiff
    from wink.runtime import ApprovalRequest

_LINES: Final = 40
"""So many lines of one argument, or of a diff, are shown."""
_WIDE: Final = 500


def lines_of(request: ApprovalRequest, files: Filesystem | None, now: datetime) -> Iterator[str]:
    """The request for a person, with secrets masked; `files` are those that the call would work on."""
    yield from masked_lines(_lines(request, files, now))


def _lines(request: ApprovalRequest, files: Filesystem | None, now: datetime) -> Iterator[str]:
    yield f"{request.id}  {request.tool}"
    for verdict in request.policies:
        yield one_line(f"  {verdict.policy} asks: {verdict.reason}")
    arguments: dict[str, Any] = json.loads(request.arguments)
    diff = _proposed(arguments, files)
    # Of what is no text the diff says only what and how large it is; then a person judges by the arguments.
    hidden = {"content", "old_string", "new_string"} if diff is not None and diff.hunks else set[str]()
    for name, value in arguments.items():
        if name not in hidden:
            yield from argument_lines(name, value, _bounded)
    if diff is not None:
        yield from (f"  {line}" for line in _bounded([visible(line) for line in diff_lines(diff.text())]))
    run = f", run {request.run}" if request.run else ""
    yield one_line(f"  asked {when(request.at, now)} in session {request.session}{run}")


def json_of(request: ApprovalRequest) -> dict[str, Any]:
    """The request for machines, with secrets masked."""
    row = {
        "id": request.id,
        "tool": request.tool,
        "arguments": json.loads(request.arguments),
        "reason": request.reason,
        "policies": [{"policy": verdict.policy, "reason": verdict.reason} for verdict in request.policies],
        "session": request.session,
        "run": request.run or None,
        "call_id": request.call_id,
        "effects": request.effects,
        "fingerprint": request.fingerprint,
        "at": request.at.isoformat(),
    }
    return masked_value(row)


def _proposed(arguments: dict[str, Any], files: Filesystem | None) -> FileDiff | None:
    """What writing or editing a file would make of it, where the arguments say so much."""
    change = None if files is None else proposed_change(arguments, files)
    if change is None:
        return None
    from wink.filesystem.diffs import FileDiff

    return FileDiff(change.path, change.path, change.before, change.after)


def _bounded(lines: list[str]) -> list[str]:
    """As many lines as a person reads, none of them endless; that more was left out is said."""
    shown = [line if len(line) <= _WIDE else f"{line[:_WIDE]}… ({len(line) - _WIDE} more characters)" for line in lines]
    return shown if len(shown) <= _LINES else [*shown[:_LINES], f"… {len(shown) - _LINES} more lines"]
