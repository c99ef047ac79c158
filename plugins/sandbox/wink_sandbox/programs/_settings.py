"""Say what a program may see and use."""

from __future__ import annotations

from wink.dataclass import dataclass, field

MIB = 1024 * 1024
"""A mebibyte, in bytes."""

ENVIRONMENT = (
    "LANG",
    "LANGUAGE",
    "LC_*",
    "PATH",
    "TERM",
    "TZ",
    "COLORTERM",
    "NO_COLOR",
    "USER",
    "LOGNAME",
    "HOME",
    "SHELL",
)
"""The variables that programs get unless told otherwise: none of them opens a door."""


SCRATCH = (
    "node_modules", ".venv", "/target", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis",
    ".tox", ".nox", ".gradle",
)  # fmt: skip
"""Directories of builds and caches that stay out of transactions unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a program may use; None is no limit.

    `memory_bytes` is for the whole program where the host has control groups for us, otherwise for the address space of
    each process. `file_bytes` is by how much one file may grow, `written_bytes` what it may add to the workspace's disk in all, in `made_files` files and directories at most. `output_bytes` is how much of each
    stream is kept, half of it from the beginning and half from the end.
    """

    wall_seconds: float | None = 120.0
    cpu_seconds: int | None = None
    memory_bytes: int | None = field(default=4096 * MIB, metadata={"ge": MIB})
    processes: int | None = field(default=1024, metadata={"ge": 1})
    file_bytes: int | None = field(default=2048 * MIB, metadata={"ge": 1})
    written_bytes: int | None = field(default=4096 * MIB, metadata={"ge": 1})
    made_files: int | None = field(default=1_000_000, metadata={"ge": 1})
    temporary_bytes: int = field(default=1024 * MIB, metadata={"ge": 4096})
    output_bytes: int = field(default=64 * 1024, metadata={"ge": 256})


@dataclass(frozen=True, slots=True)
class Profile:
    """What a program finds around the workspace.

    The system is read-only, home and `/tmp` are empty and private. `readable` names further files and directories of
    the host that it may read, `writable` those that it may change for real, outside of any transaction. `network` lets it
    out; otherwise there is not even a loopback shared with the host. As texts it lists the hosts that a proxy of wink's lets it reach, see
    `wink_sandbox.network.entry`. `home` is where the home directory lies.
    """

    network: bool | tuple[str, ...] = False
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    home: str | None = None
    limits: Limits = field(default_factory=Limits)
