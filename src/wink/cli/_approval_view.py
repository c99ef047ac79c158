"""Show a call that waits for a person so that they can judge it: who asks, why, with which arguments, and what it would do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from wink.cli._calls import when
from wink.cli._masked import masked_lines, masked_value
from wink.cli._shorten import one_line, visible
from wink.errors import WinkError
from wink.filesystem import Filesystem
from wink.runtime import ApprovalRequest

_LINES: Final = 40
"""So many lines of one argument, or of a diff, are shown."""
_WIDE: Final = 500
_LARGEST: Final = 64 << 10


def lines_of(request: ApprovalRequest, files: Filesystem | None, now: datetime) -> Iterator[str]:
    """The request for a person, with secrets masked; `files` are those that the call would work on."""
    yield from masked_lines(_lines(request, files, now))


def _lines(request: ApprovalRequest, files: Filesystem | None, now: datetime) -> Iterator[str]:
    yield f"{request.id}  {request.tool}"
    for verdict in request.policies:
        yield one_line(f"  {verdict.policy} asks: {verdict.reason}")
    arguments: dict[str, Any] = json.loads(request.arguments)
    diff = preview(arguments, files)
    hidden = {"content", "old_string", "new_string"} if diff else set[str]()
    for name, value in arguments.items():
        if name not in hidden:
            yield from _argument(name, value)
    yield from (f"  {line}" for line in _bounded(diff))
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


def preview(arguments: dict[str, Any], files: Filesystem | None) -> list[str]:
    """The diff that writing or editing a file would make, where the arguments say so much; otherwise nothing."""
    from difflib import unified_diff

    path, content = arguments.get("file_path", arguments.get("path")), arguments.get("content")
    old, new = arguments.get("old_string"), arguments.get("new_string")
    if files is None or not isinstance(path, str):
        return []
    before = _text(files, path)
    if isinstance(content, str):
        after = content
    elif isinstance(old, str) and isinstance(new, str) and before is not None and old and old in before:
        after = before.replace(old, new, -1 if arguments.get("replace_all") else 1)
    else:
        return []
    if len(after) > _LARGEST or len(before or "") > _LARGEST:
        return []
    name = "/dev/null" if before is None else f"a/{path}"
    lines = unified_diff((before or "").splitlines(), after.splitlines(), name, f"b/{path}", lineterm="")
    return [visible(line) for line in lines]


def _text(files: Filesystem, path: str) -> str | None:
    try:
        if files.stat(path).size_bytes > _LARGEST:
            return "x" * (_LARGEST + 1)
        return files.read(path).content
    except (OSError, WinkError):
        return None


def _argument(name: str, value: object) -> Iterator[str]:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    first, *rest = _bounded([visible(line) for line in text.split("\n")])
    yield f"  {one_line(name)}: {first}"
    yield from (f"    {line}" for line in rest)


def _bounded(lines: list[str]) -> list[str]:
    """As many lines as a person reads, none of them endless; that more was left out is said."""
    shown = [line if len(line) <= _WIDE else f"{line[:_WIDE]}… ({len(line) - _WIDE} more characters)" for line in lines]
    return shown if len(shown) <= _LINES else [*shown[:_LINES], f"… {len(shown) - _LINES} more lines"]
