"""A tree of files as plain values: read from a directory, changed in memory, and compared; nothing of wink is used."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

FILE_MODE, DIRECTORY_MODE = 0o644, 0o755
"""What new files and directories have under the umask 022, which every process here sets."""


class Entry(NamedTuple):
    """One path: a `file` with its bytes, a `link` with its target, or a `directory`."""

    kind: str
    mode: int
    content: bytes = b""


Tree: TypeAlias = "dict[str, Entry]"


class Put(NamedTuple):
    """A file's whole content."""

    path: str
    content: bytes


class Edit(NamedTuple):
    """A piece of text that occurs once, and what takes its place."""

    path: str
    old: str
    new: str


class Move(NamedTuple):
    """Another path for a file, a link, or a directory with all it holds."""

    path: str
    target: str


class Remove(NamedTuple):
    """An end to a file, a link, or a directory with all it holds."""

    path: str


class Chmod(NamedTuple):
    """Other permission bits."""

    path: str
    mode: int


class Link(NamedTuple):
    """A symbolic link where nothing was."""

    path: str
    target: str


class Mkdir(NamedTuple):
    """A directory where nothing was."""

    path: str


Change: TypeAlias = "Put | Edit | Move | Remove | Chmod | Link | Mkdir"


def beneath(tree: Mapping[str, Entry], path: str) -> list[str]:
    """The path itself, where it is there, and all below it."""
    return [name for name in tree if name == path or name.startswith(f"{path}/")]


def changed(tree: Tree, change: Change) -> Tree:
    """The tree after a change, which must be one that can be made."""
    after = dict(tree)
    match change:
        case Put(path, content):
            _parents(after, path)
            before = after.get(path)
            assert before is None or before.kind == "file", f"{path} is a {before.kind}"
            after[path] = Entry("file", before.mode if before else FILE_MODE, content)
        case Edit(path, old, new):
            text = after[path].content.decode()
            assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path}"
            after[path] = after[path]._replace(content=text.replace(old, new).encode())
        case Move(path, target):
            assert target not in after, f"{target} is there"
            moved = beneath(tree, path)
            assert moved, f"{path} is not there"
            _parents(after, target)
            for name in moved:
                after[target + name.removeprefix(path)] = after.pop(name)
        case Remove(path):
            for name in beneath(tree, path):
                del after[name]
        case Chmod(path, mode):
            after[path] = after[path]._replace(mode=mode)
        case Link(path, target):
            assert path not in after, f"{path} is there"
            _parents(after, path)
            after[path] = Entry("link", 0, target.encode())
        case Mkdir(path):
            _parents(after, f"{path}/.")
    return after


def after_all(tree: Tree, changes: Iterable[Change]) -> Tree:
    """The tree after changes, one after the other."""
    for change in changes:
        tree = changed(tree, change)
    return tree


def _parents(tree: Tree, path: str) -> None:
    """Make the directories that a path needs."""
    parts = path.split("/")[:-1]
    for end in range(1, len(parts) + 1):
        above = tree.setdefault("/".join(parts[:end]), Entry("directory", DIRECTORY_MODE))
        assert above.kind == "directory", f"{'/'.join(parts[:end])} is a {above.kind}"


def with_parents(tree: Mapping[str, Entry]) -> Tree:
    """The tree with the directories that its paths need, sorted."""
    whole = dict(tree)
    for path in tree:
        _parents(whole, path)
    return dict(sorted(whole.items()))


def tree_of(root: str, *, without: str = ".wink") -> Tree:
    """What is in a directory: every path with its kind, bits and bytes; `without` is left out at the top."""
    found: Tree = {}
    waiting = [""]
    while waiting:
        above = waiting.pop()
        for item in os.scandir(os.path.join(root, above)):
            path = f"{above}/{item.name}".lstrip("/")
            if path == without:
                continue
            status = item.stat(follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                found[path] = Entry("link", 0, os.fsencode(os.readlink(item.path)))
            elif stat.S_ISDIR(status.st_mode):
                found[path] = Entry("directory", stat.S_IMODE(status.st_mode))
                waiting.append(path)
            elif stat.S_ISREG(status.st_mode):
                with open(item.path, "rb") as file:
                    found[path] = Entry("file", stat.S_IMODE(status.st_mode), file.read())
            else:
                found[path] = Entry("other", stat.S_IMODE(status.st_mode))
    return found


def lay_out(tree: Tree, root: str) -> None:
    """Make a directory hold a tree, as somebody does who unpacks it."""
    for path, entry in sorted(tree.items()):
        place = os.path.join(root, path)
        if entry.kind == "directory":
            os.makedirs(place, exist_ok=True)
        elif entry.kind == "link":
            os.symlink(os.fsdecode(entry.content), place)
        else:
            with open(place, "xb") as file:
                file.write(entry.content)
    for path, entry in tree.items():
        if entry.kind != "link":
            os.chmod(os.path.join(root, path), entry.mode)


def difference(expected: Tree, found: Tree) -> str:
    """In what two trees differ, in a few lines; nothing where they are the same."""
    lines = [
        f"{path}: expected {_short(expected.get(path))}, found {_short(found.get(path))}"
        for path in sorted({*expected, *found})
        if expected.get(path) != found.get(path)
    ]
    return "\n".join(lines[:20])


def size(tree: Tree) -> int:
    """The bytes of its files."""
    return sum(len(entry.content) for entry in tree.values() if entry.kind == "file")


def _short(entry: Entry | None) -> str:
    if entry is None:
        return "nothing"
    content = repr(entry.content) if len(entry.content) <= 60 else f"{entry.content[:40]!r}... ({len(entry.content)})"
    return f"{entry.kind} {entry.mode:o} {content}"
