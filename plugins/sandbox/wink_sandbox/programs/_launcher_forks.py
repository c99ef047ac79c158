"""Show the calls of a fork server their workspace, and see that each finds what the first one does: a part of the launcher, read when it is needed.

A fork server is a program as any other in its sandbox: it has no right at all, and of the workspace nothing but the place. It is the first
process in there, which nobody in there can send a signal, nor trace, nor read or write its memory; and imports the module of isolated
functions. A call is a fork of it, and there is one at a time.

Its workspace is mounted by a fork of the launcher when it begins. When it ends, another one kills every process but the first, takes
the mounts away, which fails while anything still uses one, and removes what is new in the private directories. Where a call leaves anything
else, also of the first process, the server is ended.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import socket
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wink_sandbox.programs import _launcher as launcher
else:
    launcher = sys.modules["__main__"]
check, libc = launcher.check, launcher.libc

CLONE_NEWIPC, CLONE_NEWPID = 0x08000000, 0x20000000
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442
IOPRIO_GET = 252 if os.uname().machine == "x86_64" else 31
AT_FDCWD, AT_EMPTY_PATH, AT_RECURSIVE, OPEN_TREE_CLONE, MOVE_MOUNT_F_EMPTY_PATH = -100, 0x1000, 0x8000, 1, 4
MOVE_MOUNT_T_EMPTY_PATH, UMOUNT_NOFOLLOW = 0x40, 8
MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV = 2, 4
DONE = b"\0"
MOST_LEFT, DEEPEST = 10_000, 100
"""How much of what a call left in private directories is removed; beyond that the server goes."""
PATIENCE = 4.0
"""Seconds in which the processes of a call have to be gone."""


class Server(launcher.Run):
    """A fork server, and what its calls find when they begin."""

    def __init__(self, begun: launcher.Run, told: dict[str, Any]) -> None:
        vars(self).update(vars(begun))
        self.private: list[str] = told["private"]
        self.idle: float = told["idle_seconds"]
        self.until = time.monotonic() + told["import_seconds"]
        self.state: dict[str, Any] | None = None
        self.is_busy = False
        self.shower: Ahead | None = None
        self.settler: Ahead | None = None

    def look_ahead(self) -> None:
        """Be ready for the next call."""
        self.until = time.monotonic() + self.idle
        self.shower = self.shower or Ahead(self, show)
        self.settler = self.settler or Ahead(self, lambda state, telling: within(self, state, telling))

    def finish(self) -> None:
        """Tell that it has ended, and let go of it."""
        for one in (self.shower, self.settler):
            if one is not None:
                one.forget()
        super().finish()


class Call(launcher.Run):
    """One call, whose process is its server's child."""

    def __init__(self, channel: socket.socket, process: int, server: Server, shown: int) -> None:
        self.channel, self.outer, self.server, self.shown = channel, process, server, shown
        self.pid = self.inner = self.status = -1
        self.exit, self.code, self.is_killed = 0, None, False

    def note_outer(self) -> None:
        """The process has ended."""
        os.close(self.outer)
        self.outer = -1

    def finish(self) -> None:
        """End whatever the call left running, tell that it has ended, and clean up after it."""
        wait_for_child(self.shown)
        server = self.server
        if settle(server, super().finish):
            server.kill()
            for fd in (server.inner, server.outer):
                wait_for(fd)
        else:
            server.look_ahead()
        server.is_busy = False
        if self.channel.fileno() >= 0:
            super().finish()


def wait_for(process: int) -> None:
    """Wait until a process is no more; it has been killed."""
    if process >= 0:
        select.select([process], [], [], 10)


def wait_for_child(pid: int) -> None:
    """Wait for a process that was forked here; the launcher has perhaps done so, as for whatever it inherits."""
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)


def due(runs: set[Any]) -> float | None:
    """In how many seconds the next server has been idle for too long; ends those that have."""
    times: list[float] = []
    for run in runs:
        if isinstance(run, Server) and not run.is_busy and not run.is_killed:
            left = run.until - time.monotonic()
            if left <= 0:
                run.kill()
            else:
                times.append(left)
    return min(times, default=None)


def begin(request: dict[str, Any], fds: list[int], runs: set[Any]) -> launcher.Run | None:
    """Start a program, a server or a call; None where there is nothing to wait for."""
    if "call" in request:
        return answer(request, fds, runs)
    begun = launcher.start(request, fds)
    return Server(begun, request["server"]) if "server" in request else begun


def told_of(error: BaseException) -> str:
    """What is said of an error."""
    what = getattr(error, "filename", None) or type(error).__name__
    return f"{what}: {getattr(error, 'strerror', None) or error}"


def answer(request: dict[str, Any], fds: list[int], runs: set[Any]) -> Call | None:
    """Begin a call, or look what an import has left; with the channel comes who shall run the call."""
    channel = socket.socket(fileno=fds[0])
    found = [run for run in runs if isinstance(run, Server) and run.pid == request["call"] and run.inner >= 0]
    server = next((run for run in found if not run.is_killed and not run.is_busy), None)
    pid = 0
    if server is None or (request["mounts"] and server.state is None):
        said = "there is no such server"
    elif request["mounts"]:
        shower = server.shower or Ahead(server, show)
        server.shower, pid = None, shower.pid
        said = shower.ask({**request, "inner": server.inner}, lambda: None)
    else:
        said = settle(server, lambda: None)
        if not said:
            server.look_ahead()
    if server is not None and pid and not said:
        server.is_busy = True
        launcher.tell(channel, {"started": server.pid})
        return Call(channel, fds[1], server, pid)
    if pid:
        wait_for_child(pid)
    launcher.tell(channel, {"failed": "server", "text": said} if said else {"settled": True})
    launcher.tell(channel, {"ended": 0, "code": None})
    channel.close()
    for fd in fds[1:]:
        os.close(fd)
    if said and server is not None:
        server.kill()
    return None


class Ahead:
    """A fork of this process that waits for what to do, so that nobody waits for it to be forked.

    It tells `DONE` when what is urgent is done, and after that what went wrong.
    """

    def __init__(self, server: Server, act: Callable[[Any, int], None]) -> None:
        self.told, telling = os.pipe()
        waiting, self.go = os.pipe()
        me = os.getpid()
        self.pid = os.fork()
        if not self.pid:
            try:
                check(libc.prctl(launcher.PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
                if os.getppid() == me:
                    keep_only(sorted((telling, waiting, server.inner)))
                    with open(waiting, "rb") as asked:
                        if data := asked.read():
                            act(json.loads(data), telling)
            except BaseException as error:
                send_all(telling, told_of(error))
            finally:
                os._exit(0)
        os.close(telling)
        os.close(waiting)

    def ask(self, asked: object, when_done: Callable[[], None]) -> str:
        """Let it go, and wait for what went wrong; empty is for nothing."""
        with suppress(BrokenPipeError):
            send_all(self.go, json.dumps(asked))
        os.close(self.go)
        is_done, said = False, b""
        until = time.monotonic() + PATIENCE + 1  # a process of the call might have stopped it
        try:
            while select.select([self.told], [], [], max(0.0, until - time.monotonic()))[0]:
                data = os.read(self.told, 65536)
                if not data:
                    return said.decode() if is_done else said.decode() or "it ended"
                if not is_done and data.startswith(DONE):
                    is_done, data = True, data[1:]
                    when_done()
                said += data
            return "it takes too long"
        finally:
            os.close(self.told)

    def forget(self) -> None:
        """Let it end without having done anything."""
        os.close(self.go)
        os.close(self.told)


def keep_only(fds: list[int]) -> None:
    """Close all descriptors but some: nobody waits for the end of what this process holds open."""
    for low, high in zip([-1, *fds], [*fds, 65536], strict=True):
        os.closerange(low + 1, high)


def send_all(fd: int, text: str) -> None:
    """Write it all."""
    data = text.encode(errors="replace")
    while data:
        data = data[os.write(fd, data) :]


def show(request: dict[str, Any], telling: int) -> None:
    """Mount the workspace of a call, aside first, so that it is never seen without what covers parts of it."""
    check(libc.unshare(launcher.CLONE_NEWNS), "unshare mounts")
    check(libc.mount(None, b"/", None, launcher.MS_REC | launcher.MS_PRIVATE, None), "make mounts private")
    (mount,) = request["mounts"]
    target = mount["target"]
    fds = launcher.layers(**mount)
    launcher.check_place(target)
    launcher.overlay(target, fds)
    for place in request["places"]:
        launcher.check_place(place)
        at = os.fsencode(place)
        check(libc.mount(b"tmpfs", at, b"tmpfs", launcher.MS_RDONLY, b"mode=755,size=4096"), place)
    flags = OPEN_TREE_CLONE | os.O_CLOEXEC | AT_RECURSIVE
    tree = check(libc.syscall(OPEN_TREE, AT_FDCWD, os.fsencode(target), flags), "open_tree")
    attributes = (ctypes.c_uint64 * 4)(MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 0, 0, 0)
    empty = AT_EMPTY_PATH | AT_RECURSIVE
    check(libc.syscall(MOUNT_SETATTR, tree, b"", empty, attributes, ctypes.sizeof(attributes)), "mount_setattr")
    check(libc.setns(request["inner"], launcher.CLONE_NEWNS), "setns")
    to = launcher.opened_plainly(target)
    flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH
    check(libc.syscall(MOVE_MOUNT, tree, b"", to, b"", flags), "move_mount")
    os.write(telling, DONE)
    os.close(telling)


def settle(server: Server, when_done: Callable[[], None]) -> str:
    """See that calls find what the first one does, and note what that is: empty, or why this cannot be.

    `when_done` is called when nothing of a call is left that could write to its workspace.
    """
    settler = server.settler or Ahead(server, lambda state, telling: within(server, state, telling))
    server.settler = None
    said = settler.ask(server.state, when_done)
    if server.state is None and said.startswith("{"):
        server.state = json.loads(said)
        return ""
    return said


def within(server: Server, state: dict[str, Any] | None, telling: int) -> None:
    """Do it among the server's mounts, and its processes, of which only a fork is one."""
    check(libc.setns(server.inner, launcher.CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC), "setns")
    pid = os.fork()
    if not pid:
        end_all(state, telling)
        send_all(telling, settled(server.private, state))
    else:
        os.waitpid(pid, 0)  # until that is done, a namespace of processes does not end


def end_all(state: dict[str, Any] | None, telling: int) -> None:
    """End every process but the first one, and take away every mount of a call."""
    if state is None and processes():
        raise OSError(0, "it leaves a program running")
    with suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)  # all but the first process, and this one
    until = time.monotonic() + PATIENCE
    while processes():
        if time.monotonic() > until:
            raise OSError(0, "a process does not end")
        time.sleep(0.0002)
    if state is not None:
        known = set(state["mounts"])
        for point in [point for number, point in mounts() if number not in known][::-1]:
            take_away(unescaped(point), until)
    os.write(telling, DONE)


def settled(private: list[str], state: dict[str, Any] | None) -> str:
    """Remove the files of a call: empty, or what else it leaves; what there is, as JSON, where there was no call yet."""
    kept = files(private, None if state is None else state["files"])
    found = {"mounts": [number for number, _ in mounts()], "files": kept, "first": first()}
    for kind in ("shm", "sem", "msg"):
        with open(f"/proc/sysvipc/{kind}") as lines:
            if len(lines.readlines()) > 1:
                return "it leaves shared memory, semaphores or messages"
    if state is None:
        return json.dumps(found)
    return "" if found == state else "it leaves something else than it found"


def processes() -> bool:
    """Whether there is a process besides the first one and this one."""
    mine = {"1", str(os.getpid())}
    return any(name.isdigit() and name not in mine for name in os.listdir("/proc"))


def first() -> list[Any]:
    """What others can change of the first process: its limits, and when and where it runs."""
    with open("/proc/1/oom_score_adj") as score:
        adjusted = score.read()
    with open("/proc/1/limits") as limits, open("/proc/1/stat") as numbers, open("/proc/1/status") as lines:
        words = numbers.read().rpartition(") ")[2].split()
        allowed = [line for line in lines if "_allowed" in line]
        # Priority, nice value, priority in real time and policy, as proc(5) counts them from the third on.
        return [
            adjusted,
            limits.read(),
            [words[at - 3] for at in (18, 19, 40, 41)],
            allowed,
            libc.syscall(IOPRIO_GET, 1, 1),
        ]


def mounts() -> list[tuple[str, str]]:
    """The number of each mount, and where it is, escaped."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
        fields = [line.split(" ", 5) for line in lines]
    return [(one[0], one[4]) for one in fields]


def unescaped(point: str) -> str:
    """A path as mountinfo has it, as it is."""
    for code, letter in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        point = point.replace(code, letter)
    return point


def take_away(point: str, until: float) -> None:
    """Unmount what nothing uses: whoever went on using it could go on writing."""
    above, name = os.path.split(point)
    fd = launcher.opened_plainly(above)  # a link in the path would lead to another mount
    at = os.fsencode(f"/proc/self/fd/{fd}/{name}")
    while libc.umount2(at, UMOUNT_NOFOLLOW) < 0:
        code = ctypes.get_errno()
        if time.monotonic() > until:
            raise OSError(code, os.strerror(code), point)
        time.sleep(0.0005)
    os.close(fd)


def files(private: list[str], kept: dict[str, Any] | None) -> dict[str, Any]:
    """What is in private directories, once all has been removed that is not to be `kept`; names are as JSON can hold them."""
    found: dict[str, Any] = {}
    for place in private:
        fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        look(fd, os.fstat(fd).st_dev, place, kept, found, 0)
    return found


def look(at: int, device: int, path: str, kept: dict[str, Any] | None, found: dict[str, Any], depth: int) -> bool:
    """Note a directory and what is in it, and whether all of that may go; never out of its filesystem."""
    if depth > DEEPEST or len(found) > MOST_LEFT:
        raise OSError(0, "it leaves too many files, or too deep ones")
    status = os.fstat(at)
    may_go = kept is not None and path not in kept
    with os.scandir(at) as entries:
        names = [entry.name for entry in entries]
    for name in names:
        inner = f"{path}/{name}"
        told = os.stat(name, dir_fd=at, follow_symlinks=False)
        if told.st_dev != device:
            found[inner] = "another filesystem"
        elif stat.S_ISDIR(told.st_mode):
            fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
            if look(fd, device, inner, kept, found, depth + 1):
                os.rmdir(name, dir_fd=at)
        elif kept is not None and inner not in kept:
            os.unlink(name, dir_fd=at)
        else:
            times = [told.st_size, told.st_mtime_ns, told.st_ctime_ns, told.st_nlink]
            found[inner] = [told.st_ino, told.st_mode, told.st_uid, told.st_gid, *times]
    if not may_go:
        attributes = [[name, os.getxattr(at, name).hex()] for name in os.listxattr(at)]
        found[path] = [status.st_ino, status.st_mode, status.st_uid, status.st_gid, attributes]
    os.close(at)
    return may_go
