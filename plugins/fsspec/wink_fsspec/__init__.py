"""The same files for libraries that speak fsspec: `wink` (disk), `wink-memory`, and a call's own view behind `.fs`.

    fsspec.open("wink://src/a.py", root="/srv/project")    # a path is relative to the root, and stays beneath it
    pandas.read_csv("wink://data.csv", storage_options={"root": "/srv/project"})
    fsspec.filesystem("wink-memory")                        # files of its own

`wink` takes the options of `HostFilesystem`: `root`, `state`, `durability`, `read_only`, `portable_names`, `max_file_bytes`. A leading `/`
means the root, as elsewhere in fsspec. Nothing is cached: two filesystems of one name share no state.
"""

from __future__ import annotations

import os
from typing import Any, Final, Literal
from weakref import finalize

from fsspec.utils import tokenize  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

from wink.filesystem import MAX_FILE_BYTES, Filesystem, HostFilesystem, InMemoryFilesystem
from wink_fsspec._view import FilesystemView, check_options

__all__ = ["DiskFileSystem", "FilesystemView", "MemoryFileSystem"]


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
    """The files beneath the directory `root` of the host, which no path and no link leads out of.

    `state`, `durability`, `read_only`, `portable_names` and `max_file_bytes` are those of `HostFilesystem`. A pickled one opens the same
    directory again.
    """

    protocol = ("wink", "wink-disk")

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        *,
        state: str | os.PathLike[str] | None = None,
        durability: Literal["process", "power"] = "process",
        read_only: bool = False,
        portable_names: bool = True,
        max_file_bytes: int = MAX_FILE_BYTES,
        **options: Any,
    ) -> None:
        if root is None:
            raise TypeError(
                "a root is missing; name the directory to open, as in fsspec.filesystem('wink', root='/work')"
            )
        check_options(options)
        self._made_by: Final[dict[str, Any]] = {
            "root": os.path.abspath(root),
            "state": None if state is None else os.path.abspath(state),
            "durability": durability,
            "read_only": read_only,
            "portable_names": portable_names,
            "max_file_bytes": max_file_bytes,
        }
        files = HostFilesystem(**self._made_by)
        super().__init__(files, **options)
        finalize(self, files.close)

    @property
    def _fs_token(self) -> Any:
        return tokenize("wink", **self._made_by)

    def __reduce__(self) -> Any:
        return _reopened, (type(self), self._made_by)

    def to_dict(self, *, include_password: bool = True) -> dict[str, Any]:  # noqa: ARG002 - there is none
        """What makes a filesystem over the same directory, for `from_dict` and `from_json`."""
        return {"cls": f"{DiskFileSystem.__module__}:DiskFileSystem", "protocol": "wink", "args": (), **self._made_by}


def _reopened(kind: type[DiskFileSystem], options: dict[str, Any]) -> DiskFileSystem:
    return kind(**options)
