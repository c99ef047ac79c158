"""Fetch the files beneath an fsspec URL: an object store, an archive, a server."""

from __future__ import annotations

import os
from typing import Any, Final

from wink.batch._source import Source
from wink.errors import SourceUnavailable

_MARKS: Final = ("ETag", "etag", "md5Hash", "checksum", "LastModified", "mtime", "modified", "CRC", "created")
"""What the filesystems say of a file that changes when its content does; the first that is there counts."""

Listing = dict[str, dict[str, Any]]


def listing(source: Source) -> tuple[Any, str, Listing]:
    """The filesystem, the place in it, and its files by their relative paths, each with its `size` and a `mark`.

    Raises `SourceUnavailable`, also where there is nothing.
    """
    import fsspec  # pyright: ignore[reportMissingTypeStubs]

    try:
        fs: Any
        fs, root = fsspec.core.url_to_fs(source.address)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        root = str(root).rstrip("/")  # pyright: ignore[reportUnknownArgumentType]
        fs.invalidate_cache()
        found: dict[str, dict[str, Any]] = fs.find(root, detail=True)
    except Exception as error:  # foreign code: any filesystem
        reason = f"{type(error).__name__}: {error}"
        raise SourceUnavailable(str(source), reason[:500]) from error
    bare = str(fs._strip_protocol(root)).rstrip("/") if root else ""
    files: Listing = {}
    for name, info in found.items():
        if info.get("type") == "directory":
            continue
        path = name[len(bare) :].lstrip("/") if bare and name.startswith(bare) else name.lstrip("/")
        if not path:
            raise SourceUnavailable(str(source), "is a single file; name a directory, or an archive as in zip://::URL")
        mark = next((str(info[key]) for key in _MARKS if info.get(key)), "")
        files[path] = {"size": info.get("size"), "mark": mark, "name": name}
    if not files:
        raise SourceUnavailable(str(source), "there are no files")
    return fs, bare, files


def take(source: Source, fs: Any, root: str, found: Listing, tree: str) -> None:
    """Write all files of a listing beneath `tree`; raises `SourceUnavailable` also when one is not as long as it was listed."""
    del root
    from wink.batch._cache import safe_path

    for path, info in sorted(found.items()):
        place = os.path.join(tree, safe_path(path))
        try:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with fs.open(info["name"], "rb") as stream, open(place, "xb") as file:
                while piece := stream.read(1 << 20):
                    file.write(piece)
        except Exception as error:  # foreign code: any filesystem
            reason = f"{path}: {type(error).__name__}: {error}"
            raise SourceUnavailable(str(source), reason[:500]) from error
        size = os.stat(place).st_size
        if info["size"] is not None and size != info["size"]:
            raise SourceUnavailable(str(source), f"{path} was to have {info['size']} bytes and came with {size}")
