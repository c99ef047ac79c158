"""What an overlay's commit writes to its lower layer, in an order in which nothing is taken away before it is needed."""

from __future__ import annotations

from typing import Final, NamedTuple

from wink.filesystem import FileChange


class Write(NamedTuple):
    """One path to be made in the lower layer as the overlay shows it.

    `origin` is where a file's content is in the lower layer, None where it is in the upper one; `is_taken` says that the
    same commit changes what is there.
    """

    change: FileChange
    origin: str | None = None
    is_taken: bool = False

    @property
    def path(self) -> str:
        """The path, in both layers."""
        return self.change.path

    @property
    def turns(self) -> bool:
        """Whether a file becomes a directory, or the like: the one has to go before the other can come."""
        before, after = self.change.before, self.change.after
        return before is not None and after is not None and before.kind != after.kind


class Order:
    """The steps: fetch what would be lost, clear what is in the way, make what is new, remove what is left.

    `moves` are those that a rename can do, by where they come from; with `turns` in play none is, as a name may be in the
    way of another one twice.
    """

    __slots__ = ("early", "fetches", "late", "makes", "moves", "writes")

    def __init__(self, writes: list[Write]) -> None:
        self.writes: Final = sorted(writes, key=lambda write: write.path)
        turned = {write.path for write in writes if write.turns}
        deleted = {write.path for write in writes if write.change.after is None}
        self.moves: Final = {
            write.origin: write
            for write in self.writes
            if write.origin in deleted and write.change.before is None and not turned
        }
        self.fetches: Final = [
            write for write in self.writes if write.is_taken and self.moves.get(write.origin or "") is not write
        ]
        gone = [write for write in reversed(self.writes) if write.change.after is None and write.path not in self.moves]
        self.early: Final = [
            write
            for write in reversed(self.writes)
            if write.turns or (write.change.after is None and _is_beneath(write.path, turned))
        ]
        self.late: Final = [write for write in gone if not _is_beneath(write.path, turned)]
        self.makes: Final = [write for write in self.writes if write.change.after is not None]


def above(path: str) -> list[str]:
    """The directories above a path, from the top.

    >>> above("a/b/c.txt")
    ['a', 'a/b']
    """
    names = path.split("/")[:-1]
    return ["/".join(names[: count + 1]) for count in range(len(names))]


def _is_beneath(path: str, places: set[str]) -> bool:
    return bool(places) and any(directory in places for directory in above(path))
