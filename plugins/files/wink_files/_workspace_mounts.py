"""Copy files of the host into the files that a prompt works on, within bounds."""

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from wink.dataclass import dataclass
from wink.errors import FileTooLarge, PathRefused, PromptValidationError

if TYPE_CHECKING:
    from wink.filesystem import Filesystem

__all__ = ["Mount", "fresh_files", "mounts_of", "top_of"]


@dataclass(frozen=True, slots=True)
class Mount:
    """A file or directory of the host, and where its copy goes."""

    path: str
    host: str
    is_directory: bool


def mounts_of(mounts: Mapping[str, str | os.PathLike[str]], section_path: tuple[str, ...]) -> tuple[Mount, ...]:
    """Look at what is to be copied; raises `PromptValidationError` for what is not there or cannot be the copy's place."""
    from wink.filesystem import is_protected_name, workspace_path

    found: list[Mount] = []
    for path, host in mounts.items():
        where = os.path.abspath(host)
        try:
            place = "" if path in ("", ".", "/") else str(workspace_path(path))
        except PathRefused as error:
            raise PromptValidationError(f"a mount cannot be at {path!r}: {error}", section_path) from error
        if any(map(is_protected_name, place.split("/"))):
            raise PromptValidationError(f"a mount cannot be at {path!r}, which is never written", section_path)
        if not os.path.isdir(where) and not os.path.isfile(where):
            raise PromptValidationError(
                f"the mount {os.fspath(host)!r} does not exist; give an existing file or directory", section_path
            )
        found.append(Mount(place, where, os.path.isdir(where)))
    return tuple(found)


def top_of(mounts: tuple[Mount, ...], limit: int) -> tuple[list[str], bool]:
    """What will be at the top of the copies, directories with a slash, and whether there is more than `limit`."""
    from wink.filesystem import HostFilesystem

    names: set[str] = set()
    truncated = False
    for mount in mounts:
        if mount.path:
            first, _, rest = mount.path.partition("/")
            names.add(f"{first}/" if rest or mount.is_directory else first)
        elif mount.is_directory:
            with HostFilesystem(mount.host, read_only=True) as host:
                entries = host.list(".", limit=limit)
            truncated = truncated or entries.truncated
            names |= {f"{entry.name}/" if entry.is_directory else entry.name for entry in entries if not entry.is_link}
        else:
            names.add(os.path.basename(mount.host))
    found = sorted(names - {".git/"})
    return found[:limit], truncated or len(found) > limit


def fresh_files(mounts: tuple[Mount, ...], *, max_files: int, max_bytes: int) -> "Filesystem":
    """New files in memory with copies of all mounts; raises `PromptValidationError` when they exceed the bounds.

    Links are not followed, and `.git` is not copied.
    """
    from wink.filesystem import InMemoryFilesystem

    files = InMemoryFilesystem()
    count = size = 0
    for mount in mounts:
        for path, content in _contents(mount, max_bytes):
            count, size = count + 1, size + (max_bytes + 1 if content is None else len(content))
            if count > max_files or content is None or size > max_bytes:
                raise PromptValidationError(
                    f"the mounts hold more than {max_files} files or {max_bytes} bytes; "
                    "mount less, or raise max_files or max_bytes"
                )
            files.write_bytes(path, content)
    return files


def _contents(mount: Mount, limit: int) -> "Iterator[tuple[str, bytes | None]]":
    """Where each file goes, and what is in it; `None` for one that is too large."""
    from wink.filesystem import HostFilesystem

    root, name = (mount.host, "") if mount.is_directory else os.path.split(mount.host)
    with HostFilesystem(root, read_only=True) as host:
        if not mount.is_directory:
            yield mount.path or name, _content(host, name, limit)
            return
        for match in host.iglob("**"):
            version = host.version(match.path) if match.is_file else None
            if version is None or version.kind != "file":
                continue  # a link, a FIFO or a device; or gone since it was listed
            try:
                content = _content(host, match.path, limit)
            except (FileNotFoundError, PathRefused):
                continue  # replaced since then
            yield f"{mount.path}/{match.path}".lstrip("/"), content


def _content(host: "Filesystem", path: str, limit: int) -> bytes | None:
    try:
        content = host.read_bytes(path, limit=limit + 1)
    except FileTooLarge:
        return None
    return content if len(content) <= limit else None
