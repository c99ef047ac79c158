"""Make the namespaces of calls ahead of them, with whatever has to be a call's own in there, and give up the rights to do so."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import struct
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

from wink_sandbox.programs import _launcher as launcher
from wink_sandbox.programs._launcher import check, libc

_CLONE_NEWCALL: Final = 0x04000000 | 0x08000000 | launcher.CLONE_NEWNS
"""A call has names, objects of System V, and mounts of its own."""
_CLONE_NEWPID, _CLONE_NEWNET = 0x20000000, 0x40000000
_PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 4, 22, 24
_SECCOMP_MODE_FILTER, _CAPABILITIES = 2, 0x20080522
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1


class Helper:
    """The process that makes namespaces: a small one, so that it forks quickly, and what it forks ends quickly."""

    def __init__(self, setup: Mapping[str, Any]) -> None:
        self._socket, theirs = socket.socketpair()
        if not os.fork():
            try:
                self._socket.close()
                _make_slots(theirs, setup)
            finally:
                os._exit(1)
        theirs.close()

    def first(self) -> int:
        """A descriptor of the first process of new namespaces; raises `OSError`."""
        self._socket.sendall(b"s")
        data, fds, _, _ = socket.recv_fds(self._socket, 1, 1)
        if data != b"s" or not fds:
            raise OSError("no namespaces could be made")
        os.set_inheritable(fds[0], False)
        return fds[0]


def enter_first(first: int) -> None:
    """Have what this process forks next be born in the names of processes that `Helper.first` gave."""
    check(libc.setns(first, _CLONE_NEWPID), "setns")


def enter(first: int, setup: Mapping[str, Any]) -> None:
    """Enter all the others of the same call."""
    check(libc.setns(first, _namespaces(setup)), "setns")


def _make_slots(asked: socket.socket, setup: Mapping[str, Any]) -> None:
    # Nobody needs to wait for what this forks, nor for what its first processes inherit.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while asked.recv(1):
        if not os.fork():
            try:
                _make_slot(asked, setup)
            except BaseException:
                asked.sendall(b"f")
            finally:
                os._exit(0)


def _make_slot(asked: socket.socket, setup: Mapping[str, Any]) -> None:
    flags = _namespaces(setup)
    check(libc.unshare(flags | _CLONE_NEWPID), "unshare")
    done, told = os.pipe()
    pid = os.fork()
    if pid:
        os.close(told)
        first = os.pidfd_open(pid)
        if os.read(done, 1):
            socket.send_fds(asked, [b"s"], [first])
        else:
            asked.sendall(b"f")
        return
    try:
        asked.close()
        os.setsid()
        if flags & _CLONE_NEWNET:
            _bring_up_loopback()
        for place, kind, options, more in setup["private"]:
            _mount_afresh(place, kind, options, more)
        for source, place in setup["covered"]:
            _show_read_only(source, place)
        launcher.empty("/proc/1/task")
        for number in range(1, 65):
            with suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        drop_rights(setup["rights"])
        os.write(told, b"1")
        os.closerange(0, 65536)
        while True:
            signal.pause()
    finally:
        os._exit(1)


def _namespaces(setup: Mapping[str, Any]) -> int:
    return _CLONE_NEWCALL | (0 if setup["network"] else _CLONE_NEWNET)


def _bring_up_loopback() -> None:
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        fcntl.ioctl(one, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP))


def _mount_afresh(place: str, kind: str, options: str, flags: int) -> None:
    """Mount a filesystem of a call's own over what all calls would share; what is mounted beneath that stays."""
    inside: list[str] = []
    for point in sorted(_mounted()):
        if (
            point.startswith(f"{place}/")
            and not (inside and point.startswith(f"{inside[-1]}/"))
            and point not in inside
        ):
            inside.append(point)
    kept = [(point, os.path.isdir(point), launcher.detached(point)) for point in inside]
    flags |= launcher.MS_NOSUID
    check(libc.mount(kind.encode(), os.fsencode(place), kind.encode(), flags, options.encode()), place)
    for point, is_directory, tree in kept:
        if kind == "tmpfs" and is_directory:
            os.makedirs(point, 0o755, exist_ok=True)
        elif kind == "tmpfs":
            os.makedirs(os.path.dirname(point), 0o755, exist_ok=True)
            os.close(os.open(point, os.O_CREAT | os.O_RDONLY, 0o600))
        launcher.attach(tree, point)


def _show_read_only(source: str, place: str) -> None:
    at = os.fsencode(place)
    check(libc.mount(os.fsencode(source), at, None, launcher.MS_BIND | launcher.MS_REC, None), place)
    flags = launcher.MS_REMOUNT | launcher.MS_BIND | launcher.MS_RDONLY | launcher.MS_NOSUID | launcher.MS_NODEV
    check(libc.mount(b"none", at, None, flags, None), place)


def _mounted() -> Iterable[str]:
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            point = line.split(" ", 5)[4]
            for code, letter in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
                point = point.replace(code, letter)
            yield point


def drop_rights(kept: Iterable[int]) -> None:
    """Give up all rights over the namespaces but some, for good."""
    with open("/proc/sys/kernel/cap_last_cap") as file:
        last = int(file.read())
    mask = sum(1 << number for number in kept)
    for number in range(last + 1):
        if not mask >> number & 1:
            check(libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0), "drop a capability")
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES, 0)
    data = (ctypes.c_uint32 * 6)(mask, mask, mask, 0, 0, 0)
    check(libc.capset(header, data), "drop capabilities")  # the ambient ones with them
    check(libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0), "prctl")


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def refuse_calls(code: bytes) -> None:
    """Filter the system calls of this process from now on, as `filter_of_calls` says."""
    if code:
        held = ctypes.create_string_buffer(code, len(code))
        wanted = _Filter(len(code) // 8, ctypes.cast(held, ctypes.c_void_p))
        check(libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(wanted), 0, 0), "filter system calls")
