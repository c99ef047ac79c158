"""Take from this process what an evaluation does not need: memory, time, files, children, and nearly every system call.

The filter is the boundary, and asteval is not: whatever Python code gets to run here, the kernel lets it compute, talk
over the two pipes that it was started with, and end.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct
import sys
from typing import Final

PR_SET_PDEATHSIG: Final = 1
PR_SET_DUMPABLE: Final = 4
PR_SET_SECCOMP: Final = 22
PR_SET_NO_NEW_PRIVS: Final = 38
SECCOMP_MODE_FILTER: Final = 2

# <linux/audit.h>, and the numbers of <asm/unistd.h> in the order of NAMES.
ARCHITECTURES: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOWED: Final = {
    # name              x86_64 aarch64
    "read":             (0, 63),
    "write":            (1, 64),
    "close":            (3, 57),
    "munmap":           (11, 215),
    "brk":              (12, 214),
    "rt_sigprocmask":   (14, 135),
    "rt_sigreturn":     (15, 139),
    "mremap":           (25, 216),
    "madvise":          (28, 233),
    "getpid":           (39, 172),
    "exit":             (60, 93),
    "futex":            (202, 98),
    "clock_gettime":    (228, 113),
    "exit_group":       (231, 94),
    "restart_syscall":  (219, 128),
    "gettimeofday":     (96, 169),
    "getrandom":        (318, 278),
}  # fmt: skip
# Memory that is both written and run is how machine code gets in: no mapping may become executable.
WITHOUT_EXEC: Final = {
    "mmap":             (9, 222),
    "mprotect":         (10, 226),
}  # fmt: skip
PROT_EXEC: Final = 4

# Classic BPF: load a word of seccomp_data, jump if equal, jump if any bit is set, return.
LOAD, EQUAL, BITS, RETURN = 0x20, 0x15, 0x45, 0x06
NUMBER_AT, ARCHITECTURE_AT, THIRD_ARGUMENT_AT = 0, 4, 32
ALLOW: Final = 0x7FFF0000
REFUSE: Final = 0x00050000 | 1  # EPERM: Python turns it into a PermissionError that the model can read
KILL: Final = 0x80000000


def has_filter() -> bool:
    """Whether system calls can be filtered on this machine."""
    return sys.platform == "linux" and os.uname().machine in ARCHITECTURES


def die_with(parent: int) -> None:
    """End when the process that started this one ends, however it does."""
    if sys.platform == "linux":
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before it could be tied to
        os._exit(1)


def limit(*, memory: int, seconds: float) -> None:
    """Bound memory in bytes and processor time in seconds; allow no file, no child and no further descriptor."""
    stack = 64 * 1024 * 1024
    whole = int(seconds) + 1
    for kind, most in (
        (resource.RLIMIT_CPU, whole),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_NOFILE, 3),
        (resource.RLIMIT_STACK, stack),
        (resource.RLIMIT_AS, memory),
    ):
        hard = resource.getrlimit(kind)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(kind, (allowed, allowed))
        except (ValueError, OSError):  # macOS does not limit address space; the parent's clock still holds
            if sys.platform == "linux":
                raise


def filter_calls() -> None:
    """Refuse every system call but those for memory, the clock, the open pipes, and ending.

    Raises `OSError` where the kernel does not install the filter.
    """
    machine = os.uname().machine
    program = filter_program(machine)
    code = ctypes.create_string_buffer(program)
    header = _Program(len(program) // 8, ctypes.addressof(code))
    _prctl(PR_SET_DUMPABLE, 0)
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    _prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(header))


def filter_program(machine: str) -> bytes:
    """The filter as classic BPF; every jump is to one of its last two instructions."""
    column = list(ARCHITECTURES).index(machine)
    tests: list[tuple[int, int, str, str]] = [
        (LOAD, NUMBER_AT, "", ""),
        *((EQUAL, numbers[column], "allow", "") for numbers in ALLOWED.values()),
    ]
    for numbers in WITHOUT_EXEC.values():
        # Not this call: step over its three instructions.
        tests.append((EQUAL, numbers[column], "", "skip"))
        tests.append((LOAD, THIRD_ARGUMENT_AT, "", ""))
        tests.append((BITS, PROT_EXEC, "refuse", "allow"))
    start = [
        _instruction(LOAD, ARCHITECTURE_AT),
        _instruction(EQUAL, ARCHITECTURES[machine], 1, 0),
        _instruction(RETURN, KILL),
    ]
    code: list[bytes] = []
    for index, (operation, value, true, false) in enumerate(tests):
        after = len(tests) - index - 1
        offsets = {"": 0, "skip": 2, "refuse": after, "allow": after + 1}
        code.append(_instruction(operation, value, offsets[true], offsets[false]))
    end = [_instruction(RETURN, REFUSE), _instruction(RETURN, ALLOW)]
    return b"".join((*start, *code, *end))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _instruction(operation: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", operation, if_true, if_false, value)


def _prctl(option: int, *values: int) -> None:
    words = (*values, 0, 0, 0, 0)[:4]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, *map(ctypes.c_ulong, words)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}): {os.strerror(number)}")
