"""Play a cut of power: what a disk may hold when only what was synced is sure to be there.

The disk is one like ext4, XFS or btrfs, which keep changes of names and attributes in their order: a beginning of them
survives, at least up to the last sync of anything. What was written to a file and not synced may be there, be missing, or
be there in part, whatever came before or after it.
"""

from __future__ import annotations

import os
import random
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

_EXCHANGE = 2


class Event(NamedTuple):
    """One change that the injector saw; the fields are those of its lines."""

    what: str
    inode: int
    mode: int
    size: int
    modified_ns: int
    number: int
    source: int
    source_name: str
    target: int
    target_name: str
    data: bytes


def events(log: str) -> list[Event]:
    """Read the injector's lines."""
    found: list[Event] = []
    for line in log.splitlines():
        what, *fields = line.split("|")
        inode, mode, size, modified, number, source, source_name, target, target_name, data = fields
        numbers = [int(inode), int(mode), int(size), int(modified), int(number), int(source)]
        found.append(Event(what, *numbers, source_name, int(target), target_name, bytes.fromhex(data)))
    return found


@dataclass(slots=True)
class Node:
    """One inode. A directory's entries are in `names`, a link's target in `data`."""

    mode: int
    modified_ns: int
    data: bytearray = field(default_factory=bytearray)
    names: dict[str, int] = field(default_factory=dict[str, int])
    attributes: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def write(self, at: int, data: bytes) -> None:
        """Put content somewhere, with zeros before it where there was nothing."""
        if len(self.data) < at:
            self.data.extend(bytes(at - len(self.data)))
        self.data[at : at + len(data)] = data


class Disk:
    """A tree in memory, changed by events."""

    def __init__(self, tree: str) -> None:
        self._nodes: dict[int, Node] = {}
        self._root = self._read(tree)

    def _read(self, path: str) -> int:
        found = os.lstat(path)
        node = self._nodes.setdefault(found.st_ino, Node(found.st_mode, found.st_mtime_ns))
        if stat.S_ISDIR(found.st_mode):
            node.names = {name: self._read(f"{path}/{name}") for name in os.listdir(path)}
        elif stat.S_ISLNK(found.st_mode):
            node.data = bytearray(os.fsencode(os.readlink(path)))
        else:
            with open(path, "rb") as file:
                node.data = bytearray(file.read())
            node.attributes = {name: os.getxattr(path, name) for name in os.listxattr(path)}
        return found.st_ino

    def apply(self, event: Event, share: float = 1.0) -> None:
        """Let a change have happened, a write perhaps only in part."""
        node = self._nodes.get(event.inode)
        if node is None and event.inode:
            node = self._nodes[event.inode] = Node(event.mode, event.modified_ns)
        source, target = self._names(event.source), self._names(event.target)
        match event.what:
            case "create":
                source[event.source_name] = event.inode
                if event.number and node is not None:
                    node.data.clear()
            case "rename" if event.number & 0xFF == _EXCHANGE:
                target[event.target_name], source[event.source_name] = event.inode, event.number >> 8
            case "rename":
                if source.get(event.source_name) == event.inode:
                    del source[event.source_name]
                target[event.target_name] = event.inode
            case "link" | "mkdir" | "symlink":
                target[event.target_name] = event.inode
                if event.what == "symlink" and node is not None:
                    node.data = bytearray(event.data)
            case "unlink":
                source.pop(event.source_name, None)
            case _ if node is None:
                return
            case "write":
                node.write(event.number, event.data[: int(len(event.data) * share)])
            case "truncate":
                node.data = node.data[: event.size] + bytes(max(0, event.number - len(node.data)))
            case "extended":
                node.attributes[event.source_name] = event.data
            case _:
                pass
        if node is not None and event.what in ("write", "truncate", "attribute", "create", "symlink"):
            node.mode, node.modified_ns = event.mode, event.modified_ns

    def completed(self, done: list[Event]) -> list[Event]:
        """The same events, applied, with what can only be told in their order.

        That is the other inode of an exchange, above the flags in its number, and the new size of a file that was made
        longer; a file whose content was written as well gets its size on the disk only with that content.
        """
        found: list[Event] = []
        for event in done:
            if event.what == "rename" and event.number == _EXCHANGE:
                other = self._names(event.target)[event.target_name]
                event = event._replace(number=_EXCHANGE | other << 8)
            elif event.what == "truncate" and event.size > len(self._nodes[event.inode].data):
                event = event._replace(number=event.size)
            self.apply(event)
            found.append(event)
        return found

    def _names(self, inode: int) -> dict[str, int]:
        return self._nodes[inode].names if inode in self._nodes else {}

    def build(self, tree: str, told: Callable[[int, int], None]) -> None:
        """Make the tree on a real disk; `told` hears of each real inode and the one that it stands for."""
        made: dict[int, str] = {}
        directories: list[tuple[str, Node]] = []
        waiting = [(tree, self._root)]
        while waiting:
            path, inode = waiting.pop()
            node = self._nodes[inode]
            if inode in made:
                if not stat.S_ISDIR(node.mode):
                    os.link(made[inode], path, follow_symlinks=False)
                continue
            made[inode] = path
            if stat.S_ISDIR(node.mode):
                os.mkdir(path)
                directories.append((path, node))
                # What SQLite shares between processes is memory, and gone.
                names = ((name, child) for name, child in node.names.items() if not name.endswith("-shm"))
                waiting += [(f"{path}/{name}", child) for name, child in names]
            elif stat.S_ISLNK(node.mode):
                os.symlink(bytes(node.data), os.fsencode(path))
                os.utime(path, ns=(node.modified_ns, node.modified_ns), follow_symlinks=False)
            else:
                with open(path, "wb") as file:
                    file.write(node.data)
                for name, value in node.attributes.items():
                    os.setxattr(path, name, value)
                os.chmod(path, stat.S_IMODE(node.mode))
                os.utime(path, ns=(node.modified_ns, node.modified_ns))
            told(os.lstat(path).st_ino, inode)
        for path, node in reversed(directories):
            os.chmod(path, stat.S_IMODE(node.mode))
            os.utime(path, ns=(node.modified_ns, node.modified_ns))


def surviving(done: list[Event], dice: random.Random) -> Iterator[tuple[Event, float]]:
    """The changes that are there after the cut, and how much of each."""
    synced: dict[int, int] = {event.inode: at for at, event in enumerate(done) if event.what == "sync"}
    last = max(synced.values(), default=-1)
    cut = dice.randint(last + 1, len(done))
    for at, event in enumerate(done):
        if event.what in ("sync", "mark"):
            continue
        if event.what == "write":
            share = 1.0 if synced.get(event.inode, -1) > at else dice.choice((0.0, 0.5, 1.0, 1.0))
            if share:
                yield event, share
        elif at < cut:
            yield event, 1.0
