"""What is known of a file's whole content: its digest, where its lines are, and by what it is known again."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from wink.errors import PathRefused
from wink.filesystem._change import DIFFABLE_BYTES
from wink.filesystem._store import Node, Store

if TYPE_CHECKING:
    from _hashlib import HASH

    from wink.filesystem._change import FileVersion, Kept
    from wink.filesystem._stamps import Stamp

CHUNK: Final = 1024 * 1024
"""How much of a large file is held at once, in bytes."""

_KEPT: Final = 4096


class Facts(NamedTuple):
    """`lines` counts newlines, and the last line when it has none. `marks[n]` is the number of newlines in the first n MiB."""

    digest: str
    size: int
    lines: int
    has_nul: bool
    marks: tuple[int, ...] = ()


class FactCache:
    """Facts by a node's identity, so that content is not digested again as long as it cannot have changed.

    `trusted` is for stores whose content never changes in place. Elsewhere a file that was written within the clock's
    grain of its own time may be written again without a visible trace ("racy git"); such facts are not kept, nor those of
    files of which no time is known.
    """

    __slots__ = ("_clock", "_known", "_trusted")

    def __init__(self, *, trusted: bool, clock: Callable[[], int] = time.time_ns) -> None:
        self._trusted, self._clock = trusted, clock
        self._known: dict[tuple[int, ...], Facts] = {}

    def known(self, node: Node) -> Facts | None:
        """Facts that still hold for this node."""
        return self._known.get(node.identity)

    def of(self, node: Node, content: bytes) -> Facts:
        """Facts about content that is at hand."""
        facts = self._known.get(node.identity)
        if facts is None:
            facts = facts_of(content)
            self.learn(node, facts)
        return facts

    def learn(self, node: Node, facts: Facts) -> None:
        """Keep facts for the node that the content was taken from."""
        if self._trusted or 0 < node.modified_ns < self._clock() - _grain(node.modified_ns):
            if len(self._known) >= _KEPT:
                for identity in list(self._known)[: _KEPT // 4]:
                    self._known.pop(identity, None)
            self._known[node.identity] = facts

    def scan(self, node: Node, stream: BinaryIO) -> Facts:
        """Facts about a stream at its beginning, read in pieces."""
        facts = self._known.get(node.identity)
        if facts is None:
            facts = scanned(stream)
            self.learn(node, facts)
        return facts

    def at(self, store: Store, path: str) -> Facts:
        """Facts about the file at `path`, reading it only if they are not known."""
        node = store.node(path)
        facts = self._known.get(node.identity) if node.kind == "file" else None
        if facts is None:
            stream, node = store.open(path)
            with stream:
                facts = self.scan(node, stream)
        return facts


def digest(content: bytes) -> str:
    """The digest that stamps carry: SHA-256, for which processors have instructions."""
    return _sha256()(content).hexdigest()


@cache
def _sha256() -> Callable[..., HASH]:
    # Importing it takes 4 ms, so it waits for the first file.
    from hashlib import sha256

    return sha256


def facts_of(content: bytes) -> Facts:
    """Facts about content that is held in memory."""
    lines = content.count(b"\n")
    if content and content[-1] != 10:
        lines += 1
    return Facts(digest(content), len(content), lines, content.find(b"\0", 0, 8192) >= 0)


class Scanner:
    """Collects the facts about content that passes by in pieces."""

    __slots__ = ("_has_nul", "_hasher", "_last", "_newlines", "_size")

    def __init__(self) -> None:
        self._hasher = _sha256()()
        self._size = self._newlines = 0
        self._last, self._has_nul = b"\n", False

    def add(self, piece: bytes) -> int:
        """Take in the next piece; gives the number of newlines until here."""
        if piece:
            self._hasher.update(piece)
            self._has_nul = self._has_nul or (self._size < 8192 and b"\0" in piece[: 8192 - self._size])
            self._size += len(piece)
            self._newlines += piece.count(b"\n")
            self._last = piece[-1:]
        return self._newlines

    @property
    def newlines(self) -> int:
        """How many have passed."""
        return self._newlines

    def facts(self, marks: tuple[int, ...] = ()) -> Facts:
        """The facts about all that has passed."""
        lines = self._newlines + (self._last != b"\n")
        return Facts(self._hasher.hexdigest(), self._size, lines, self._has_nul, marks)


def scanned(stream: BinaryIO) -> Facts:
    """Facts about the rest of a stream, holding one piece of it at a time."""
    scanner, marks = Scanner(), [0]
    while chunk := stream.read(CHUNK):
        # A short read would put the marks in the wrong places.
        while len(chunk) < CHUNK and (more := stream.read(CHUNK - len(chunk))):
            chunk += more
        marks.append(scanner.add(chunk))
    return scanner.facts(tuple(marks))


def _grain(modified_ns: int) -> int:
    # Times that are whole hundredths of a second come from a coarse clock, FAT's counts two seconds at a time.
    return 2_000_000_000 if modified_ns % 10_000_000 == 0 else 50_000_000


def identify(store: Store, path: str, version: FileVersion, kept: Kept, stamp: Stamp | None) -> None:
    """Keep what content a call left at a path, as far as it is known, by its `stamp`, or is cheap to know."""
    if stamp is not None and stamp.size == version.size:
        kept.digest = stamp.digest
    else:
        content = version.content(DIFFABLE_BYTES)
        kept.digest = None if content is None else digest(content)
    if kept.digest is not None:
        kept.left_ns = 0  # content says more
    if path.rpartition("/")[2] == "index":
        from wink.filesystem._git_data import MOST, git_index_meaning

        # git writes its index anew all the time, and then nobody has what the call left.
        with suppress(OSError, PathRefused):
            content, now = store.read(path, MOST)
            if content is not None and (now.size, now.modified_ns) == (version.size, kept.modified_ns):
                kept.meaning = git_index_meaning(content)
