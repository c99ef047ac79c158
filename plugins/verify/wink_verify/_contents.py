"""Whether what calls replaced is still what earlier calls have left there."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from wink.errors import WinkError
from wink_verify._entries import Mismatch, digests

if TYPE_CHECKING:
    from wink.workspace import Workspace

_MOST: Final = 100_000
"""So many versions are remembered; one that was replaced later than that many others is not compared."""
_DIGEST: Final = 64
_BLOCK: Final = 1 << 20
_LEARNED: Final = " +"


class Contents:
    """Goes along the changes of a record, and remembers the digests of what calls have left.

    A version is known by its inode, time and size, which both its writer's entry and its successor's are committed to, and so
    is the digest, where the call knew it.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._places = workspace.filesystem.places
        self._left: OrderedDict[tuple[Any, ...], str] = OrderedDict()
        self.checked = self.gone = self.unknown = 0

    def look(self, position: int, changed: str) -> None:
        """Check what a committed transaction replaced, and remember what it left; raises `Mismatch`."""
        for path, row in digests(changed, position):
            before, staged, after, digest = row[1:7], row[7], row[8:14], row[14]
            if before[0] == "file" and staged is not None:
                self._check(position, path, staged, self._left.pop(_mark(before), None))
            if after[0] == "file" and isinstance(digest, str) and not digest.endswith(_LEARNED):
                self._left[_mark(after)] = digest[:_DIGEST].strip()
                while len(self._left) > _MOST:
                    self._left.popitem(last=False)

    def _check(self, position: int, path: str, staged: str, wanted: str | None) -> None:
        if not wanted:
            self.unknown += 1
            return
        try:
            stream = self._places.open_preimage(staged)
            if stream is None:
                self.gone += 1
                return
            with stream:
                digest = sha256()
                while block := stream.read(_BLOCK):
                    digest.update(block)
        except (OSError, WinkError) as error:
            raise Mismatch(position, f"what it replaced at {path!r} cannot be read: {error}") from error
        if digest.hexdigest() != wanted:
            raise Mismatch(position, f"what it replaced at {path!r} is not what an earlier call had left there")
        self.checked += 1


def _mark(side: list[Any]) -> tuple[Any, ...]:
    return tuple(side[at] for at in (1, 4, 5))
