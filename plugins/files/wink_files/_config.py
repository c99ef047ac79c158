"""The limits of the file tools, and the host directories that they start with."""

from __future__ import annotations

import os
from collections.abc import Sequence

from wink.dataclass import dataclass, field


@dataclass(frozen=True, slots=True)
class HostMount:
    """A file or directory of this machine to be copied into the agent's files; changes never come back.

    `mount_path` is where the copy goes, the root when left out. The globs are read as in a `.gitignore`: `*.py` matches at every
    depth, `/docs/**` only below the top; with `include_glob` only matching files are copied, and `exclude_glob` takes
    out of these. More than `max_files` files or `max_bytes` bytes are refused, not cut short.
    """

    host_path: str | os.PathLike[str]
    mount_path: str = ""
    include_glob: Sequence[str] = ()
    exclude_glob: Sequence[str] = ()
    max_bytes: int = 64 * 1024 * 1024
    max_files: int = 20_000
    follow_symlinks: bool = False


@dataclass(frozen=True, slots=True)
class VfsConfig:
    """How much the file tools show and accept at a time.

    `allowed_host_roots`, when given, are the only directories that mounts may lie beneath; a relative `host_path` is then
    looked up in them, in order.
    """

    mounts: Sequence[HostMount] = ()
    allowed_host_roots: Sequence[str | os.PathLike[str]] = ()
    max_read_lines: int = field(default=2000, metadata={"description": "Most lines that one read_file shows.", "ge": 1})
    max_read_chars: int = field(
        default=100_000, metadata={"description": "Most characters that one read_file or read_bytes shows.", "ge": 1}
    )
    max_write_bytes: int = field(
        default=5_000_000,
        metadata={"description": "Most bytes that one call writes, or that one edit makes a file longer by.", "ge": 1},
    )
    max_entries: int = field(default=500, metadata={"description": "Most names that ls and glob show.", "ge": 1})
    max_matches: int = field(default=200, metadata={"description": "Most lines that grep shows.", "ge": 1})
    max_line_chars: int = field(
        default=2000, metadata={"description": "Characters after which read_file cuts a line.", "ge": 1}
    )
    max_match_chars: int = field(
        default=500, metadata={"description": "Characters after which grep cuts a line.", "ge": 1}
    )
    respect_ignore_files: bool = field(
        default=True, metadata={"description": "Whether glob and grep leave out what .gitignore files name."}
    )
