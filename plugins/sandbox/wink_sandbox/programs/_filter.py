"""Keep programs from those parts of the kernel that no build needs, with a filter of system calls.

The namespaces are the wall; this takes away what they do not cover, or what holes in them have been made of: keys and
sockets that belong to no namespace, keys typed into a terminal for others, new namespaces, mounts, the sandbox's own
first process, and the youngest and least simple interfaces. A call that is refused fails with a usual error; nothing is killed for asking.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Sequence
from functools import cache
from typing import Final

# <linux/audit.h>, and the numbers of <asm/unistd.h> in that order.
_ARCHITECTURES: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_REFUSED: Final = {
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "open_tree": (428, 428),
    "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432),
    "fspick": (433, 433), "mount_setattr": (442, 442), "open_tree_attr": (467, 467), "setns": (308, 268),
    "open_by_handle_at": (304, 265), "swapon": (167, 224), "swapoff": (168, 225), "quotactl": (179, 60),
    "quotactl_fd": (443, 443), "acct": (163, 89), "add_key": (248, 217), "request_key": (249, 218),
    "keyctl": (250, 219), "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "reboot": (169, 142), "syslog": (103, 116), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "vhangup": (153, 58), "lookup_dcookie": (212, 18), "iopl": (172, None),
    "ioperm": (173, None),
}  # fmt: skip
_UNSHARE, _CLONE, _CLONE3 = (272, 97), (56, 220), (435, 435)
_SOCKET, _IOCTL = (41, 198), (16, 29)
_PTRACE: Final = (101, 117)
_BY_PID: Final = {"pidfd_open": (434, 434), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271)}
_INIT: Final = 1
"""The sandbox's own first process. Whoever stops it or takes its descriptors keeps it from telling that the program is over."""

_NAMESPACES: Final = 0x7E020000
"""Every CLONE_NEW… that both calls know; CLONE_NEWTIME is a signal's number for `clone`, and needs CLONE_NEWUSER anyway."""
_FAMILIES: Final = (0, 1, 2, 10, 16)
"""AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6, AF_NETLINK; AF_VSOCK, for one, leads out of a virtual machine from everywhere."""
_TERMINAL: Final = (0x5412, 0x541C)
"""TIOCSTI types for whoever has the terminal, TIOCLINUX pastes."""

_LOAD, _EQUAL, _AT_LEAST, _BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_X32 = 0x40000000

_Test = tuple[int, int, int | None, int | None]
"""An operation, its value, and what to answer if it is true and if it is false; None goes on to the next one."""


@cache
def filter_of_calls(machine: str = "") -> bytes | None:
    """The filter as bubblewrap takes it, for this machine; None for a machine whose numbers are not known here."""
    machine = machine or os.uname().machine
    if machine not in _ARCHITECTURES:
        return None
    column = list(_ARCHITECTURES).index(machine)
    refused, unknown, no_family = (_ERROR | code for code in (errno.EPERM, errno.ENOSYS, errno.EAFNOSUPPORT))
    numbers = [numbers[column] for numbers in _REFUSED.values()]
    tests: list[_Test] = [
        (_LOAD, _ARCHITECTURE, None, None),
        # Another numbering of the same calls would be a way around all that follows.
        (_EQUAL, _ARCHITECTURES[machine], None, unknown),
        (_LOAD, _NUMBER, None, None),
        (_AT_LEAST, _X32, unknown, None),
        # Its flags lie in memory, where no filter can look; without it, programs use `clone`.
        (_EQUAL, _CLONE3[column], unknown, None),
        *((_EQUAL, number, refused, None) for number in numbers if number is not None),
    ]
    parts: list[tuple[int, list[_Test]]] = [
        (_CLONE[column], [(_LOAD, _FIRST, None, None), (_BITS, _NAMESPACES, refused, _ALLOW)]),
        (_UNSHARE[column], [(_LOAD, _FIRST, None, None), (_BITS, _NAMESPACES, refused, _ALLOW)]),
        (_PTRACE[column], [(_LOAD, _SECOND, None, None), (_EQUAL, _INIT, refused, _ALLOW)]),
        *(
            (numbers[column], [(_LOAD, _FIRST, None, None), (_EQUAL, _INIT, refused, _ALLOW)])
            for numbers in _BY_PID.values()
        ),
        (
            _SOCKET[column],
            [
                (_LOAD, _FIRST, None, None),
                *((_EQUAL, family, _ALLOW, None) for family in _FAMILIES[:-1]),
                (_EQUAL, _FAMILIES[-1], _ALLOW, no_family),
            ],
        ),
        (
            _IOCTL[column],
            [
                (_LOAD, _SECOND, None, None),
                (_EQUAL, _TERMINAL[0], refused, None),
                (_EQUAL, _TERMINAL[1], refused, _ALLOW),
            ],
        ),
    ]
    return _assembled(tests, parts, (refused, unknown, no_family, _ALLOW))


def _assembled(tests: Sequence[_Test], parts: Sequence[tuple[int, list[_Test]]], answers: Sequence[int]) -> bytes:
    """The tests, then for each call of `parts` its own, which are skipped for other calls; the answers come last."""
    lines: list[tuple[_Test, int]] = [(test, 0) for test in tests]
    for number, own in parts:
        lines += [((_EQUAL, number, None, None), len(own)), *((test, 0) for test in own)]
    lines.append(((_BITS, 0, _ALLOW, _ALLOW), 0))
    code = b""
    for at, ((operation, value, if_true, if_false), skipped) in enumerate(lines):

        def jump(answer: int | None, otherwise: int = 0, at: int = at) -> int:
            return otherwise if answer is None else len(lines) - at - 1 + answers.index(answer)

        code += struct.pack("<HBBI", operation, jump(if_true), jump(if_false, skipped), value)
    return code + b"".join(struct.pack("<HBBI", _RETURN, 0, 0, answer) for answer in answers)
