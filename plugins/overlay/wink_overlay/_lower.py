"""What an overlay asks of the layer beneath it, and how one of wink's own filesystems answers."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from shutil import copyfileobj
from typing import IO, BinaryIO, Final, Protocol, cast

from wink.errors import PathRefused, WinkError
from wink.filesystem import (
    ChangeSet,
    Filesystem,
    FileTransaction,
    FileVersion,
    Node,
    NodeKind,
    Staging,
    Store,
    failure,
    file_version,
    workspace_path,
)
from wink_overlay._errors import LowerFailed

PIECE: Final = 1 << 20
"""How much of a file is held at once, in bytes."""

STORED, BY_CONTENT, BY_TIME, BY_SIZE = 1, 2, 3, 4
"""What an identity begins with: from the upper layer, or by what a lower version is known again."""

_ERRORS: Final = (
    (FileNotFoundError, errno.ENOENT),
    (FileExistsError, errno.EEXIST),
    (IsADirectoryError, errno.EISDIR),
    (NotADirectoryError, errno.ENOTDIR),
    (PermissionError, errno.EACCES),
    (TimeoutError, errno.ETIMEDOUT),
)
"""What foreign code raises without a number."""


class Lower(Protocol):
    """A tree that is only read. Paths are as a store's; links are never followed here, the overlay does that.

    Errors are Python's own and `LowerFailed`; names that no path can have are not shown.
    """

    @property
    def name(self) -> str:
        """What it is, for people."""
        ...

    @property
    def has_links(self) -> bool:
        """Whether a name on the way may be a link, so that each has to be looked at."""
        ...

    def node(self, path: str) -> Node | None:
        """What is at `path`, or None."""
        ...

    def scan(self, path: str) -> Iterator[tuple[str, NodeKind]]:
        """The names in a directory, each once, in no order."""
        ...

    def open(self, path: str) -> tuple[BinaryIO, Node]:
        """A stream that can seek over a file, and its node as of opening."""
        ...

    def refresh(self) -> None:
        """Forget listings that were kept, so that the next question is answered anew."""
        ...

    def close(self) -> None:
        """Let go of what the overlay opened itself."""
        ...


class TreeLower:
    """A `Filesystem` of wink, or a directory in it, as the lower layer."""

    __slots__ = ("_base", "_part", "_to_close", "files", "has_links", "name")

    def __init__(self, files: Filesystem, path: str = "", *, owned: bool = False) -> None:
        self.files: Final = files
        self._base = files.normalize(path)
        self._part: Final[FileTransaction] = files.begin(writable=False)
        self._to_close = owned
        self.has_links: Final = True
        self.name: Final = f"{files.root}/{self._base}" if self._base else files.root

    def node(self, path: str) -> Node | None:
        """What is at `path`, or None."""
        try:
            return self._part.reading().node(self.place(path), follow=not path)
        except (FileNotFoundError, NotADirectoryError):
            if path:
                return None
            raise

    def scan(self, path: str) -> Iterator[tuple[str, NodeKind]]:
        """The names in a directory."""
        for name, kind in self._part.reading().scan(self.place(path)):
            if is_usable(name):
                yield name, kind

    def open(self, path: str) -> tuple[BinaryIO, Node]:
        """A stream over a file."""
        return self._part.reading().open(self.place(path))

    def refresh(self) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Close the filesystem, if it was made for the overlay."""
        if self._to_close:
            close = getattr(self.files, "close", None)
            if close is not None:
                close()

    def place(self, path: str) -> str:
        """A path of the overlay as one of the filesystem."""
        return f"{self._base}/{path}" if self._base and path else self._base or path


def is_usable(name: str) -> bool:
    r"""Whether a tool could name this: `..`, names with slashes, backslashes or control characters cannot be shown.

    >>> [is_usable(name) for name in ("a b.txt", "..", "../a", "a\\b", "a\0b", "")]
    [True, False, False, False, False, False]
    """
    try:
        return workspace_path(f"x/{name}").parts == ("x", name)
    except PathRefused:
        return False


def token_of(node: Node) -> str:
    """By what a version of something in the lower layer is known again, in another process too."""
    if node.kind == "directory":
        return "directory"
    # A device may get another number when it is mounted again.
    identity = node.identity[1:] if len(node.identity) == 5 else node.identity
    return f"{node.kind}:{'.'.join(map(str, identity))}"


def stored(node: Node) -> Node:
    """A node of the upper layer, never taken for one of the lower layer."""
    return Node(node.kind, node.size, node.mode, node.modified_ns, (STORED, *node.identity), node.target)


def lower_version(lower: Lower, path: str, node: Node) -> FileVersion:
    """One side of a change that is still what the lower layer has at `path`."""
    if node.kind != "file":
        size = 0 if node.kind == "directory" else node.size
        return FileVersion(node.kind, size, node.mode, node.target)
    return unchanged_version(lower, path, node)


def unchanged_version(layer: Lower | Store, path: str, node: Node) -> FileVersion:
    """A file's version that can be shown as long as what a layer has at `path` is what it was."""

    def open_content() -> BinaryIO | None:
        stream, now = layer.open(path)
        if now.identity == node.identity:
            return stream
        stream.close()
        return None

    return file_version(node.size, node.mode, open_content)


def has_same_bytes(one: BinaryIO, two: BinaryIO) -> bool:
    """Whether two streams have the same content."""
    while chunk := one.read(PIECE):
        if chunk != two.read(len(chunk)):
            return False
    return not two.read(1)


def staged(change_set: ChangeSet, stream: BinaryIO) -> Staging:
    """A stream's content in staging; closes it."""
    with stream:
        staging = change_set.stage()
        try:
            copyfileobj(stream, cast("IO[bytes]", staging), PIECE)
        except BaseException:
            staging.discard()
            raise
        return staging


def told(error: Exception, path: str, lower: str) -> OSError:
    """Whatever foreign code raised, as an error of Python's own or of wink's, about the overlay's path."""
    if isinstance(error, OSError):
        if isinstance(error, WinkError):
            return error
        code = error.errno
        if code is None:
            code = next((code for kind, code in _ERRORS if isinstance(error, kind)), None)
        if code is not None:
            return failure(code, path)
    text = " ".join(str(error).split())
    return LowerFailed(path or ".", lower, f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__)
