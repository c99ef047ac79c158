"""Show what a change did to a file as a unified diff."""

from __future__ import annotations

import re
from typing import Final

from wink.filesystem._change import FileChange, FileVersion

_CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def unified_diff(change: FileChange) -> str:
    """The diff between `a/path` and `b/path`; one line for what has no lines to show.

    A last line without a newline is followed by a line that says so, as git writes it.
    """
    before, after = change.before, change.after
    old_path, new_path = change.moved_from or change.path, change.path
    if any(side is not None and side.kind != "file" for side in (before, after)):
        return f"{_describe(change)}\n"
    old, new = _text(before), _text(after)
    header = _mode_lines(change)
    if old is None or new is None:
        return header + f"{_describe(change)}\n"
    if old == new:
        return header or f"{_describe(change)}\n"
    from difflib import unified_diff as lines_of

    lines = lines_of(
        _lines(old),
        _lines(new),
        "/dev/null" if before is None else quoted_path(f"a/{old_path}"),
        "/dev/null" if after is None else quoted_path(f"b/{new_path}"),
    )
    return header + "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def quoted_path(path: str) -> str:
    r"""A path as git writes it in a diff: in quotes where it has controls in it, which could pass for lines of the diff.

    >>> quoted_path("src/a.py"), quoted_path("a\n--- b")
    ('src/a.py', '"a\\n--- b"')
    """
    if not _CONTROLS.search(path):
        return path
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), escaped) + '"'


def _text(version: FileVersion | None) -> str | None:
    """One side's text; None where it is binary, large or gone."""
    if version is None:
        return ""
    content = version.content()
    if content is None or b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _lines(text: str) -> list[str]:
    # Not splitlines(): a form feed or a Unicode separator is no end of a line.
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _mode_lines(change: FileChange) -> str:
    before, after = change.before, change.after
    if before is None or after is None or before.mode == after.mode:
        return ""
    return f"{quoted_path(change.path)}: mode {before.mode:o} became {after.mode:o}\n"


def _describe(change: FileChange) -> str:
    before, after = change.before, change.after
    if before is None and after is not None:
        moved = f", moved from {quoted_path(change.moved_from)}" if change.moved_from else ""
        return f"{quoted_path(change.path)}: created {_what(after)}{moved}"
    if after is None and before is not None:
        return f"{quoted_path(change.path)}: deleted {_what(before)}"
    assert before is not None
    assert after is not None
    if before.kind == after.kind == "directory":
        return _mode_lines(change).rstrip("\n") or f"{quoted_path(change.path)}: directory touched"
    return f"{quoted_path(change.path)}: {_what(before)} became {_what(after)}"


def _what(version: FileVersion) -> str:
    if version.kind == "file":
        return f"a file of {version.size} bytes"
    if version.kind == "link":
        return f"a link to {quoted_path(version.target or '')}"
    return "a directory" if version.kind == "directory" else "something that is no file"
