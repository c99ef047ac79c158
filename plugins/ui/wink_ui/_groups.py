"""Lay out many changes as `wink diff` does: files that people look for with their diffs, the rest in a line a directory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from wink.dataclass import dataclass
from wink.filesystem import FileChange, quoted_path
from wink.filesystem.diffs import Folded, Repository, grouped, without_filled
from wink.workspace import Workspace
from wink_ui._asked import path_field
from wink_ui._diffs import FileDiff, file_diff

LISTED: Final = 500
"""So many files are listed, and so many directories after them."""
NAMED: Final = 100
"""So many paths of a directory are named."""
_SHARED: Final = -1


@dataclass(frozen=True, slots=True)
class Group:
    """What is told of a directory at once: its path, a sentence, its changes, and the `places` by which they are chosen.

    At and beneath the places, as fields of a form with spaces between, are these changes and no other; there is none
    where that cannot be said.
    """

    directory: str
    told: str
    changes: tuple[FileChange, ...]
    places: str

    @property
    def field(self) -> str:
        """The directory, for an address."""
        return path_field(self.directory)


@dataclass(frozen=True, slots=True)
class Sorted:
    """Files to be shown one by one, and groups; each change is in one of them, but for directories with something in them."""

    files: tuple[FileChange, ...]
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """A file, `number` among all of the changes, with its diff, or without where that is made when it is asked for."""

    number: int
    change: FileChange
    diff: FileDiff | None

    @property
    def told(self) -> FileDiff | FileChange:
        """What is known of it by now."""
        return self.diff or self.change


def sort_out(workspace: Workspace, changes: Sequence[FileChange]) -> Sorted:
    """Sort all changes that belong together, by the rules that the workspace has for what is ignored."""
    ignored = None if workspace.record.imported is not None else workspace.filesystem.ignored()
    found = grouped(changes, ignored)
    heaps = (*found.folded, *found.repositories)
    owners = _owners(found.shown, heaps)
    groups = tuple(_group(heap, number, owners) for number, heap in enumerate(heaps, 1))
    return Sorted(tuple(without_filled(found.shown, changes)), groups)


def listed(files: Sequence[FileChange], changes: Sequence[FileChange], most_rows: int) -> list[Listed]:
    """The first of the files with their numbers among all changes; with diffs as long as these have no more rows together."""
    numbers = {change.path: number for number, change in enumerate(changes)}
    found: list[Listed] = []
    rows = 0
    for change in files[:LISTED]:
        diff = None if rows >= most_rows else file_diff(change)
        rows += 0 if diff is None else len(diff.rows) + 1
        found.append(Listed(numbers[change.path], change, diff))
    return found


def _owners(shown: Sequence[FileChange], heaps: Sequence[Folded | Repository]) -> dict[str, int]:
    """Whose changes are at and beneath each path: those of the heap with this number, of no heap (0), or of several."""
    owners: dict[str, int] = {}
    for number, changes in enumerate((shown, *(heap.changes for heap in heaps))):
        for change in changes:
            for path in _ways(change.path):
                owners[path] = number if owners.setdefault(path, number) == number else _SHARED
    return owners


def _group(heap: Folded | Repository, number: int, owners: dict[str, int]) -> Group:
    places: dict[str, None] = {}
    for change in heap.changes:
        within = (path for path in _ways(change.path) if len(path) >= len(heap.directory))
        place = next((path for path in within if owners[path] == number), None)
        if place is not None:
            places[place] = None
    told = str(heap).removeprefix(f"{quoted_path(heap.directory)}: ")
    return Group(
        heap.directory, told, tuple(without_filled(heap.changes, heap.changes)), " ".join(map(path_field, places))
    )


def _ways(path: str) -> list[str]:
    """The directories above a path, from the top, and the path."""
    return [*(path[:at] for at, letter in enumerate(path) if letter == "/"), path]
