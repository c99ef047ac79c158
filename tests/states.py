"""Where the state of a workspace lies, for tests that look into it."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from wink.state import adopt, locate, make, unknown


def state_of(root: str | os.PathLike[str]) -> Path:
    """The state of this workspace, whether it is there or not."""
    return Path(locate(root))


def made_state(root: str | os.PathLike[str]) -> Path:
    """The same, made."""
    place = state_of(root)
    os.close(make(str(place)))
    return place


def adopted(copy: str | os.PathLike[str]) -> None:
    """Take over the state of a workspace that was copied, as `wink trust --state` does."""
    (found,) = unknown(os.path.realpath(copy))
    adopt(os.path.realpath(copy), found)


def journals(root: str | os.PathLike[str]) -> list[str]:
    """The names in `wal` that are those of journals which have not ended; the file that is kept between them is none."""
    wal = state_of(root) / "wal"
    if not wal.is_dir():
        return []
    return sorted(name for name in os.listdir(wal) if name != "journal" or _is_begun((wal / name).read_bytes()))


def _is_begun(journal: bytes) -> bool:
    """Whether there is a header, and behind it a whole first record, which says whose it is."""
    if not any(journal[:8]) or len(journal) < 24:
        return False
    length, checksum = struct.unpack_from("<II", journal, 16)
    return zlib.crc32(journal[24 : 24 + length], zlib.crc32(journal[8:16])) == checksum


def program_has(root: str | os.PathLike[str], name: str) -> bool:
    """Whether a program under way has written this name; a glob fails on a directory that goes while it looks."""
    programs = state_of(root) / "programs"
    if not programs.is_dir():
        return False
    return any(os.path.exists(programs / program / "upper" / name) for program in os.listdir(programs))


def paths_of(root: str | os.PathLike[str]) -> Iterator[Path]:
    """Every path below a project, in order, without wink's own: a program's directories go while one looks at them."""
    for path in sorted(Path(root).iterdir()):
        if path.name != ".wink":
            yield path
            if path.is_dir() and not path.is_symlink():
                yield from paths_of(path)
