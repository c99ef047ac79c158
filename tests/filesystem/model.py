"""What files are, in a dictionary: the simple thing that every filesystem is compared with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Tree = dict[str, "Thing"]


@dataclass(frozen=True)
class Thing:
    """A file, directory or link. A directory has no content, a link nothing but its target."""

    kind: Literal["file", "directory", "link"]
    mode: int = 0o644
    content: bytes = b""
    target: str | None = None


DIRECTORY = Thing("directory", 0o755)


class Fails(Exception):
    """The operation raises an `OSError` or `ValueError` and changes nothing."""


class Missing(Fails):
    """There is nothing at the path."""


def parent_of(path: str) -> str:
    """The path without its last name."""
    return path.rpartition("/")[0]


def parents_of(path: str) -> list[str]:
    """Every directory above a path, from the top."""
    names = path.split("/")
    return ["/".join(names[:end]) for end in range(1, len(names))]


def leads_out(place: str, target: str) -> bool:
    """Whether a link that lies at a place goes up further than the root."""
    depth = place.count("/")
    for name in target.split("/"):
        depth += -1 if name == ".." else name not in ("", ".")
        if depth < 0:
            return True
    return False


class Model:
    """Operations as `wink.filesystem.Filesystem` promises them, each as a whole or not at all."""

    def __init__(self, tree: Tree | None = None) -> None:
        self.tree: Tree = dict(tree or {})

    def copy(self) -> Tree:
        """The tree as it is now."""
        return dict(self.tree)

    # -- looking

    def place(self, path: str, *, follow: bool = True) -> str:
        """Where a path leads, links followed; its directory exists. Raises `Fails`."""
        here: list[str] = []
        waiting, links = path.split("/")[::-1], 0
        while waiting:
            name = waiting.pop()
            if name in ("", "."):
                continue
            if here and self._kind(here) is None:
                raise Missing(path)
            if here and self._kind(here) != "directory":
                raise Fails(path)
            if name == "..":
                if not here:
                    raise Fails(path)
                here.pop()
                continue
            here.append(name)
            thing = self.tree.get("/".join(here))
            if thing is not None and thing.kind == "link" and (waiting or follow):
                links += 1
                if links > 40:
                    raise Fails(path)
                here.pop()
                assert thing.target is not None
                waiting += thing.target.split("/")[::-1]
        return "/".join(here)

    def at(self, path: str, *, follow: bool = True) -> Thing | None:
        """What is at the end of a path; raises `Fails` where it goes through something that is no directory."""
        try:
            place = self.place(path, follow=follow)
        except Missing:
            return None
        return DIRECTORY if not place else self.tree.get(place)

    def is_beneath_file(self, path: str) -> bool:
        """Whether a path cannot be because of something above it."""
        try:
            self.at(path)
        except Fails:
            return True
        return False

    def file(self, path: str) -> Thing:
        """The file at the end of a path."""
        thing = self.at(path)
        if thing is None:
            raise Missing(path)
        if thing.kind != "file":
            raise Fails(path)
        return thing

    def beneath(self, place: str) -> list[str]:
        """A path and everything in it."""
        return [name for name in self.tree if name == place or name.startswith(place + "/")]

    def names(self, path: str) -> list[str]:
        """What is in a directory."""
        thing = self.at(path)
        if thing is None or thing.kind != "directory":
            raise Fails(path)
        place = self.place(path)
        return sorted(name.rpartition("/")[2] for name in self.tree if parent_of(name) == place and name != place)

    # -- changing

    def put(
        self, path: str, content: bytes, *, exclusive: bool = False, mode: int | None = None, parents: bool
    ) -> None:
        """Make a file, or replace one."""
        tree = self.copy()
        try:
            if (exclusive or self.at(path) is None) and parents:
                self.make_parents(path)
            place = self.place(path, follow=not exclusive)
            old = self.tree.get(place)
            if not place or (old is not None and (exclusive or old.kind != "file")):
                raise Fails(path)
            if old is None and not exclusive and self.at(path, follow=False) is not None:
                raise Fails(path)  # a link that leads to nothing
            kept = old.mode if old is not None else 0o644
            self.tree[place] = Thing("file", kept if mode is None else mode, content)
        except Fails:
            self.tree = tree
            raise

    def append(self, path: str, content: bytes) -> None:
        """Add to a file, or make it."""
        try:
            old = self.file(path)
        except Missing:
            self.put(path, content, exclusive=True, parents=True)
        else:
            self.put(path, old.content + content, parents=False)

    def edit(self, path: str, old: str, new: str, *, replace_all: bool) -> None:
        """Replace text in a file without carriage returns."""
        content = self.file(path).content
        try:
            text = content.decode()
        except UnicodeDecodeError:
            raise Fails(path) from None
        if not old or old == new or "\0" in text or old not in text or (text.count(old) > 1 and not replace_all):
            raise Fails(path)
        self.put(path, text.replace(old, new).encode(), parents=False)

    def make_parents(self, path: str) -> None:
        """Make the directories above a path."""
        for parent in parents_of(path):
            if self.at(parent) is None:
                self._make(parent)

    def mkdir(self, path: str, *, parents: bool, exist_ok: bool) -> None:
        """Make a directory."""
        tree = self.copy()
        try:
            found = self.at(path)
            if exist_ok and found is not None and found.kind == "directory":
                return
            if parents:
                self.make_parents(path)
            self._make(path)
        except Fails:
            self.tree = tree
            raise

    def delete(self, path: str, *, recursive: bool) -> None:
        """Remove what is there."""
        place = self.place(path, follow=False)
        if place not in self.tree:
            raise Missing(path)
        inside = self.beneath(place)
        if len(inside) > 1 and not recursive:
            raise Fails(path)
        for name in inside:
            del self.tree[name]

    def move(self, path: str, target: str, *, overwrite: bool) -> None:
        """Give something another name."""
        tree = self.copy()
        try:
            self.make_parents(target)
            here, there = self.place(path, follow=False), self.place(target, follow=False)
            if here not in self.tree or (there != here and (there + "/").startswith(here + "/")):
                raise Fails(path)
            old, thing = self.tree.get(there), self.tree[here]
            if here == there and overwrite:
                return
            if old is not None and (not overwrite or "directory" in (old.kind, thing.kind)):
                raise Fails(path)
            for name in self.beneath(here):
                body = self.tree[name].target
                if body is not None and leads_out(there + name[len(here) :], body) and not leads_out(name, body):
                    raise Fails(path)
            moved = {there + name[len(here) :]: self.tree.pop(name) for name in self.beneath(here)}
            self.tree |= moved
        except Fails:
            self.tree = tree
            raise

    def copy_file(self, path: str, target: str, *, overwrite: bool) -> None:
        """Make a file like another one."""
        thing = self.file(path)
        self.put(target, thing.content, exclusive=not overwrite, mode=thing.mode, parents=True)

    def chmod(self, path: str, mode: int) -> None:
        """Set permission bits, of what a link leads to."""
        place = self.place(path)
        if place not in self.tree:
            raise Missing(path)
        self.tree[place] = replace(self.tree[place], mode=mode)

    def symlink(self, path: str, target: str) -> None:
        """Make a link that, read from where it is, stays inside."""
        place = self.place(path, follow=False)
        if place in self.tree or leads_out(place, target):
            raise Fails(path)
        self.tree[place] = Thing("link", 0o777, target=target)

    def _make(self, path: str) -> None:
        place = self.place(path, follow=False)
        if not place or place in self.tree:
            raise Fails(path)
        self.tree[place] = DIRECTORY

    def _kind(self, names: list[str]) -> str | None:
        thing = self.tree.get("/".join(names))
        return None if thing is None else thing.kind


def differing(before: Tree, after: Tree) -> set[str]:
    """The paths that are not the same in two trees."""
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
