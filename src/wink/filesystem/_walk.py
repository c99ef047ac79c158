"""Go through a tree in order, leaving out what is hidden from tools or ignored."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from wink.filesystem._access import Access
from wink.filesystem._listing import FileEntry, Listing
from wink.filesystem._paths import MAX_PATH_BYTES, located, protected_as
from wink.filesystem._store import NodeKind, Store

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

    from wink.filesystem._pattern import Pattern


_MAX_IGNORE_BYTES: Final = 1 << 17
_MAX_IGNORE_LINES: Final = 2000
_MAX_STARS: Final = 16
_LINES_AT_ONCE: Final = 200
"""RE2 does not take all the lines of a very long file together."""


class Found(NamedTuple):
    """Something that a walk came by, and that fits."""

    path: str
    kind: NodeKind


def entries(access: Access, text: str, limit: int) -> Listing[FileEntry]:
    """The first `limit` names in a directory, by name."""
    check_limit(limit)
    store = access.reading()
    path, _ = located(text)
    names = (pair for pair in store.scan(path) if protected_as(pair[0]) != ".wink")
    # A directory may hold more names than should be held at once.
    found = heapq.nsmallest(limit + 1, names)
    return Listing((_entry(store, path, name, kind) for name, kind in found[:limit]), truncated=len(found) > limit)


def walk(
    access: Access,
    text: str,
    pattern: Pattern | None = None,
    *,
    include_git: bool = False,
    respect_ignore: bool = False,
) -> Iterator[Found]:
    """Files, directories and links beneath a directory that fit, sorted within each directory.

    A file is walked as the only thing beneath itself. Directories that cannot be read are passed over, except the first.
    """
    store = access.reading()
    top, _ = located(text)
    node = store.node(top)
    start = 0 if pattern is None else pattern.start
    if node.kind != "directory":
        if pattern is None or pattern.is_end(pattern.step(start, top.rpartition("/")[2])):
            yield Found(top, node.kind)
        return
    ignored = Ignored(store) if respect_ignore else None
    waiting = [(sorted(store.scan(top), reverse=True), f"{top}/" if top else "", start)]
    while waiting:
        names, prefix, state = waiting[-1]
        if not names:
            waiting.pop()
            continue
        name, kind = names.pop()
        protected = protected_as(name)
        if protected is not None and (protected == ".wink" or not include_git):
            continue
        path = prefix + name
        if ignored is not None and ignored.covers(path, is_directory=kind == "directory"):
            continue
        after = 0 if pattern is None else pattern.step(state, name)
        if pattern is None or pattern.is_end(after, is_directory=kind == "directory"):
            yield Found(path, kind)
        # What is too deep for its path to be named cannot be used either.
        is_named = len(path) < MAX_PATH_BYTES
        if kind == "directory" and is_named and (pattern is None or pattern.may_go_on(after)):
            access.reading()
            try:
                inside = sorted(store.scan(path), reverse=True)
            except OSError:
                continue
            waiting.append((inside, path + "/", after))


def check_limit(limit: int) -> None:
    """A limit must let something through."""
    if limit < 1:
        raise ValueError(f"a limit must be at least 1, not {limit}")


def _entry(store: Store, directory: str, name: str, kind: NodeKind) -> FileEntry:
    path = f"{directory}/{name}" if directory else name
    is_link = kind == "link"
    if is_link:
        try:
            kind = store.node(path).kind
        except OSError:
            kind = "link"
    return FileEntry(name, path, kind == "file", kind == "directory", is_link)


class Ignored:
    """The `.gitignore` files of a tree, read when a walk comes by, and matched in linear time: anybody may write them."""

    __slots__ = ("_specs", "_store")

    def __init__(self, store: Store) -> None:
        self._store = store
        self._specs: dict[str, list[GitIgnoreSpec]] = {}

    def covers(self, path: str, *, is_directory: bool) -> bool:
        """Whether the deepest file that has something to say about a path says that it is ignored."""
        shown = path + "/" if is_directory else path
        shown = shown.encode("utf-8", "replace").decode()  # a name that is no Unicode is matched by `?` and `*` only
        directory = path
        while directory:
            directory = directory.rpartition("/")[0]
            for spec in self._of(directory):
                beneath = shown.split("/", directory.count("/") + 1)[-1] if directory else shown
                verdict = spec.check_file(beneath).include
                if verdict is not None:
                    return verdict
        return False

    def _of(self, directory: str) -> list[GitIgnoreSpec]:
        if directory not in self._specs:
            self._specs[directory] = self._load(f"{directory}/.gitignore" if directory else ".gitignore")
        return self._specs[directory]

    def _load(self, path: str) -> list[GitIgnoreSpec]:
        try:
            stream, node = self._store.open(path)
        except OSError:
            return []
        with stream:
            text = stream.read(min(node.size, _MAX_IGNORE_BYTES)).decode(errors="replace")
        lines = [line for line in text.splitlines() if line and line[0] != "#" and line.count("*") <= _MAX_STARS]
        del lines[_MAX_IGNORE_LINES:]
        found: list[GitIgnoreSpec] = []
        for at in range(0, len(lines), _LINES_AT_ONCE):
            found += _specs(lines[at : at + _LINES_AT_ONCE])
        return found[::-1]  # the last line that has something to say decides


def _specs(lines: list[str]) -> list[GitIgnoreSpec]:
    from pathspec import GitIgnoreSpec

    try:
        return [GitIgnoreSpec.from_lines(lines, backend="re2")]
    except Exception:  # foreign code: RE2's own errors and pathspec's
        if len(lines) == 1:
            return []  # git, too, passes over a line that it does not understand
        half = len(lines) // 2
        return _specs(lines[:half]) + _specs(lines[half:])
