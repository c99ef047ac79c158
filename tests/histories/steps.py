"""Calls of wink's tools that make changes, and the reads that these need before."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Any, Final, NamedTuple

from .added import OUTWARDS
from .changes import SHOWN_WIDTH, as_text
from .trees import Change, Chmod, Edit, Entry, Link, Mkdir, Move, Put, Remove, Tree, after_all, beneath

SHOWN_LINES, SHOWN_CHARS = 2000, 80_000
"""What one `read_file` shows of a file; one with wider lines is dealt with by programs and as bytes."""
MOST_READ: Final = 40
"""Directories of more files are moved and deleted by programs."""


class Step(NamedTuple):
    """One call, what it changes, and before it what to read; with a `kind`, one that must fail and change nothing."""

    tool: str
    arguments: str
    changes: tuple[Change, ...] = ()
    reads: tuple[str, ...] = ()
    kind: str = ""

    @property
    def calls(self) -> list[tuple[str, str]]:
        """The calls as they are sent."""
        return [*(("read_file", arguments) for arguments in self.reads), (self.tool, self.arguments)]


def calls_of(steps: Iterable[Step]) -> list[tuple[str, str]]:
    """All calls of some steps."""
    return [call for step in steps for call in step.calls]


def after(tree: Tree, steps: Iterable[Step]) -> Tree:
    """The tree when they have been made."""
    return after_all(tree, (change for step in steps for change in step.changes))


def in_order(tree: Tree, changes: Sequence[Change], drawn: Random) -> Iterator[Step]:
    """Steps for changes whose order counts; programs make several of them at once."""
    waiting = list(changes)
    while waiting:
        some = [waiting.pop(0) for _ in range(min(drawn.choice((1, 1, 3, 12)), len(waiting)))]
        if len(some) == 1 and isinstance(some[0], Move | Remove) and _shows(tree, some[0].path):
            yield _by_tool(tree, some[0])
        else:
            yield _by_program(some)
        tree = after_all(tree, some)


def of_a_file(tree: Tree, group: Sequence[Change]) -> list[Step]:
    """Steps for what changes one file's content."""
    steps: list[Step] = []
    for change in group:
        assert isinstance(change, Put | Edit), "it changes no content"
        path = change.path
        reads = _reads(path, tree[path]) if path in tree else ()
        if isinstance(change, Edit):
            arguments = {"file_path": path, "old_string": change.old, "new_string": change.new}
            steps.append(Step("edit_file", json.dumps(arguments), (change,), reads))
            continue
        text = as_text(change.content)
        if text is None or (reads and not _shows(tree, path)):
            arguments = {"target_file": path, "content": base64.b64encode(change.content).decode()}
            steps.append(Step("put_bytes", json.dumps(arguments), (change,)))
        else:
            steps.append(Step("write_file", json.dumps({"file_path": path, "content": text}), (change,), reads))
    return steps


def can_be_read(entry: Entry) -> bool:
    """Whether `read_file` shows all of a file, in one call or several."""
    if entry.kind != "file":
        return False  # what a link leads to would have to be read
    text = as_text(entry.content)
    # That a file is no text is all that can be known of it.
    return text is None or max(map(len, text.split("\n"))) < SHOWN_WIDTH


def _reads(path: str, entry: Entry) -> tuple[str, ...]:
    """The arguments of the reads that show a file, page by page."""
    lines, starts, shown = (as_text(entry.content) or "").split("\n"), [0], 0
    for number, line in enumerate(lines):
        shown += len(line) + 1
        if number - starts[-1] >= SHOWN_LINES or shown > SHOWN_CHARS:
            starts.append(number)
            shown = len(line) + 1
    return tuple(json.dumps({"file_path": path, **({"offset": start} if start else {})}) for start in starts)


def failing(tree: Tree, drawn: Random) -> Step:
    """A call that must fail, of a kind that is drawn."""
    kept = [path for path, entry in tree.items() if entry.kind == "file"]
    texts = [path for path in kept if can_be_read(tree[path]) and as_text(tree[path].content)]
    some, (one, other) = drawn.sample(kept, min(len(kept), 5)), drawn.sample(texts, 2)
    directory = one.rpartition("/")[0] or "added"
    new, moved = {"file_path": "new", "content": "no"}, {"source_path": one, "target_path": other}
    edited = {"file_path": one, "old_string": "\x01never", "new_string": "no"}
    kinds: dict[str, tuple[str, dict[str, Any] | str, tuple[str, ...]]] = {
        "a tool that raises after writing": ("spoil", {"files": some}, ()),
        "a tool that fails after writing": ("spoil", {"files": some, "how": "say"}, ()),
        "a program that fails after writing": ("run_command", _command(f"rm -r {_quoted(directory)}; exit 3"), ()),
        "a link that leads out": ("put_bytes", {"target_file": OUTWARDS, "content": ""}, ()),
        "a path above the workspace": ("write_file", {**new, "file_path": "../outside"}, ()),
        "an absolute path": ("write_file", {**new, "file_path": "/etc/outside"}, ()),
        "a path in .git": ("write_file", {**new, "file_path": ".git/hooks/pre-commit"}, ()),
        "a path in .wink": ("put_bytes", {"target_file": ".wink/record.db", "content": ""}, ()),
        "a path below a file": ("put_bytes", {"target_file": f"{one}/below", "content": ""}, ()),
        "a policy that denies": ("write_file", {**new, "file_path": f"{directory}/forbidden"}, ()),
        "a tool that is not there": ("rewrite_file", new, ()),
        "an argument that is not known": ("write_file", {**new, "mode": "w"}, ()),
        "an argument that is missing": ("write_file", {"file_path": "new"}, ()),
        "arguments that are no JSON": ("write_file", '{"file_path": "new", ', ()),
        "a text that is not in the file": ("edit_file", edited, _reads(one, tree[one])),
        "a move onto a file": ("move_file", moved, (*_reads(one, tree[one]), *_reads(other, tree[other]))),
        "a directory that is not empty": ("rm", {"path": directory}, ()),
    }
    kind = drawn.choice(list(kinds))
    tool, arguments, reads = kinds[kind]
    return Step(tool, arguments if isinstance(arguments, str) else json.dumps(arguments), (), reads, kind)


def over_unread(tree: Tree, drawn: Random) -> Step:
    """A write that must fail in a session that has read nothing."""
    path = drawn.choice([path for path, entry in tree.items() if entry.kind == "file"])
    return Step("write_file", json.dumps({"file_path": path, "content": "no"}), kind="a file that has not been read")


def _shows(tree: Tree, path: str) -> bool:
    """Whether reads show all of a file, or of each in a directory."""
    found = [tree[name] for name in beneath(tree, path) if tree[name].kind != "directory"]
    return len(found) <= MOST_READ and all(map(can_be_read, found))


def _by_tool(tree: Tree, change: Move | Remove) -> Step:
    found = [path for path in beneath(tree, change.path) if tree[path].kind == "file"]
    reads = tuple(read for path in found for read in _reads(path, tree[path]))
    if isinstance(change, Move):
        arguments: dict[str, Any] = {"source_path": change.path, "target_path": change.target}
        return Step("move_file", json.dumps(arguments), (change,), reads)
    arguments = {"path": change.path, "recursive": tree[change.path].kind == "directory"}
    return Step("rm", json.dumps(arguments), (change,), reads)


def _by_program(changes: Sequence[Change]) -> Step:
    """One command for all of them."""
    words = ["umask 022"]
    for change in changes:
        path = _quoted(change.path)
        match change:
            case Move(_, target):
                words += [f"mkdir -p {_quoted(os.path.dirname(target) or '.')}", f"mv -T {path} {_quoted(target)}"]
            case Remove():
                words.append(f"rm -r {path}")
            case Chmod(_, mode):
                words.append(f"chmod {mode:o} {path}")
            case Link(_, target):
                words += [f"mkdir -p {_quoted(os.path.dirname(change.path) or '.')}", f"ln -s {_quoted(target)} {path}"]
            case Mkdir():
                words.append(f"mkdir -p {path}")
            case Put() | Edit():
                raise AssertionError("contents are written by tools")
    return Step("run_command", json.dumps(_command(" && ".join(words))), tuple(changes))


def _command(text: str) -> dict[str, Any]:
    return {"command": text}


def _quoted(path: str) -> str:
    return "'" + path.replace("'", "'\\''") + "'"
