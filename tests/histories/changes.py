"""What leads from one tree to the next: changes that a person would make, in an order in which they can be made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from typing import Final

from .trees import Change, Chmod, Edit, Link, Mkdir, Move, Put, Remove, Tree, beneath, changed

SMALL: Final = 4
"""Up to so many places that differ are edited; a file that differs in more is written anew."""
_CONTEXT: Final = 30


class Plan:
    """Changes in three parts: first what must be out of the way, then contents, which are independent of each other."""

    def __init__(self, before: Tree, after: Tree) -> None:
        self.tree, self._after = before, after
        self.first: list[Change] = []
        self.contents: list[tuple[Change, ...]] = []
        self.last: list[Change] = []
        for part, changes in (
            (self.first, self._moved_directories),
            (self.first, self._moved_files),
            (self.first, self._gone),
            (self.first, self._writable),
            (None, self._contents),
            (self.last, self._links_and_directories),
            (self.last, self._modes),
        ):
            self._make(changes, part)
        assert self.tree == after, "the plan does not lead there"

    def _make(self, changes: Callable[[], Iterator[Change]], part: list[Change] | None) -> None:
        grouped: dict[str, list[Change]] = defaultdict(list)
        for change in changes():
            self.tree = changed(self.tree, change)
            if part is None:
                grouped[change.path].append(change)
            else:
                part.append(change)
        self.contents += [tuple(group) for group in grouped.values()]

    def _moved_directories(self) -> Iterator[Change]:
        """A directory that is gone, and a new one that has most of its names."""
        before, after = self.tree, self._after
        gone = sorted(set(_directories(before)) - set(after), key=lambda path: (path.count("/"), path))
        new = set(_directories(after)) - set(before)
        moved: list[str] = []
        for path in gone:
            if any(up in moved for up in _above(path)):
                continue
            names = {name.removeprefix(path) for name in beneath(before, path)}
            found = {one: len(names & {name.removeprefix(one) for name in beneath(after, one)}) for one in sorted(new)}
            target = max(found, key=found.__getitem__, default="")
            if len(names) > 1 and found.get(target, 0) * 2 > len(names) and path not in _above(target):
                yield Move(path, target)
                moved.append(path)
                # What is in it is there now, and so is what it is in.
                new -= {target, *_above(target), *beneath(after, target)}

    def _moved_files(self) -> Iterator[Change]:
        """A file that is gone, and a new one of the same bytes."""
        before, after = self.tree, self._after
        gone: dict[bytes, list[str]] = defaultdict(list)
        for path, entry in before.items():
            if entry.kind == "file" and entry.content and path not in after:
                gone[entry.content].append(path)
        for path, entry in after.items():
            sources = gone.get(entry.content) if entry.kind == "file" and path not in before else None
            if not sources or any(before[up].kind != "directory" for up in _above(path) if up in before):
                continue
            name = path.rpartition("/")[2]
            source = max(sources, key=lambda one: (one.rpartition("/")[2] == name, one))
            sources.remove(source)
            yield Move(source, path)

    def _gone(self) -> Iterator[Change]:
        """What is not there any more, or is of another kind; a directory at once."""
        before, after, removed = self.tree, self._after, set[str]()
        for path, entry in sorted(before.items()):
            kept = after.get(path)
            same = kept is not None and kept.kind == entry.kind and (entry.kind != "link" or kept == entry)
            if not same and not any(up in removed for up in _above(path)):
                removed.add(path)
                yield Remove(path)

    def _writable(self) -> Iterator[Change]:
        """Who may not write a file may not replace it either, unless they are root."""
        for path, entry in sorted(self.tree.items()):
            same = path in self._after and self._after[path].content == entry.content
            if entry.kind == "file" and not entry.mode & 0o200 and not same:
                yield Chmod(path, entry.mode | 0o200)

    def _contents(self) -> Iterator[Change]:
        before = self.tree
        for path, entry in sorted(self._after.items()):
            if entry.kind == "file":
                old = before.get(path)
                if old is None:
                    yield Put(path, entry.content)
                elif old.content != entry.content:
                    yield from _edits(path, old.content, entry.content) or [Put(path, entry.content)]

    def _links_and_directories(self) -> Iterator[Change]:
        before = self.tree
        for path, entry in sorted(self._after.items()):
            if path not in before and entry.kind == "link":
                yield Link(path, entry.content.decode())
            elif path not in before and entry.kind == "directory":
                yield Mkdir(path)

    def _modes(self) -> Iterator[Change]:
        before = self.tree
        # From the deepest up, as a directory may be closed.
        for path, entry in sorted(self._after.items(), reverse=True):
            if path in before and before[path].mode != entry.mode and entry.kind != "link":
                yield Chmod(path, entry.mode)


def _directories(tree: Tree) -> list[str]:
    return [path for path, entry in tree.items() if entry.kind == "directory"]


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


SHOWN_WIDTH: Final = 2000
"""So many characters of a line are shown by one `read_file`."""


def as_text(content: bytes) -> str | None:
    """The text that a file holds, if it is text that tools show and change as it stands."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _edits(path: str, before: bytes, after: bytes) -> list[Change]:
    """The few places in which a text differs, each with as many lines around it as make it the only one of its kind."""
    one, other = as_text(before), as_text(after)
    if one is None or other is None or "\r" in one + other or max(len(one), len(other)) > 200_000:
        return []
    if max(map(len, (one + other).split("\n"))) >= SHOWN_WIDTH:
        return []  # a read shows such a line in part, and what is not known is not edited
    old, new = one.splitlines(keepends=True), other.splitlines(keepends=True)  # also at form feeds, which is as good
    places = [code for code in SequenceMatcher(None, old, new).get_opcodes() if code[0] != "equal"]
    if not 0 < len(places) <= SMALL:
        return []
    edits: list[Change] = []
    text = one
    # From the end, so that the lines before keep their numbers.
    for _, start, end, begin, finish in reversed(places):
        found = _only(text, old, start, end)
        if found is None:
            return []
        top, bottom = found
        piece = "".join(old[top:bottom])
        put = "".join([*old[top:start], *new[begin:finish], *old[end:bottom]])
        if piece == put:
            return []
        edits.append(Edit(path, piece, put))
        text = text.replace(piece, put)
    return edits if text == other else []


def _only(text: str, lines: list[str], start: int, end: int) -> tuple[int, int] | None:
    """The lines to name so that there is no doubt which are meant."""
    for more in range(_CONTEXT):
        top = max(start - more, 0)
        piece = "".join(lines[top:end])
        if piece and text.find(piece) >= 0 and text.find(piece, text.find(piece) + 1) < 0:
            return top, end
    return None
