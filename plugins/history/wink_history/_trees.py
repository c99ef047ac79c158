"""Change a few paths of a large tree without reading or writing the rest of it."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence

from wink_history._objects import DIRECTORY, parse_tree, sort_key, tree_line
from wink_history._pack_writing import PackWriter

Entry = tuple[bytes, bytes]
"""Mode and id, as in a tree object."""
Path = Sequence[bytes]
Read = Callable[[bytes], bytes]
"""Gives the content of a tree."""


class _Directory:
    __slots__ = ("_keys", "_lines", "entries", "oid", "touched")

    def __init__(self, oid: bytes | None) -> None:
        # None while it has changes; the entries are None until somebody looks into it.
        self.oid = oid
        self.entries: dict[bytes, Entry | _Directory] | None = None if oid is not None else {}
        self.touched: set[bytes] = set()
        """Names whose entries may have changed since `content` was asked for."""
        self._keys: list[bytes] | None = None
        self._lines: dict[bytes, bytes] = {}

    def content(self) -> bytes:
        """What git stores of it; only what was touched is put together anew."""
        entries = self.entries or {}
        names = entries.keys() if self._keys is None else self.touched
        keys, lines = self._keys or [], self._lines
        for name in names:
            entry = entries.get(name)
            found = (DIRECTORY, entry.oid or b"") if isinstance(entry, _Directory) else entry
            key = None if found is None else sort_key(name, found[0])
            for old in (name, name + b"/"):
                if old != key and lines.pop(old, None) is not None:
                    del keys[bisect_left(keys, old)]
            if key is not None and found is not None:
                if key not in lines and self._keys is not None:
                    insort(keys, key)
                lines[key] = tree_line(name, found)
        self._keys = sorted(lines) if self._keys is None else keys
        self.touched.clear()
        return b"".join([lines[key] for key in self._keys])


class Tree:
    """A tree that can be changed; `root` is the id of what it begins as, None for an empty one.

    Directories that lose all they had stay, and are written as empty trees.
    """

    __slots__ = ("_read", "_root")

    def __init__(self, root: bytes | None, read: Read) -> None:
        self._root, self._read = _Directory(root), read

    def get(self, path: Path) -> Entry | None:
        """What is at a path; the id of a directory means nothing here."""
        *above, last = path
        directory = self._root
        for name in above:
            child = self._entries(directory).get(name)
            if not isinstance(child, _Directory):
                return None
            directory = child
        found = self._entries(directory).get(last)
        return (DIRECTORY, b"") if isinstance(found, _Directory) else found

    def put(self, path: Path, entry: Entry) -> None:
        """Put a file or link at a path; what stands in its way goes."""
        self._parent(path)[path[-1]] = entry

    def make(self, path: Path) -> None:
        """Let a path be a directory, empty if it was none."""
        entries = self._parent(path)
        if not isinstance(entries.get(path[-1]), _Directory):
            entries[path[-1]] = _Directory(None)

    def remove(self, path: Path) -> None:
        """Take a path away, with everything beneath it."""
        if self.get(path) is not None:
            del self._parent(path)[path[-1]]

    def write(self, writer: PackWriter) -> bytes:
        """Store what changed since the last time; gives the id of the whole."""
        # Not by recursion: trees can be deeper than Python likes.
        waiting = [self._root]
        changed: list[_Directory] = []
        while waiting:
            directory = waiting.pop()
            if directory.oid is None:
                changed.append(directory)
                assert directory.entries is not None
                children = map(directory.entries.get, directory.touched)
                waiting += [child for child in children if isinstance(child, _Directory)]
        for directory in reversed(changed):
            directory.oid = writer.add("tree", directory.content())
        return self._root.oid or b""

    def _parent(self, path: Path) -> dict[bytes, Entry | _Directory]:
        directory = self._root
        entries = self._entries(directory)
        directory.oid = None
        for name in path[:-1]:
            directory.touched.add(name)
            child = entries.get(name)
            if not isinstance(child, _Directory):
                child = entries[name] = _Directory(None)
            entries, directory = self._entries(child), child
            directory.oid = None
        directory.touched.add(path[-1])
        return entries

    def _entries(self, directory: _Directory) -> dict[bytes, Entry | _Directory]:
        if directory.entries is None:
            assert directory.oid is not None
            found = parse_tree(self._read(directory.oid))
            directory.entries = {
                name: _Directory(oid) if mode == DIRECTORY else (mode, oid) for name, (mode, oid) in found.items()
            }
        return directory.entries
