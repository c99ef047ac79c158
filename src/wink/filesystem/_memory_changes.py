"""Tell the net change of each path from the steps of a `MemoryFrame`.

The tree as it was is never built: it is the tree as it is, seen through what each changed entry was first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wink.filesystem._change import DIFFABLE_BYTES, FileChange, FileVersion
from wink.filesystem._memory import Directory, Entry, File, Step

Children = Callable[[Directory], dict[str, Entry]]


def net_changes(top: Directory, steps: Sequence[Step], moves: Sequence[tuple[str, str]]) -> tuple[FileChange, ...]:
    """One change for each path that is not as it was, in the order of the steps that touched them first."""
    return _Comparison(top, steps, moves).changes()


class _Comparison:
    __slots__ = ("_before", "_found", "_modes", "_moves", "_steps", "_top")

    def __init__(self, top: Directory, steps: Sequence[Step], moves: Sequence[tuple[str, str]]) -> None:
        self._top, self._steps, self._moves = top, steps, moves
        self._before: dict[Directory, dict[str, Entry | None]] = {}
        self._modes: dict[Directory, int] = {}
        self._found: dict[str, FileChange] = {}
        for step in steps:
            self._modes.setdefault(step.directory, step.mode)
            if step.name is not None:
                self._before.setdefault(step.directory, {}).setdefault(step.name, step.before)

    def changes(self) -> tuple[FileChange, ...]:
        seen: set[str] = set()
        entries = {step.path for step in self._steps if step.name is not None}
        for step in self._steps:
            if step.path not in seen:
                seen.add(step.path)
                before, after = self._at(step.path, self._was), self._at(step.path, self._is)
                self._compare(step.path, before, after, deep=step.path in entries)
        return tuple(self._found.values())

    def _compare(self, path: str, before: Entry | None, after: Entry | None, *, deep: bool) -> None:
        old, new = self._version(before, was=True), self._version(after, was=False)
        if path not in self._found and not _same(before, after, old, new):
            moved = self._moved_from(path) if before is None else None
            self._found[path] = FileChange(path, old, new, moved)
        if deep:
            was = self._was(before) if type(before) is Directory else {}
            now = self._is(after) if type(after) is Directory else {}
            for name in sorted(was.keys() | now.keys()):
                self._compare(f"{path}/{name}", was.get(name), now.get(name), deep=True)

    def _was(self, directory: Directory) -> dict[str, Entry]:
        first = self._before.get(directory)
        if first is None:
            return directory.entries
        return {name: entry for name, entry in {**directory.entries, **first}.items() if entry is not None}

    def _is(self, directory: Directory) -> dict[str, Entry]:
        return directory.entries

    def _at(self, path: str, children: Children) -> Entry | None:
        here: Entry | None = self._top
        for name in path.split("/"):
            if type(here) is not Directory:
                return None
            here = children(here).get(name)
        return here

    def _moved_from(self, path: str) -> str | None:
        origin = path
        for source, target in reversed(self._moves):
            if origin == target or origin.startswith(target + "/"):
                origin = source + origin[len(target) :]
        if origin == path or self._at(origin, self._was) is None or self._at(origin, self._is) is not None:
            return None
        return origin

    def _version(self, entry: Entry | None, *, was: bool) -> FileVersion | None:
        if entry is None:
            return None
        if type(entry) is Directory:
            return FileVersion("directory", 0, self._modes.get(entry, entry.mode) if was else entry.mode)
        node = entry.node
        if type(entry) is File:
            return FileVersion("file", node.size, node.mode, load=_loader(entry.content))
        return FileVersion("link", node.size, node.mode, node.target)


def _same(before: Entry | None, after: Entry | None, old: FileVersion | None, new: FileVersion | None) -> bool:
    if type(before) is File and type(after) is File and before.content != after.content:
        return False
    return old == new


def _loader(content: bytes) -> Callable[[], bytes | None]:
    kept = content if len(content) <= DIFFABLE_BYTES else None
    return lambda: kept
