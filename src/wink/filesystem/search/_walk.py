"""Go through a tree in order, leaving out what is hidden from tools or ignored."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from wink.filesystem._paths import MAX_PATH_BYTES, located, protected_as
from wink.filesystem._store import NodeKind, Store
from wink.filesystem._transaction import FileTransaction
from wink.filesystem.search._listing import FileEntry, Listing

if TYPE_CHECKING:
    from wink.filesystem.search._ignored import Ignored
    from wink.filesystem.search._pattern import Pattern


class Found(NamedTuple):
    """Something that a walk came by, and that fits."""

    path: str
    kind: NodeKind


def entries(files: FileTransaction, text: str, limit: int) -> Listing[FileEntry]:
    """The first `limit` names in a directory, by name."""
    check_limit(limit)
    store = files.reading()
    path, _ = located(text)
    names = (pair for pair in store.scan(path) if protected_as(pair[0]) != ".wink")
    # A directory may hold more names than should be held at once.
    found = heapq.nsmallest(limit + 1, names)
    return Listing((_entry(store, path, name, kind) for name, kind in found[:limit]), truncated=len(found) > limit)


def walk(
    files: FileTransaction,
    text: str,
    pattern: Pattern | None = None,
    *,
    include_git: bool = False,
    respect_ignore: bool = False,
) -> Iterator[Found]:
    """Files, directories and links beneath a directory that fit, sorted within each directory.

    A file is walked as the only thing beneath itself. Directories that cannot be read are passed over, except the first.
    """
    store = files.reading()
    top, _ = located(text)
    node = store.node(top)
    start = 0 if pattern is None else pattern.start
    if node.kind != "directory":
        if pattern is None or pattern.is_end(pattern.step(start, top.rpartition("/")[2])):
            yield Found(top, node.kind)
        return
    ignored = _ignored(store) if respect_ignore else None
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
            store = files.reading()  # or an error, when the call has ended or the filesystem was closed
            try:
                inside = sorted(store.scan(path), reverse=True)
            except OSError:
                continue
            waiting.append((inside, path + "/", after))


def _ignored(store: Store) -> Ignored:
    from wink.filesystem.search._ignored import Ignored

    return Ignored(store)


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
