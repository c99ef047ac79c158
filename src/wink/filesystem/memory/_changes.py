"""Tell what happened to a tree in memory between two moments: positions of a change set, or marks of its store.

Trees as they were are never built: each is the tree as it is, seen through what each changed entry was first since then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from wink.filesystem._change import COMPARED_BYTES, FileChange, FileVersion, backwards
from wink.filesystem.memory._entries import Directory, Entry, File, Segment, Step


def net_changes(
    top: Directory, own: list[Step], moves: list[Move], since: object, until: object
) -> tuple[FileChange, ...]:
    """One change for each path that is not the same at two moments, in the order of the steps that touched them first."""
    forward = is_before(since, until)
    earlier, later = (since, until) if forward else (until, since)
    steps = steps_since(own, earlier)
    moved = moves_between(moves, earlier, later)
    one, other = View(top, steps), View(top, steps_since(own, later))
    changes = _Comparison(one, other, steps, moved).changes()
    return changes if forward else backwards(changes)


class View:
    """The tree as it was before some steps."""

    __slots__ = ("_entries", "_modes", "_top")

    def __init__(self, top: Directory, steps: Sequence[Step]) -> None:
        self._top = top
        self._entries: dict[Directory, dict[str, Entry | None]] = {}
        self._modes: dict[Directory, int] = {}
        for step in steps:
            self._modes.setdefault(step.directory, step.mode)
            if step.name is not None:
                self._entries.setdefault(step.directory, {}).setdefault(step.name, step.before)

    def at(self, path: str) -> Entry | None:
        """What was at a path."""
        here: Entry | None = self._top
        for name in path.split("/"):
            if type(here) is not Directory:
                return None
            first = self._entries.get(here)
            here = first[name] if first is not None and name in first else here.entries.get(name)
        return here

    def inside(self, entry: Entry | None) -> dict[str, Entry]:
        """What was in a directory, if it is one."""
        if type(entry) is not Directory:
            return {}
        first = self._entries.get(entry)
        if first is None:
            return entry.entries
        return {name: child for name, child in {**entry.entries, **first}.items() if child is not None}

    def version(self, entry: Entry | None) -> FileVersion | None:
        """The same as a change shows it."""
        if entry is None:
            return None
        if type(entry) is Directory:
            return FileVersion("directory", 0, self._modes.get(entry, entry.mode))
        node = entry.node
        if type(entry) is File:
            return FileVersion("file", node.size, node.mode, load=_loader(entry.content))
        return FileVersion("link", node.size, node.mode, node.target)


class _Comparison:
    __slots__ = ("_found", "_moves", "_one", "_other", "_steps")

    def __init__(self, one: View, other: View, steps: Sequence[Step], moves: Sequence[tuple[str, str]]) -> None:
        self._one, self._other, self._steps, self._moves = one, other, steps, moves
        self._found: dict[str, FileChange] = {}

    def changes(self) -> tuple[FileChange, ...]:
        entries = {step.path for step in self._steps if step.name is not None}
        seen: set[str] = set()
        looked_into: set[str] = set()
        for step in self._steps:
            path = step.path
            if path not in seen and not _is_beneath(path, looked_into):
                self._compare(path, self._one.at(path), self._other.at(path), deep=path in entries)
                if path in entries:
                    looked_into.add(path)
            seen.add(path)
        return tuple(self._found.values())

    def _compare(self, path: str, before: Entry | None, after: Entry | None, *, deep: bool) -> None:
        waiting = [(path, before, after)]
        while waiting:
            path, before, after = waiting.pop()
            old, new = self._one.version(before), self._other.version(after)
            if path not in self._found and not _same(before, after, old, new):
                moved = self._moved_from(path) if before is None else None
                self._found[path] = FileChange(path, old, new, moved)
            if deep:
                was, now = self._one.inside(before), self._other.inside(after)
                names = sorted(was.keys() | now.keys(), reverse=True)
                waiting += [(f"{path}/{name}", was.get(name), now.get(name)) for name in names]

    def _moved_from(self, path: str) -> str | None:
        origin = path
        for source, target in reversed(self._moves):
            if origin == target or origin.startswith(target + "/"):
                origin = source + origin[len(target) :]
        if origin == path or self._one.at(origin) is None or self._other.at(origin) is not None:
            return None
        return origin


def _is_beneath(path: str, places: set[str]) -> bool:
    """Whether a directory above the path has been looked into, and so the path too."""
    end = path.rfind("/")
    while end > 0:
        if path[:end] in places:
            return True
        end = path.rfind("/", 0, end)
    return False


def _same(before: Entry | None, after: Entry | None, old: FileVersion | None, new: FileVersion | None) -> bool:
    if type(before) is File and type(after) is File and before.content != after.content:
        return False
    return old == new


def _loader(content: bytes) -> Callable[[], bytes | None]:
    kept = content if len(content) <= COMPARED_BYTES else None
    return lambda: kept


Move = tuple[int, str, str]
"""At which position of the change set something was moved, from where and to where."""


def steps_since(own: list[Step], since: object) -> list[Step]:
    """All steps from a moment to now; `own` are the change set's."""
    if since is None:
        return []
    if not isinstance(since, Segment):
        assert isinstance(since, int), "neither a position nor a mark"
        return own[since:]
    steps = [step for segment in _chain(since) for step in segment.first.values()]
    return steps + own


def first_steps(own: list[Step], since: object) -> list[Step]:
    """The first step of each entry since a moment."""
    if isinstance(since, Segment) and since.next is None and not own:
        return list(since.first.values())
    first: dict[tuple[object, ...], Step] = {}
    for step in steps_since(own, since):
        key = step[:2]
        if key not in first:
            first[key] = step
    return list(first.values())


def moves_between(own: list[Move], earlier: object, later: object) -> list[tuple[str, str]]:
    """The moves from one moment to another."""
    found: list[tuple[str, str]] = []
    begin = 0
    if isinstance(earlier, Segment):
        for segment in _chain(earlier):
            if segment is later:
                return found
            found += segment.moves
    elif isinstance(earlier, int):
        begin = earlier
    return found + [
        (source, target)
        for position, source, target in own
        if position >= begin and not (isinstance(later, int) and position >= later)
    ]


def is_before(one: object, other: object) -> bool:
    """Whether one moment is not after another; None is now."""
    if other is None or one is other:
        return True
    if isinstance(one, int):
        return isinstance(other, int) and one <= other
    if not isinstance(one, Segment):
        return False
    return isinstance(other, int) or any(segment is other for segment in _chain(one))


def _chain(segment: Segment | None) -> Iterator[Segment]:
    while segment is not None:
        yield segment
        segment = segment.next
