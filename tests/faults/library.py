"""Build the preloaded library of `injector.c`, and command it from within a process that runs under it."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).with_name("injector.c")

WRITE, CREATE, OPEN, REMOVE, ATTRIBUTE, SYNC, READ, SIZE = 1, 2, 4, 8, 16, 32, 64, 128
CHANGING: Final = WRITE | CREATE | REMOVE | ATTRIBUTE | SYNC | SIZE


@dataclass(frozen=True, slots=True)
class Fault:
    """What befalls a call: the injector's action, the kinds of calls it is made for, and the error's number."""

    name: str
    action: int
    kinds: int
    error: int = 0

    @property
    def kills(self) -> bool:
        """Whether the process does not live on."""
        return self.action in (1, 5)

    @property
    def goes_on(self) -> bool:
        """Whether every later call fails as well."""
        return self.action == 3


FAULTS: Final = (
    Fault("killed before the call", 1, CHANGING),
    Fault("killed within a write", 5, WRITE),
    Fault("short write", 4, WRITE),
    Fault("ENOSPC once", 2, WRITE | CREATE | ATTRIBUTE | SYNC | SIZE, errno.ENOSPC),
    Fault("ENOSPC from then on", 3, WRITE | CREATE | SYNC, errno.ENOSPC),
    Fault("EIO once", 2, CHANGING | OPEN | READ, errno.EIO),
    Fault("EIO from then on", 3, CHANGING | OPEN | READ, errno.EIO),
    Fault("EACCES once", 2, CREATE | OPEN | REMOVE | ATTRIBUTE, errno.EACCES),
    Fault("EACCES from then on", 3, CREATE | OPEN | REMOVE | ATTRIBUTE, errno.EACCES),
)
KILL: Final = FAULTS[0]
POWER: Final = "power cut"
_COUNT: Final = Fault("counting", 0, 0)


def compiler() -> str | None:
    """The system's C compiler, if there is one."""
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def build(directory: Path) -> Path:
    """Compile the library into `directory`."""
    program, library = compiler(), directory / "faults.so"
    assert program is not None, "there is no C compiler"
    options = ("-shared", "-fPIC", "-O1", "-U_FORTIFY_SOURCE", "-Wall", "-Wextra", "-Werror")
    subprocess.run([program, *options, "-o", str(library), str(SOURCE), "-ldl"], check=True)
    return library


class Injector:
    """The library that this process was started with; `tree` is where calls count."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(os.environ["LD_PRELOAD"])
        self._library.faults_open.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_int]
        self._library.faults_map.argtypes = [ctypes.c_ulong, ctypes.c_ulong]
        self._library.faults_name.restype = ctypes.c_char_p

    def watch(self, tree: str) -> None:
        """Count calls below `tree`; to be told before anything there is opened."""
        self._library.faults_tree(os.fsencode(tree))

    def open(self, fault: Fault | None = None, at: int = -1) -> None:
        """Begin to count; call number `at` suffers `fault`."""
        fault = fault or _COUNT
        self._library.faults_open(fault.action, fault.kinds, at, fault.error)

    def tell(self, fd: int) -> None:
        """Write a line on each change to `fd`; -1 for no more."""
        self._library.faults_tell(fd)

    def mark(self) -> None:
        """Write a line that says that the reply has been given."""
        self._library.faults_mark()

    def forget_inodes(self) -> None:
        """Show inodes as they are."""
        self._library.faults_map(0, 0)

    def show_inode(self, real: int, told: int) -> None:
        """Show an inode under another number."""
        self._library.faults_map(real, told)

    def pause(self) -> None:
        """Let calls pass uncounted."""
        self._library.faults_pause()

    def resume(self) -> None:
        """Count again."""
        self._library.faults_resume()

    @property
    def fired(self) -> int:
        """How many calls have failed."""
        return self._library.faults_fired()

    @property
    def trace(self) -> list[tuple[int, str]]:
        """Kind and name of each call that was counted."""
        count = self._library.faults_count()
        return [(self._library.faults_kind(n), self._library.faults_name(n).decode()) for n in range(count)]
