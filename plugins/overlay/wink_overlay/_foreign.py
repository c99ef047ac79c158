"""Read any fsspec filesystem as an overlay's lower layer, believing nothing of what it says.

Its names may be hostile, its sizes wrong, its listings old, its errors of any type, and its streams shared or unable to
seek; what comes out of here is typed, confined to the directory that the overlay is over, and read in pieces. Time, mode and
version of a file each of them tells differently.
"""

from __future__ import annotations

import errno
import io
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

from wink.errors import PathRefused
from wink.filesystem import Node, NodeKind, failure
from wink_overlay._errors import LowerFailed
from wink_overlay._lower import BY_CONTENT, BY_SIZE, BY_TIME, is_usable, told

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


BLOCK: Final = 4 * 1024 * 1024
"""How much of a file is fetched at once, in bytes."""

_WITHOUT_LINKS: Final = frozenset(
    ("abfs", "abfss", "adl", "az", "gcs", "gs", "http", "https", "memory", "oss", "s3", "s3a", "tar", "zip")
)
_SHOWN: Final = 5


class ForeignLower:
    """An fsspec filesystem, or a directory in it, as the lower layer."""

    __slots__ = ("_index", "_is_archive", "_sizes", "_top", "_warned", "base", "fs", "has_links", "name")

    def __init__(self, fs: Any, path: str = "") -> None:
        if getattr(fs, "asynchronous", False):
            raise ValueError(f"{type(fs).__name__} was made with asynchronous=True; make it without for an overlay")
        protocols = (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)
        self.fs: Final = fs
        self.base: Final = str(fs._strip_protocol(path)).rstrip("/")
        self.name: Final = f"{protocols[0]}:{self.base}"
        self.has_links: Final = not _WITHOUT_LINKS.issuperset(protocols)
        self._top = self.base.lstrip("/") + "/" if self.base.strip("/") else ""
        self._is_archive = is_fixed_archive(fs)
        self._index: dict[str, dict[str, dict[str, Any]]] | None = None
        self._sizes: dict[tuple[str, tuple[int, ...]], int] = {}
        self._warned: set[str] = set()

    # -- what is there

    def node(self, path: str) -> Node | None:
        """What is at `path`, or None."""
        info = self._info(path)
        if info is None:
            # A bucket's directory begins to exist with the first file in it.
            return None if path else Node("directory", 0, 0o755, 0, (3,))
        node = self._node(path, info)
        if not path and node.kind != "directory":
            raise failure(errno.ENOTDIR, path)
        return node

    def scan(self, path: str) -> Iterator[tuple[str, NodeKind]]:
        """The names in a directory that can be used; the others are told to the log, once."""
        seen, refused = set[str](), list[str]()
        for entry in self._entries(path):
            name = self._name_in(path, entry)
            if not name or name in seen:
                continue
            if not is_usable(name):
                refused.append(name)
                continue
            seen.add(name)
            yield name, _kind_of(entry)
        if refused and path not in self._warned:
            self._warned.add(path)
            _log(self.name, path, refused)

    def refresh(self) -> None:
        """Forget the listings that fsspec keeps."""
        if not self._is_archive:
            try:
                self.fs.invalidate_cache()
            except Exception as wrong:  # foreign code
                raise told(wrong, "", self.name) from wrong

    def close(self) -> None:
        """The filesystem is its owner's."""

    # -- content

    def open(self, path: str) -> tuple[BinaryIO, Node]:
        """A stream over a file, which it is looked up for anew."""
        if not self._is_archive:
            try:
                self.fs.invalidate_cache(self.full(path))
            except Exception as wrong:  # foreign code
                raise told(wrong, path, self.name) from wrong
        node = self.node(path)
        if node is None:
            raise failure(errno.ENOENT, path)
        if node.kind != "file":
            if node.kind == "directory":
                raise failure(errno.EISDIR, path)
            raise PathRefused(path, "is not a regular file")
        return io.BufferedReader(ForeignStream(self._opener(path), path, self.name, node.size), 1 << 17), node

    def _opener(self, path: str) -> Callable[[], Any]:
        from fsspec.implementations.memory import MemoryFileSystem  # pyright: ignore[reportMissingTypeStubs]

        full, fs = self.full(path), self.fs
        if isinstance(fs, MemoryFileSystem):
            # It hands the same stream, with one position, to everybody.
            return lambda: io.BytesIO(cast("Any", fs).cat_file(full))
        return lambda: fs.open(full, "rb", block_size=BLOCK)

    # -- what fsspec says

    def full(self, path: str) -> str:
        """A path of the overlay as the filesystem has it."""
        return f"{self.base}/{path}" if self.base and path else self.base or path

    def _info(self, path: str) -> Mapping[str, Any] | None:
        try:
            info = self.fs.info(self.full(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except Exception as wrong:  # foreign code
            raise told(wrong, path, self.name) from wrong
        if not isinstance(info, Mapping):
            raise LowerFailed(path or ".", self.name, f"its info is {type(info).__name__}, not a mapping")
        return cast("Mapping[str, Any]", info)

    def _node(self, path: str, info: Mapping[str, Any]) -> Node:
        kind = _kind_of(info)
        modified_ns, mode, identity = facts_of_info(info, kind, lambda: self._modified(path))
        if kind == "link":
            target = target_of(info)
            if target is None:
                return Node("other", 0, mode, modified_ns, identity)
            return Node("link", len(target.encode(errors="replace")), mode, modified_ns, identity, target)
        if kind == "directory" and not self.has_links:
            mode = 0o755  # a directory that begins to exist with a file in it has no mode of its own
        if kind != "file":
            return Node(kind, 0, mode, modified_ns, identity)
        size = info.get("size")
        if not isinstance(size, int) or size < 0:
            size = self._measured(path, identity)
        return Node(kind, size, mode, modified_ns, identity)

    def _modified(self, path: str) -> Any:
        try:
            return self.fs.modified(self.full(path))
        except Exception:  # foreign code, which need not know it
            return None

    def _measured(self, path: str, identity: tuple[int, ...]) -> int:
        """The size of a file of which the filesystem does not tell it, which takes reading it."""
        key = (path, identity)
        if key not in self._sizes:
            size = 0
            with ForeignStream(self._opener(path), path, self.name, 0) as stream:
                while chunk := stream.read(BLOCK):
                    size += len(chunk)
            if len(self._sizes) > 1000:
                self._sizes.clear()
            self._sizes[key] = size
        return self._sizes[key]

    def _entries(self, path: str) -> Iterator[Mapping[str, Any]]:
        if self._is_archive:
            found = self._indexed().get(path)
            if found is None and path:
                node = self.node(path)
                if node is None or node.kind != "directory":
                    raise failure(errno.ENOENT if node is None else errno.ENOTDIR, path)
            yield from (found or {}).values()
            return
        try:
            entries = self.fs.ls(self.full(path), detail=True)
        except FileNotFoundError:
            if path and self.node(path) is None:
                raise failure(errno.ENOENT, path) from None
            return
        except Exception as wrong:  # foreign code
            raise told(wrong, path, self.name) from wrong
        for entry in entries:
            if isinstance(entry, Mapping):
                yield cast("Mapping[str, Any]", entry)

    def _indexed(self) -> dict[str, dict[str, dict[str, Any]]]:
        """The entries of each directory of an archive, for which fsspec itself would go through all of it every time."""
        if self._index is None:
            try:
                entries: dict[str, Any] = self.fs.find(self.base, withdirs=True, detail=True)
            except Exception as wrong:  # foreign code
                raise told(wrong, "", self.name) from wrong
            index: dict[str, dict[str, dict[str, Any]]] = {}
            for name, info in entries.items():
                inside = name[len(self._top) :] if name.startswith(self._top) else ""
                if inside:
                    index.setdefault(inside.rpartition("/")[0], {})[name] = {**info, "name": name}
            self._index = index
        return self._index

    def _name_in(self, directory: str, entry: Mapping[str, Any]) -> str:
        """The name of an entry, or all that it says where that is no name in this directory."""
        name = entry.get("name")
        if not isinstance(name, str):
            return ""
        if self.fs.root_marker == "/" or self.base.startswith("/"):
            name = name.removeprefix("/")
        prefix = f"{self._top}{directory}/" if directory else self._top
        return name.rstrip("/").removeprefix(prefix) if name.rstrip("/") + "/" != prefix else ""


class ForeignStream(io.RawIOBase):
    """A stream of foreign code, with errors of our own, that can always seek, and tells when it ends too early."""

    def __init__(self, opener: Callable[[], Any], path: str, lower: str, size: int) -> None:
        self._opener, self._path, self._lower, self._size = opener, path, lower, size
        self._stream, self._at, self._is_whole = None, 0, True

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill `buffer`, perhaps not all of it."""
        view = memoryview(buffer).cast("B")
        data = self._guarded(lambda stream: stream.read(len(view)))
        if not isinstance(data, bytes | bytearray) or len(data) > len(view):
            raise LowerFailed(self._path, self._lower, "a read did not give what was asked for")
        view[: len(data)] = data
        self._at += len(data)
        if not data and len(view) and self._at < self._size:
            raise LowerFailed(self._path, self._lower, f"it ends after {self._at} of {self._size} bytes")
        return len(data)

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Go to another place; where the stream cannot, it is opened again and read up to there."""
        to = max(0, offset + (self._at if whence == 1 else self._size if whence == 2 else 0))
        if to == self._at:
            return to
        if self._guarded(lambda stream: stream.seekable()):
            self._guarded(lambda stream: stream.seek(to))
            self._at = to
            return to
        if to < self._at:
            self._let_go()
        while self._at < to and (data := self._guarded(lambda stream: stream.read(min(BLOCK, to - self._at)))):
            self._at += len(data)
        return self._at

    def tell(self) -> int:
        """The place in bytes."""
        return self._at

    def close(self) -> None:
        """Let go of the stream."""
        if not self.closed:
            try:
                self._let_go()
            finally:
                super().close()

    def _guarded(self, use: Callable[[Any], Any]) -> Any:
        try:
            if self._stream is None:
                self._stream = self._opener()
            return use(self._stream)
        except Exception as wrong:  # foreign code
            raise told(wrong, self._path, self._lower) from wrong

    def _let_go(self) -> None:
        stream, self._stream, self._at = self._stream, None, 0
        if stream is not None:
            try:
                stream.close()
            except Exception as wrong:  # foreign code
                raise told(wrong, self._path, self._lower) from wrong


def _kind_of(info: Mapping[str, Any]) -> NodeKind:
    if info.get("islink") is True:
        return "link"
    kind = info.get("type")
    return kind if kind in ("file", "directory", "link") else "other"


def is_fixed_archive(fs: Any) -> bool:
    """Whether this is an archive that was opened to be read."""
    from fsspec.archive import AbstractArchiveFileSystem  # pyright: ignore[reportMissingTypeStubs]

    return isinstance(fs, AbstractArchiveFileSystem) and getattr(fs, "mode", "r") == "r"


def _log(lower: str, path: str, refused: list[str]) -> None:
    import logging

    more = f" and {len(refused) - _SHOWN} more" if len(refused) > _SHOWN else ""
    shown = ", ".join(ascii(name[:80]) for name in refused[:_SHOWN])
    logging.getLogger("wink.filesystem").warning(
        "%s: names that no tool can use are hidden in %r: %s%s", lower, path or ".", shown, more
    )


_CONTENT: Final = (
    "ETag",
    "etag",
    "e_tag",
    "md5Hash",
    "md5",
    "content_md5",
    "crc32c",
    "CRC",
    "checksum",
    "sha",
    "sha256",
)
_VERSION: Final = ("generation", "VersionId", "version_id", "metageneration", "ino")
_TIMES: Final = (
    "mtime",
    "LastModified",
    "last_modified",
    "modified",
    "updated",
    "Last-Modified",
    "date_time",
    "created",
)


def facts_of_info(
    info: Mapping[str, Any], kind: NodeKind, ask_time: Callable[[], Any]
) -> tuple[int, int, tuple[int, ...]]:
    """Modification time in nanoseconds, permission bits, and identity.

    A time that is not told is 0, or 1 where content is told by other means than time and size: then facts of it can be kept.

    `ask_time` is asked for the time only where the version could not be told without it.
    """
    content = [f"{key}={info[key]}" for key in _CONTENT if info.get(key) not in (None, "", b"")]
    versions = [f"{key}={info[key]}" for key in _VERSION if info.get(key) not in (None, "")]
    times = (nanoseconds(info[key]) for key in _TIMES if info.get(key) is not None)
    modified_ns = next((time for time in times if time is not None), None)
    if kind == "file" and not content and not any(info.get(key) for key in _TIMES[:-1]):
        # A time of creation does not tell that something was written in place.
        asked = nanoseconds(ask_time())
        modified_ns = modified_ns if asked is None else asked
    how = BY_CONTENT if content else BY_SIZE if modified_ns is None else BY_TIME
    time = "" if content else str(modified_ns)  # the same content, put there once more, is the same
    facts = [kind, str(info.get("size")), *content, *versions, time, str(target_of(info))]
    return modified_ns or int(how == BY_CONTENT), _mode(info, kind), (how, _number("\n".join(facts)))


def nanoseconds(told: object) -> int | None:
    """A time in whichever form it is told, as nanoseconds since the epoch; times without a zone are UTC.

    >>> nanoseconds("1970-01-01T00:00:01Z"), nanoseconds(1.5), nanoseconds((1980, 1, 1, 0, 0, 0)), nanoseconds("soon")
    (1000000000, 1500000000, 315532800000000000, None)
    """
    try:
        if isinstance(told, str):
            told = datetime.fromisoformat(told) if told[:1].isdigit() else _of_http(told)
        elif isinstance(told, tuple):
            told = datetime(*told[:6], tzinfo=UTC)  # pyright: ignore[reportUnknownArgumentType]
        if isinstance(told, datetime):
            told = (told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp()
        if isinstance(told, bool) or not isinstance(told, int | float) or not 0 <= told < 1 << 33:
            return None
        return int(told * 1_000_000_000)
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


def target_of(info: Mapping[str, Any]) -> str | None:
    """Where a link leads, if that is told."""
    for key in ("destination", "linkname", "target"):
        target = info.get(key)
        if isinstance(target, bytes):
            target = target.decode(errors="surrogateescape")
        if isinstance(target, str) and target:
            return target
    return None


def _of_http(told: str) -> datetime:
    from email.utils import parsedate_to_datetime

    return parsedate_to_datetime(told)


def _mode(info: Mapping[str, Any], kind: NodeKind) -> int:
    mode = info.get("mode")
    if not isinstance(mode, int):
        attributes = info.get("external_attr")  # of a zip: Unix keeps the mode in the upper half
        mode = attributes >> 16 if isinstance(attributes, int) and info.get("create_system") == 3 else 0
    if kind == "link":
        return 0o777
    return mode & 0o777 or (0o755 if kind == "directory" else 0o644)


def _number(text: str) -> int:
    from hashlib import sha256

    return int.from_bytes(sha256(text.encode(errors="surrogatepass")).digest()[:8], "big")
