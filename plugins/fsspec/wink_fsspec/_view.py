"""An fsspec filesystem over one of wink's: what reads content, and what changes files."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any, Final, cast
from weakref import WeakKeyDictionary

from fsspec.callbacks import DEFAULT_CALLBACK  # pyright: ignore[reportMissingTypeStubs]
from fsspec.compression import compr  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]
from fsspec.core import get_compression  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]
from fsspec.utils import tokenize  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

from wink.errors import FileTooLarge
from wink.filesystem import Filesystem, TextStream, WriteMode
from wink_fsspec._looking import Looking
from wink_fsspec._streams import CHUNK, AllOrNothing, Compressed, Deferred

_MODES: Final[dict[str, WriteMode]] = {"wb": "overwrite", "xb": "create", "ab": "append"}
_MAGIC: Final = frozenset("*?[")
_FSSPECS_OWN: Final = frozenset(
    ("asynchronous", "batch_size", "listings_expiry_time", "loop", "max_paths", "use_listings_cache")
)

_names: Final[WeakKeyDictionary[Filesystem, str]] = WeakKeyDictionary()


class FilesystemView(Looking):
    """An fsspec filesystem over one of wink's: every read and write goes through its checks, and ends with its call.

    What is opened for writing within fsspec's `with fs.transaction:` appears at its end, either all of it or nothing.
    """

    protocol = "wink"
    cachable = False
    root_marker = ""
    transaction_type = AllOrNothing

    def __init__(self, files: Filesystem, **options: Any) -> None:
        check_options(options)
        cast("Any", super()).__init__(**options)
        self.files = files

    def __reduce__(self) -> Any:
        raise TypeError(f"{type(self).__name__} cannot be pickled: its files belong to this process")

    def to_dict(self, *, include_password: bool = True) -> dict[str, Any]:  # noqa: ARG002 - there is none
        """Only what lies in a directory can be named to others; raises `TypeError`."""
        raise TypeError(f"{type(self).__name__} cannot be written down: its files belong to this process")

    # Equal are views of the same files: fsspec would compare how they were made, and two that are empty are made alike.

    @property
    def _fs_token(self) -> Any:
        return tokenize(type(self).__name__, _names.setdefault(self.files, os.urandom(16).hex()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FilesystemView) and self._fs_token == other._fs_token

    def __hash__(self) -> int:
        return hash(self._fs_token)

    # -- content

    def open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        cache_options: dict[str, Any] | None = None,
        compression: str | None = None,
        **options: Any,
    ) -> Any:
        """A stream to read, to replace (`w`), to make (`x`) or to append to (`a`) a file; text unless there is a `b`.

        What is written becomes the file's when the stream is closed, and nothing of it when a `with` block raises.
        """
        if "b" not in mode:
            text = {name: options.pop(name) for name in ("encoding", "errors", "newline") if name in options}
            stream = self.open(path, mode.replace("t", "") + "b", compression=compression, **options)
            return TextStream(stream, **text)
        packing = get_compression(path, compression)
        if packing is None:
            return cast("Any", super()).open(path, mode, block_size, cache_options, **options)
        return Compressed(self.open(path, mode, **options), cast("Any", compr)[packing], mode[0])

    def _open(self, path: str, mode: str = "rb", *_: Any, autocommit: bool = True, **__: Any) -> Any:
        name = self._strip_protocol(path)
        if mode != "rb" and mode not in _MODES:
            raise ValueError(f"mode {mode!r} is none of 'rb', 'wb', 'xb' and 'ab'")
        stream: Any = self.files.open_read(name) if mode == "rb" else self.files.open_write(name, _MODES[mode])
        if mode != "rb" and not autocommit:
            stream.abandon()  # it was asked whether the file can be written
            stream = Deferred(self.files, name, _MODES[mode])
        # As fsspec's own streams have them; and what is being read or written keeps its filesystem open.
        stream.fs, stream.path = self, name
        return stream

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        """A file's bytes, or those from `start` up to `end`; negative ones count from the end."""
        name = self._strip_protocol(path)
        if start is None and end is None:
            with suppress(FileTooLarge):
                return self.files.read_bytes(name)
        with self.files.open_read(name) as stream:
            first, last, _step = slice(start, end).indices(stream.size)
            stream.seek(first)
            return stream.read(max(0, last - first))

    def pipe_file(self, path: str, value: Any, mode: str = "overwrite", **_: Any) -> None:
        """Make a file's content `value`; with the mode `create` it must not be there."""
        if mode not in ("overwrite", "create"):
            raise ValueError(f"mode {mode!r} is none of 'overwrite' and 'create'")
        if cast("Any", self)._intrans:
            with self.open(path, "xb" if mode == "create" else "wb") as stream:
                stream.write(value)
        else:
            self.files.write_bytes(self._strip_protocol(path), value, mode)

    def put_file(
        self, lpath: Any, rpath: str, callback: Any = DEFAULT_CALLBACK, mode: str = "overwrite", **_: Any
    ) -> None:
        """Copy a file of the host here; with the mode `create` it must not be there."""
        if os.path.isdir(lpath):
            return self.makedirs(rpath, exist_ok=True)
        with open(lpath, "rb") as source, self.open(rpath, "xb" if mode == "create" else "wb") as target:
            callback.set_size(os.fstat(source.fileno()).st_size)
            while piece := source.read(CHUNK):
                callback.relative_update(target.write(piece))
        return None

    def touch(self, path: str, truncate: bool = True, **_: Any) -> None:
        """Make an empty file; with `truncate=False` one that is there keeps its content and gets a new time."""
        if truncate or not self.exists(path):
            with self.open(path, "wb"):
                pass
        else:
            self.files.append(self._strip_protocol(path), "")

    # -- names

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
        """Remove files, and with `recursive` whole directories; a name that is there is no pattern."""
        if isinstance(path, list) and not recursive:
            for one in cast("list[Any]", path):
                self.rm(one)
        elif maxdepth is None and self._is_literal(path):
            self.files.delete(self._strip_protocol(path), recursive)
        else:
            cast("Any", super()).rm(path, recursive=recursive, maxdepth=maxdepth)

    def mv(self, path1: Any, path2: Any, recursive: bool = False, maxdepth: int | None = None, **options: Any) -> None:
        """Give a file or a whole directory another name; a file that is there is replaced, a directory takes it in."""
        if maxdepth is not None or not self._is_literal(path1) or not isinstance(path2, (str, os.PathLike)):
            return cast("Any", super()).mv(path1, path2, recursive=recursive, maxdepth=maxdepth, **options)
        source, target = self._strip_protocol(path1), self._strip_protocol(path2)
        if source != target and (str(cast("object", path2)).endswith("/") or self.isdir(target)):
            target = f"{target}/{source.rpartition('/')[2]}".lstrip("/")
        if source != target or not self.exists(source):
            self.files.move(source, target, overwrite=True)
        return None

    def cp_file(self, path1: str, path2: str, **_: Any) -> None:
        """Copy one file, or make a directory like it."""
        source, target = self._strip_protocol(path1), self._strip_protocol(path2)
        if self.files.stat(source).is_directory:
            self.files.mkdir(target)
        else:
            self.files.copy(source, target, overwrite=True)

    def _is_literal(self, path: Any) -> bool:
        if not isinstance(path, (str, os.PathLike)):
            return False
        name = self._strip_protocol(path)
        return not set(name) & _MAGIC or self.lexists(name)


def check_options(options: dict[str, Any]) -> None:
    """An option that does nothing would be a promise that is not kept, `readonly` for one."""
    for name in options.keys() - _FSSPECS_OWN:
        raise TypeError(
            f"there is no option {name!r}; there are root, state, durability, read_only, portable_names and max_file_bytes"
        )
