"""The same files for libraries that speak fsspec: `wink-memory`, `wink-disk`, and a call's own view behind `.fs`."""

from __future__ import annotations

import io
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, cast
from weakref import finalize

from fsspec import AbstractFileSystem  # pyright: ignore[reportMissingTypeStubs]

from wink.errors import PathRefused
from wink.filesystem._filesystem import Filesystem
from wink.filesystem._results import WriteMode
from wink.filesystem._roots import HostFilesystem, InMemoryFilesystem
from wink.filesystem._streams import WriteStream

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from wink.filesystem._listing import FileEntry

__all__ = ["DiskFileSystem", "FilesystemView", "MemoryFileSystem"]

_MODES: Final[dict[str, WriteMode]] = {"wb": "overwrite", "xb": "create", "ab": "append"}


class FilesystemView(AbstractFileSystem):
    """An fsspec filesystem over one of wink's: every read and write goes through its checks, and ends with its call.

    A leading `/` means the root, as elsewhere in fsspec.
    """

    protocol = "wink"
    cachable = False
    root_marker = ""

    def __init__(self, files: Filesystem, **options: Any) -> None:
        cast("Any", super()).__init__(**options)
        self.files: Final = files

    def __reduce__(self) -> Any:
        raise TypeError(f"{type(self).__name__} cannot be pickled: its files belong to this process")

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        stripped = cast("str | list[str]", super()._strip_protocol(path))  # pyright: ignore[reportUnknownMemberType]
        return stripped.lstrip("/") if isinstance(stripped, str) else stripped

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Name, size, type and time of one path."""
        name = self._strip_protocol(path)
        stat = self.files.stat(name)
        kind = "file" if stat.is_file else "directory" if stat.is_directory else "other"
        found: dict[str, Any] = {
            "name": stat.path,
            "size": stat.size_bytes,
            "type": kind,
            "mode": stat.mode,
            "mtime": stat.modified_at.timestamp(),
            "islink": stat.is_link,
        }
        return {**found, "destination": stat.target} if stat.is_link else found

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        """What is in a directory; a file lists itself."""
        name = self._strip_protocol(path)
        if self.files.stat(name).is_file:
            return [self.info(name)] if detail else [name]
        entries = self.files.list(name, limit=sys.maxsize)
        if not detail:
            return [entry.path for entry in entries]
        # A link that leads nowhere has nothing to tell about its end, and one to a directory would be walked into by
        # all that goes through trees, round and round where it leads upwards.
        return [
            self._known(entry)
            if entry.is_file or (entry.is_directory and not entry.is_link)
            else {"name": entry.path, "size": 0, "type": "link" if entry.is_link else "other"}
            for entry in entries
        ]

    def _known(self, entry: FileEntry) -> dict[str, Any]:
        try:
            return self.info(entry.path)
        except (FileNotFoundError, PathRefused):
            # Gone since it was listed, or of a name that no path can have: the others are listed all the same.
            return {"name": entry.path, "size": 0, "type": "other"}

    def _open(self, path: str, mode: str = "rb", *_: Any, autocommit: bool = True, **__: Any) -> Any:
        name = self._strip_protocol(path)
        if mode == "rb":
            return self.files.open_read(name)
        if mode not in _MODES:
            raise ValueError(f"mode {mode!r} is none of 'rb', 'wb', 'xb' and 'ab'")
        stream = self.files.open_write(name, _MODES[mode])
        return stream if autocommit else _Deferred(stream)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: Any) -> bytes:
        """A file's bytes, or those from `start` up to `end`."""
        if start is None and end is None:
            return self.files.read_bytes(self._strip_protocol(path))
        return cast("bytes", cast("Any", super()).cat_file(path, start, end, **options))

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> None:
        """Make a file's content `value`."""
        self.files.write_bytes(self._strip_protocol(path), value, "create" if mode == "create" else "overwrite")

    def mkdir(self, path: str, create_parents: bool = True, **_: Any) -> None:
        """Make a directory that is not there."""
        self.files.mkdir(self._strip_protocol(path), parents=create_parents, exist_ok=False)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Make a directory and those above it."""
        self.files.mkdir(self._strip_protocol(path), exist_ok=exist_ok)

    def rmdir(self, path: str) -> None:
        """Remove an empty directory."""
        self.files.delete(f"{self._strip_protocol(path)}/")

    def rm_file(self, path: str) -> None:
        """Remove a file, or an empty directory."""
        self.files.delete(self._strip_protocol(path))

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        """Remove files, and with `recursive` whole directories."""
        if isinstance(path, str) and maxdepth is None and not set(path) & set("*?["):
            self.files.delete(self._strip_protocol(path), recursive)
        else:
            cast("Any", super()).rm(path, recursive=recursive, maxdepth=maxdepth)

    def mv(self, path1: str, path2: str, recursive: bool = False, maxdepth: int | None = None, **_: Any) -> None:
        """Give a file or a directory another name; a file that is there is replaced."""
        del recursive, maxdepth  # a directory moves as a whole
        self.files.move(self._strip_protocol(path1), self._strip_protocol(path2), overwrite=True)

    def cp_file(self, path1: str, path2: str, **_: Any) -> None:
        """Copy one file, or make a directory like it."""
        source, target = self._strip_protocol(path1), self._strip_protocol(path2)
        if self.files.stat(source).is_directory:
            self.files.mkdir(target)
        else:
            self.files.copy(source, target, overwrite=True)

    def modified(self, path: str) -> datetime:
        """When the content changed last, in UTC."""
        return self.files.stat(self._strip_protocol(path)).modified_at


class MemoryFileSystem(FilesystemView):
    """Files in memory that belong to this object; fsspec's own `memory` is shared by the whole process.

    >>> files = MemoryFileSystem()
    >>> files.pipe("a/b.txt", b"text")
    >>> files.find(""), MemoryFileSystem().find("")
    (['a/b.txt'], [])
    """

    protocol = "wink-memory"

    def __init__(self, files: Filesystem | None = None, **options: Any) -> None:
        super().__init__(InMemoryFilesystem() if files is None else files, **options)


class DiskFileSystem(FilesystemView):
    """The files beneath a directory of the host, which no path and no link leads out of."""

    protocol = "wink-disk"

    def __init__(self, root: str, *, state: str | None = None, read_only: bool = False, **options: Any) -> None:
        files = HostFilesystem(root, state=state, read_only=read_only)
        super().__init__(files, **options)
        finalize(self, files.close)


class _Deferred(io.BufferedIOBase):
    """A stream opened within an fsspec transaction, whose end decides what becomes of it."""

    def __init__(self, stream: WriteStream) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        return self._stream.write(data)

    def tell(self) -> int:
        return self._stream.tell()

    def commit(self) -> None:
        """Publish the content."""
        self._stream.close()

    def discard(self) -> None:
        """Forget the content."""
        self._stream.abandon()
