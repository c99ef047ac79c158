"""Copy files of the host into the agent's own, within bounds."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from wink.dataclass import dataclass
from wink.errors import PromptValidationError
from wink_files._config import HostMount

if TYPE_CHECKING:
    from pathlib import Path

    from wink.filesystem import Filesystem

Wanted = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Source:
    """A mount whose place on the host is known and allowed."""

    mount: HostMount
    host: Path


def find_source(mount: HostMount, allowed_roots: Sequence[str | os.PathLike[str]]) -> Source:
    """Where a mount's files are; raises `PromptValidationError` where there are none, or where they may not be."""
    from pathlib import Path

    roots = [Path(root).resolve() for root in allowed_roots]
    places = [root / mount.host_path for root in roots] or [Path(mount.host_path)]
    host = next((place.resolve() for place in places if place.exists()), None)
    if host is None:
        raise PromptValidationError(
            f"mount {os.fspath(mount.host_path)!r} does not exist; give an existing file or directory"
        )
    if roots and not any(host.is_relative_to(root) for root in roots):
        allowed = ", ".join(repr(str(root)) for root in roots)
        raise PromptValidationError(
            f"mount {str(host)!r} is outside {allowed}; add its directory to allowed_host_roots"
        )
    return Source(mount, host)


def copy_in(source: Source, files: Filesystem) -> None:
    """Copy a mount's files; raises `PromptValidationError` as soon as they exceed the mount's bounds."""
    mount, count, size = source.mount, 0, 0
    for relative, path in _host_files(source):
        count += 1
        content = _read_regular(path, mount.max_bytes - size)
        if content is None:
            continue
        size += len(content)
        if count > mount.max_files or size > mount.max_bytes:
            raise PromptValidationError(
                f"mount {str(source.host)!r} holds more than {mount.max_files} files or {mount.max_bytes} bytes; "
                "narrow it with include_glob or exclude_glob, or raise max_files or max_bytes"
            )
        files.write_bytes(_joined(mount.mount_path, relative), content)


def _host_files(source: Source) -> Iterator[tuple[str, Path]]:
    """Path below the mount, and on the host, of each wanted file; sorted, so that bounds cut at the same place."""
    from pathlib import Path

    if not source.host.is_dir():
        yield source.host.name, source.host
        return
    wanted = _matcher(source.mount)
    seen: set[tuple[int, int]] = set()
    for folder, names, leaves in os.walk(source.host, followlinks=source.mount.follow_symlinks):
        if source.mount.follow_symlinks:
            # Links may form a circle; a directory is copied where it is met first.
            facts = Path(folder).stat()
            if (facts.st_dev, facts.st_ino) in seen:
                names.clear()
                continue
            seen.add((facts.st_dev, facts.st_ino))
        names.sort()
        for leaf in sorted(leaves):
            path = Path(folder, leaf)
            relative = path.relative_to(source.host).as_posix()
            if wanted(relative) and (source.mount.follow_symlinks or not path.is_symlink()):
                yield relative, path


def _matcher(mount: HostMount) -> Wanted:
    if not mount.include_glob and not mount.exclude_glob:
        return lambda _: True
    from wink.filesystem import IgnoreRules

    include = IgnoreRules(mount.include_glob or ["*"])
    exclude = IgnoreRules(mount.exclude_glob)
    return lambda path: include.covers(path) and not exclude.covers(path)


def _read_regular(path: Path, most: int) -> bytes | None:
    """Up to `most` bytes and one more, or None for what is not a regular file: opening a FIFO would block for good."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None  # a dangling link, or deleted since it was listed
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return file.read(most + 1)


def _joined(mount_path: str, relative: str) -> str:
    return f"{mount_path.strip('/')}/{relative}".lstrip("/")
