"""Start programs over overlays, as a small process of its own that never imports wink.

Run as `python -I -S _launcher.py CONTROL PARENT IDS`: it enters a user namespace once, where IDS (JSON, see `_ids`) says
how others' ids are mapped into it, then takes requests from the socket CONTROL. Being small it forks quickly, and having one thread it may run Python between fork and exec, which a program
with threads must not. A parent that dies takes all of it along: a death signal is tied to the thread that forked, so
this process, whose one thread lives as long as it does, is what programs are tied to.

A request is a length, JSON, and four descriptors: a channel, and the program's three streams. A fifth comes where the
program has a network with a proxy. On the channel go JSON
lines (`started`, `failed`, `ended`); whatever comes from it, also its end, kills the program. `ended` is sent when no
process of the program is left.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import resource
import select
import signal
import socket
import stat
import struct
import sys
from typing import Any

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x00020000, 0x10000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT = 1, 2, 4, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
IDLE_SECONDS = 60
TIOCSCTTY = 0x540E
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

libc = ctypes.CDLL(None, use_errno=True)
libc.mount.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p)


def check(result: int, what: str) -> int:
    """Raise the error of a system call that failed."""
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), what)
    return result


# -- the user namespace, once


def enter_user_namespace(commands: list[list[str]]) -> None:
    """Map every id that the host lets us map to itself, so that files keep their owners."""
    uid, gid, pid = os.getuid(), os.getgid(), os.getpid()
    ready, entered = os.pipe()
    helper = os.fork()
    if not helper:  # outside of the new namespace, where the rights to map more than oneself are
        status = 1
        try:
            os.close(entered)
            if os.read(ready, 1):
                write_maps(pid, uid, gid, commands)
                status = 0
        except OSError as error:
            status = error.errno or 1
        finally:
            os._exit(min(status, 255))
    os.close(ready)
    try:
        check(libc.unshare(CLONE_NEWUSER), "unshare user")
        os.write(entered, b"1")
    finally:
        os.close(entered)
        _, status = os.waitpid(helper, 0)
    if status:
        code = os.waitstatus_to_exitcode(status)
        raise OSError(code, os.strerror(code), "map user ids")
    if uid == 0:
        forbid_user_namespaces()


def write_maps(pid: int, uid: int, gid: int, commands: list[list[str]]) -> None:
    """Write both maps from outside."""
    if uid == 0:
        try:
            write(f"/proc/{pid}/uid_map", "0 0 4294967295")
            write(f"/proc/{pid}/gid_map", "0 0 4294967295")
            return
        except PermissionError:
            pass  # root of a container, perhaps
    elif is_mapped_by(commands, pid):
        return
    write(f"/proc/{pid}/setgroups", "deny")
    write(f"/proc/{pid}/uid_map", f"{uid} {uid} 1")
    write(f"/proc/{pid}/gid_map", f"{gid} {gid} 1")


def is_mapped_by(commands: list[list[str]], pid: int) -> bool:
    """Let the programs of the system map what the user was given."""
    quiet = [(os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0)]
    for path, *numbers in commands:
        _, status = os.waitpid(os.posix_spawn(path, [path, str(pid), *numbers], {}, file_actions=quiet), 0)
        if status:
            return False
    return bool(commands)


def forbid_user_namespaces() -> None:
    """Programs of root run in this namespace itself: see that they make none of their own, where they had all rights."""
    try:
        write("/proc/sys/user/max_user_namespaces", "0")
    except OSError:
        pass


def write(path: str, text: str) -> None:
    """Write a file of /proc at once."""
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


# -- one program


class Run:
    """A program that was started: the sandbox's outer process, and when it is known, the first process inside."""

    def __init__(self, channel: socket.socket, pid: int, status: int) -> None:
        self.channel, self.pid, self.status = channel, pid, status
        self.outer = os.pidfd_open(pid)
        self.inner = self.first = -1
        self.exit = 0
        self.news = b""
        self.code: int | None = None
        self.is_killed = False

    def kill(self) -> None:
        """End the whole tree: the outer process takes the first one inside along, and that one all the others."""
        if not self.is_killed:
            self.is_killed = True
            for fd in (self.inner, self.outer):
                if fd >= 0:
                    try:
                        signal.pidfd_send_signal(fd, signal.SIGKILL)
                    except ProcessLookupError:
                        pass

    def note_outer(self) -> None:
        """The sandbox's outer process has ended."""
        _, status = os.waitpid(self.pid, 0)
        self.exit = os.waitstatus_to_exitcode(status)
        os.close(self.outer)
        self.outer = -1

    def note_inner(self) -> None:
        """No process inside is left: the first one ends after all others."""
        os.close(self.inner)
        self.inner = -1

    def read_status(self) -> bool:
        """Take in what bubblewrap, or the child on its way there, tells; False when there is no more."""
        data = os.read(self.status, 65536)
        self.news += data
        while b"\n" in self.news:
            line, self.news = self.news.split(b"\n", 1)
            said = json.loads(line)
            if "child-pid" in said:
                self.first = said["child-pid"]
                try:
                    self.inner = os.pidfd_open(self.first)
                except ProcessLookupError:
                    pass
                tell(self.channel, {"started": self.pid})
            elif "exit-code" in said:
                self.code = said["exit-code"]
            elif "failed" in said:
                tell(self.channel, said)
        return bool(data)


def tell(channel: socket.socket, news: dict[str, Any]) -> None:
    """Send a line; whoever does not listen any more need not know."""
    try:
        channel.sendall(json.dumps(news).encode() + b"\n")
    except OSError:
        pass


def start(request: dict[str, Any], fds: list[int]) -> Run:
    """Fork and let the child become bubblewrap."""
    channel, *streams = fds
    told, telling = os.pipe()
    me = os.getpid()
    pid = os.fork()
    if not pid:
        try:
            become(request, streams, telling, me)
        except BaseException as error:
            what = getattr(error, "filename", None) or type(error).__name__
            fact = {"failed": what, "text": getattr(error, "strerror", None) or str(error)}
            os.write(telling, json.dumps(fact).encode() + b"\n")
        finally:
            os._exit(126)
    os.close(telling)
    for fd in streams:
        os.close(fd)
    return Run(socket.socket(fileno=channel), pid, told)


def become(request: dict[str, Any], streams: list[int], telling: int, parent: int) -> None:
    """Make the mounts, take the limits, and execute bubblewrap."""
    # Where memory runs out, one of the program's processes goes first, and not the launcher.
    write("/proc/self/oom_score_adj", "500")
    check(libc.unshare(CLONE_NEWNS), "unshare mounts")
    check(libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "make mounts private")
    # All of them are looked up before the first one is mounted, and perhaps hides where the next one's layers are.
    mounts = [(mount, layers(**mount)) for mount in request["mounts"]]
    blank = blanks(request["blank"]) if request["hidden"] else []
    for mount, fds in mounts:
        check_place(mount["target"])
        if mount["work"]:
            overlay(mount["target"], fds)
        elif mount["upper"]:
            bind(mount["target"], *fds)
        else:
            read_only(mount["target"], fds)
    for place in request["places"]:
        check_place(place)
    for at, paths in request["hidden"]:
        hide(at, paths, blank, is_pinned=at in request["pinned"])
    for path in request["covered"]:
        cover(path)
    if request["port"]:
        sever(request["view"], request["port"], streams[3])
    for number in range(3):
        os.dup2(streams[number], number)
    if request["terminal"]:
        os.setsid()
        import fcntl

        fcntl.ioctl(0, TIOCSCTTY, 0)
    for name, value in request["limits"].items():
        number = getattr(resource, name)
        hard = resource.getrlimit(number)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(number, (value, value))
    for number in (*IGNORED, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    check(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
    if os.getppid() != parent:
        os._exit(125)
    words = memory_file("\0".join([*request["view"], ""]).encode("utf-8", "surrogateescape"))
    os.set_inheritable(telling, True)
    argv = [request["bwrap"], "--args", str(words), "--json-status-fd", str(telling)]
    if request["filter"]:
        argv += ["--seccomp", str(memory_file(bytes.fromhex(request["filter"])))]
    argv += ["--", *request["argv"]]
    # An empty environment: what a model may set must not reach bubblewrap itself, which is not confined yet.
    os.execve(request["bwrap"], [word.encode("utf-8", "surrogateescape") for word in argv], {})  # noqa: S606


def cover(path: str) -> None:
    """Hide a file; bubblewrap shows what is mounted here, and would end where the file has gone since it was seen."""
    if libc.mount(b"/dev/null", os.fsencode(path), None, MS_BIND, None) < 0:
        code = ctypes.get_errno()
        if code not in (errno.ENOENT, errno.ENOTDIR):
            raise OSError(code, os.strerror(code), path)


def sever(view: list[str], port: int, gate: int) -> None:
    """Make a network of its own with nothing in it but loopback and a socket that listens there; `gate` is handed that.

    In the place of bubblewrap, which is told of it by a word less: without the word there is no network that would be alone.
    """
    view.remove("--unshare-net")
    check(libc.unshare(CLONE_NEWNET), "unshare network")
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        fcntl.ioctl(asked, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", IFF_UP))
    with socket.socket() as listener, socket.socket(fileno=os.dup(gate)) as passed:
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
        counters: list[int] = []
        for name in ("snmp", "snmp6"):
            try:
                counters.append(os.open(f"/proc/self/net/{name}", os.O_RDONLY | os.O_CLOEXEC))
            except FileNotFoundError:  # a kernel without IPv6
                pass
        socket.send_fds(passed, [b"n"], [listener.fileno(), *counters])


def blanks(place: str) -> list[int]:
    """Descriptors of an empty file and an empty directory that nobody can change, mounted where nothing else is needed by its name."""
    fd = opened_plainly(place)
    at = f"/proc/self/fd/{fd}".encode()
    check(libc.mount(b"tmpfs", at, b"tmpfs", MS_NOSUID | MS_NODEV, b"mode=755,size=4096"), place)
    os.close(fd)
    fd = opened_plainly(place)  # what is mounted there now
    os.close(os.open("file", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444, dir_fd=fd))
    os.mkdir("directory", 0o555, dir_fd=fd)
    check(
        libc.mount(None, f"/proc/self/fd/{fd}".encode(), None, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV, None),
        place,
    )
    found = [os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd) for name in ("file", "directory")]
    os.close(fd)
    return found


def hide(at: str, paths: list[str], blank: list[int], *, is_pinned: bool) -> None:
    """Lay an empty file or directory over each of some paths, over a link itself; what is gone is not there to be seen.

    With `is_pinned` the directories on the way cannot be renamed: what is in them would have another name the next time.
    """
    base, pinned = opened(at), set[str]()
    for path in paths:
        fd, way, is_inside = os.dup(base), "", False
        try:
            *above, last = path.split("/")
            if "" in (*above, last):
                raise OSError(errno.EINVAL, "no relative path", path)
            for name in above:
                way = f"{way}/{name}"
                if is_pinned and way not in pinned:
                    pinned.add(way)
                    inner = opened_by_name(name, fd)
                    bind_on(inner, inner, way)
                    os.close(inner)
                inner = opened_by_name(name, fd)
                os.close(fd)
                fd, is_inside = inner, True
            inner = opened_by_name(last, fd)
            os.close(fd)
            fd = inner
            bind_on(blank[stat.S_ISDIR(os.fstat(fd).st_mode)], fd, path)
        except PermissionError:
            if not is_inside:
                raise
            bind_on(blank[True], fd, path)  # a directory that is closed now, and that its owner can open
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                raise
        finally:
            os.close(fd)
    os.close(base)


def opened_by_name(name: str, directory: int) -> int:
    """The descriptor of what has a name in a directory, of a link itself."""
    return os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)


def bind_on(source: int, target: int, what: str) -> None:
    """Show one thing in the place of another, both by descriptors."""
    words = (f"/proc/self/fd/{source}".encode(), f"/proc/self/fd/{target}".encode())
    check(libc.mount(*words, None, MS_BIND, None), what)


def check_place(path: str) -> None:
    """Refuse a place that an earlier program has made a link: bubblewrap would follow it, out of what it may touch."""
    if os.path.realpath(path) != path:
        raise OSError(40, "a link stands where a directory was", path)


def memory_file(content: bytes) -> int:
    """A descriptor to read `content` from, which a program that is executed gets too."""
    fd = os.memfd_create("wink", 0)
    os.write(fd, content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def layers(target: str, lower: list[str], upper: str, work: str, identity: list[int] | None) -> list[int]:
    """Descriptors of one mount's layers, the upper and the working directory last, where there are such."""
    del target
    fds = [*map(opened, lower), *map(opened_plainly, filter(None, (upper, work)))]
    if identity is not None:
        found = os.fstat(fds[len(lower) - 1])
        if [found.st_dev, found.st_ino] != identity:
            raise OSError(116, "the directory has been replaced", lower[-1])
    return fds


def overlay(target: str, fds: list[int]) -> None:
    """Mount one; by descriptors, so that no path is too long or has a letter in it that options cannot express."""
    names = [f"/proc/self/fd/{fd}" for fd in fds]
    options = f"userxattr,volatile,lowerdir={':'.join(names[:-2])},upperdir={names[-2]},workdir={names[-1]}"
    at = os.fsencode(target)
    try:
        check(libc.mount(b"overlay", at, b"overlay", 0, options.encode()), target)
    finally:
        for fd in fds:
            os.close(fd)


def read_only(target: str, fds: list[int]) -> None:
    """Mount one without an upper directory, of which the kernel wants two layers: the uppermost is empty, and what it looks like is seen."""
    at, status = os.fsencode(target), os.fstat(fds[0])
    options = f"mode={status.st_mode & 0o1777:o},size=4096"
    check(libc.mount(b"tmpfs", at, b"tmpfs", 0, options.encode()), target)
    try:
        os.chown(target, status.st_uid, status.st_gid)
    except OSError:
        pass  # of somebody for whom there is no number here
    fds = [opened(target), *fds]
    options = f"userxattr,lowerdir={':'.join(f'/proc/self/fd/{fd}' for fd in fds)}"
    try:
        check(libc.mount(b"overlay", at, b"overlay", MS_RDONLY, options.encode()), target)
    finally:
        for fd in fds:
            os.close(fd)


def bind(target: str, fd: int) -> None:
    """Show a directory in the place of another one, wherever it lies by now."""
    try:
        check(libc.mount(f"/proc/self/fd/{fd}".encode(), os.fsencode(target), None, MS_BIND, None), target)
    finally:
        os.close(fd)


def opened(path: str) -> int:
    """A directory's descriptor that is only good for naming it."""
    return os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def opened_plainly(path: str) -> int:
    """The same, of a real path: a link anywhere in it was not there when it was made."""
    fd = opened("/")
    for name in filter(None, path.split("/")):
        inner = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
        os.close(fd)
        fd = inner
    return fd


# -- the loop


def receive(control: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """The next request and its descriptors; None when nobody will ask again."""
    head, fds, _, _ = socket.recv_fds(control, 4, 16)
    for fd in fds:
        os.set_inheritable(fd, False)
    while 0 < len(head) < 4:
        more = control.recv(4 - len(head))
        if not more:
            break
        head += more
    if len(head) < 4:
        return None
    (length,) = struct.unpack("<I", head)
    parts = bytearray()
    while len(parts) < length:
        more = control.recv(min(length - len(parts), 1 << 20))
        if not more:
            return None
        parts += more
    return json.loads(parts), fds


def serve(control: socket.socket, parent: int) -> None:
    """Start what is asked for, and tell what became of it, until nobody asks any more."""
    runs: set[Run] = set()
    while True:
        waiting = select.poll()
        watched: dict[int, Run | None] = {control.fileno(): None, parent: None}
        for run in runs:
            for fd in (run.channel.fileno() if not run.is_killed else -1, run.status, run.outer, run.inner):
                if fd >= 0:
                    watched[fd] = run
        for fd in watched:
            waiting.register(fd, select.POLLIN)
        events = waiting.poll(None if runs else IDLE_SECONDS * 1000)
        if not events:
            return
        for fd, _ in events:
            run = watched[fd]
            if run is None:
                asked = receive(control) if fd == control.fileno() else None
                if asked is None:
                    return
                runs.add(start(*asked))
            elif fd == run.channel.fileno():
                run.kill()
            elif fd == run.status:
                if not run.read_status():
                    os.close(run.status)
                    run.status = -1
            elif fd == run.inner:
                run.note_inner()
            elif fd == run.outer:
                run.note_outer()
                end_strays(runs)
        for run in [run for run in runs if run.outer < 0 and run.inner < 0 and run.status < 0]:
            runs.discard(run)
            tell(run.channel, {"ended": run.exit, "code": run.code})
            run.channel.close()
        reap_orphans(runs)


def end_strays(runs: set[Run]) -> None:
    """Kill first processes that nobody knows of: an outer process that is killed before it has named its own leaves it waiting for ever."""
    known = {run.pid for run in runs if run.outer >= 0} | {run.first for run in runs if run.inner >= 0}
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as children:
            found = {int(word) for word in children.read().split()}
    except FileNotFoundError:  # a kernel that does not list them
        return
    for pid in found - known:
        os.kill(pid, signal.SIGKILL)  # ours until it is waited for, so no other has its number


def reap_orphans(runs: set[Run]) -> None:
    """First processes whose outer process was killed are our children now; nobody else waits for them."""
    mine = {run.pid for run in runs if run.outer >= 0}
    while True:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if found is None or found.si_pid in mine:
            return
        os.waitpid(found.si_pid, 0)


def main() -> None:
    """The whole life of this process."""
    number = int(sys.argv[1])
    # Whatever the parent was careless about must not get into programs.
    os.closerange(3, number)
    os.closerange(number + 1, 65536)
    os.set_inheritable(number, False)
    control = socket.socket(fileno=number)
    parent = os.pidfd_open(int(sys.argv[2]))
    os.chdir("/")
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    try:
        check(libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl")
        enter_user_namespace(json.loads(sys.argv[3]))
    except OSError as error:
        control.sendall(
            json.dumps({"refused": error.filename, "errno": error.errno, "text": error.strerror}).encode() + b"\n"
        )
        return
    control.sendall(b'{"ready": true}\n')
    serve(control, parent)


if __name__ == "__main__":
    main()
