"""What a workspace has to hold, worked out from the calls alone that the record says were committed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any, Protocol


class Row(Protocol):
    """As much of `CallView` as is needed."""

    tool: str
    arguments: str
    committed: bool
    transaction: int
    changes: tuple[Any, ...]


def replay(rows: Iterable[Row], undone: Iterable[int]) -> dict[str, str]:
    """The files after these calls, from the oldest to the newest, without those that have been taken back."""
    files: dict[str, str] = {}
    gone = frozenset(undone)
    for row in rows:
        if row.tool == "swap" and not row.changes:
            continue  # of two files of one content: nothing to take back, so what made them can be, from beneath
        if row.committed and row.transaction not in gone:
            apply(files, row.tool, json.loads(row.arguments))
    return files


def apply(files: dict[str, str], tool: str, arguments: dict[str, Any]) -> None:
    """Do to a dictionary what a tool does to the workspace."""
    match tool:
        case "spread" | "spread_async":
            for number in range(arguments.get("count", 5)):
                files[f"group/{number}"] = f"{arguments['marker']}\n"
        case "bump":
            path = f"counts/{arguments['name']}"
            files[path] = str(int(files.get(path, "0")) + 1)
        case "swap":
            first, second = f"group/{arguments['first']}", f"group/{arguments['second']}"
            # Of two files of one content nothing changes, so what made them can be taken back from beneath.
            changed = {first: files.pop(second, None), second: files.pop(first, None)}
            files.update({path: content for path, content in changed.items() if content is not None})
        case "big":
            files[f"big/{arguments['name']}"] = f"{arguments['marker']}\n" * arguments["lines"]
        case "drop":
            del files[f"big/{arguments['name']}"]
        case "write_file":
            files[arguments["file_path"]] = arguments["content"]
        case "fail_late":
            raise AssertionError("a call that failed was committed")
        case _:
            pass  # it changes no file: reads, plans, and what undoes others, which `undone` tells


def tree(root: str) -> dict[str, str]:
    """The files that are there, without wink's own."""
    found: dict[str, str] = {}
    for directory, inner, names in os.walk(root):
        if directory == root and ".wink" in inner:
            inner.remove(".wink")
        for name in names:
            path = os.path.join(directory, name)
            with open(path, encoding="utf-8", errors="replace", newline="") as opened:
                found[os.path.relpath(path, root)] = opened.read()
    return found


def difference(expected: dict[str, str], found: dict[str, str]) -> str:
    """In what two trees differ, in a few lines."""
    lines: list[str] = []
    for path in sorted({*expected, *found}):
        if expected.get(path) != found.get(path):
            lines.append(f"{path}: expected {_short(expected.get(path))}, found {_short(found.get(path))}")
    return "\n".join(lines[:20])


def _short(text: str | None) -> str:
    if text is None:
        return "nothing"
    return repr(text) if len(text) <= 60 else f"{text[:30]!r}... ({len(text)} characters)"
