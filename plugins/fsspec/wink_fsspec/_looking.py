"""What fsspec asks of a filesystem without changing it: names, kinds, sizes, times, whole trees."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from datetime import datetime
from typing import Any, cast

from fsspec import AbstractFileSystem  # pyright: ignore[reportMissingTypeStubs]

from wink.errors import HandleRevoked, PathRefused
from wink.filesystem import FileEntry, Filesystem


class Looking(AbstractFileSystem):
    """The half of a view that only looks."""

    files: Filesystem

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in cast("list[Any]", path)]
        if not isinstance(path, str | os.PathLike):
            raise TypeError(f"a path is a string or a path-like object, not {path!r}")
        stripped = cast("str", super()._strip_protocol(path))  # pyright: ignore[reportUnknownMemberType]
        return stripped.lstrip("/")

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Name, size, type and time of one path."""
        stat = self.files.stat(self._strip_protocol(path))
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
        except HandleRevoked:
            raise
        except (FileNotFoundError, PathRefused):
            # Gone since it was listed, or of a name that no path can have: the others are listed all the same.
            return {"name": entry.path, "size": 0, "type": "other"}

    def exists(self, path: str, **_: Any) -> bool:
        """Whether there is something at the end of a path and its links."""
        return self._type(path) is not None

    def lexists(self, path: str, **_: Any) -> bool:
        """Whether there is something at a path, a link that leads nowhere too."""
        name = self._strip_protocol(path)
        return self.exists(name) or (bool(name) and name in self._names_beside(name))

    def isdir(self, path: str) -> bool:
        """Whether a path leads to a directory."""
        return self._type(path) == "directory"

    def isfile(self, path: str) -> bool:
        """Whether a path leads to a file."""
        return self._type(path) == "file"

    def _type(self, path: str) -> str | None:
        try:
            return cast("str", self.info(path)["type"])
        except HandleRevoked:
            raise  # nobody may conclude from the end of a call that there is nothing
        except OSError:
            return None

    def _names_beside(self, name: str) -> list[str]:
        try:
            return cast("list[str]", self.ls(name.rpartition("/")[0], detail=False))
        except HandleRevoked:
            raise
        except OSError:
            return []

    def walk(
        self,
        path: str,
        maxdepth: int | None = None,
        topdown: bool = True,
        on_error: Any = "omit",
        **options: Any,
    ) -> Generator[tuple[str, Any, Any], None, None]:
        """Each directory with its directories and files, however deep they are; fsspec's own would recurse."""
        if maxdepth is not None and maxdepth < 1:
            raise ValueError("maxdepth must be at least 1")
        detail = options.pop("detail", False)
        top = self._strip_protocol(path)
        # What to go into, and with topdown=False what to give when all within has been given.
        waiting: list[tuple[str, int, tuple[str, Any, Any] | None]] = [(top, 1, None)]
        while waiting:
            here, depth, given = waiting.pop()
            if given is not None:
                yield given
                continue
            try:
                listing = self.ls(here)
            except HandleRevoked:
                raise
            except OSError as error:
                if on_error == "raise":
                    raise
                if callable(on_error):
                    on_error(error)
                continue
            named = {"" if found["name"] == here else found["name"].rpartition("/")[2]: found for found in listing}
            directories: Any = {name: found for name, found in named.items() if found["type"] == "directory"}
            files: Any = {name: found for name, found in named.items() if name not in directories}
            if not detail:
                directories, files = list(directories), list(files)
            if topdown:
                yield here, directories, files
            else:
                waiting.append((here, depth, (here, directories, files)))
            if maxdepth is None or depth < maxdepth:
                prefix = f"{here}/" if here else ""
                waiting += [(prefix + name, depth + 1, None) for name in reversed(list(directories))]

    def created(self, path: str) -> datetime:
        """When the file was made, which is when its content was: a file that changes is replaced by another one."""
        return self.modified(path)

    def modified(self, path: str) -> datetime:
        """When the content changed last, in UTC."""
        return self.files.stat(self._strip_protocol(path)).modified_at
