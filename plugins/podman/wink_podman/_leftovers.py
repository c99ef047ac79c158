"""Remove the containers of processes that died before they could."""

from __future__ import annotations

import os
import subprocess
from functools import cache

from wink_podman._engine import OWNER, podman


def owner() -> str:
    """This process, told from any other that had or will have its number."""
    return f"{os.getpid()}-{_started(os.getpid())}"


@cache
def remove_leftovers() -> tuple[str, ...]:
    """Remove what dead processes left, once in the life of this one; gives the names."""
    listed = subprocess.run(
        [
            podman(),
            "ps",
            "--all",
            "--filter",
            f"label={OWNER}",
            "--format",
            f'{{{{.Names}}}} {{{{index .Labels "{OWNER}"}}}}',
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    left = [
        name for name, _, whose in (line.partition(" ") for line in listed.stdout.splitlines()) if not _is_alive(whose)
    ]
    if left:
        subprocess.run(
            [podman(), "rm", "--force", "--time", "0", "--ignore", *left],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    return tuple(left)


def _is_alive(whose: str) -> bool:
    pid, _, started = whose.partition("-")
    return pid.isdecimal() and _started(int(pid)) == started


def _started(pid: int) -> str:
    """When a process began, in the kernel's ticks since the machine did; empty where there is none."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            # The second field is a name in brackets, which may hold anything.
            return file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
