"""Read CPython's audit events as acts on files, programs, networks or the process itself.

https://docs.python.org/3/library/audit_events.html lists them. What raises none, such as system calls through ctypes, is
not seen.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple

Sort = Literal["reads", "changes", "programs", "signals", "network", "local", "process"]
"""`local` is a socket on this machine that has a path; `process` is what all threads share, such as the directory."""


class Act(NamedTuple):
    """What somebody is about to do; `path` is the file or directory that it is done to."""

    sort: Sort
    what: str
    path: str | None = None


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return os.fsdecode(value)
    if isinstance(value, os.PathLike):
        return _text(os.fspath(value))  # pyright: ignore[reportUnknownArgumentType]
    return value if isinstance(value, str) else repr(value)


def _open(args: tuple[Any, ...]) -> Act | None:
    path, mode, flags = args[0], args[1], args[2]
    if isinstance(path, int):
        return None  # what has been opened already
    writes = any(sign in mode for sign in "wax+") if isinstance(mode, str) else False
    if isinstance(flags, int):
        writes = writes or bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND))
    text = _text(path)
    return Act("changes" if writes else "reads", f"opens {text!r} to {'write' if writes else 'read'} it", text)


def _on_path(sort: Sort, verb: str) -> Callable[[tuple[Any, ...]], Act | None]:
    def read(args: tuple[Any, ...]) -> Act | None:
        path = args[0] if args else None
        if isinstance(path, int):
            return Act(sort, f"{verb} an open file")
        text = "." if path is None else _text(path)
        return Act(sort, f"{verb} {text!r}", text)

    return read


def _onto(verb: str) -> Callable[[tuple[Any, ...]], Act | None]:
    """Of two paths the second is the one that comes into being."""
    return lambda args: Act("changes", f"{verb} {_text(args[0])!r} as {_text(args[1])!r}", _text(args[1]))


def _popen(args: tuple[Any, ...]) -> Act | None:
    executable, command = args[0], args[1]
    words = command if isinstance(command, (str, bytes)) else " ".join(map(_text, command or (executable,)))
    program = _text(executable or (command if isinstance(command, (str, bytes)) else command[0]))
    return Act("programs", f"starts {_text(words)[:200]!r}", program)


def _program(args: tuple[Any, ...]) -> Act | None:
    return Act("programs", f"starts {_text(args[0])!r}" if args else "starts a process")


def _address(verb: str) -> Callable[[tuple[Any, ...]], Act | None]:
    def read(args: tuple[Any, ...]) -> Act | None:
        address = args[1] if len(args) > 1 else None
        if address is None:
            return None  # over a connection that is there already
        if isinstance(address, (str, bytes)):
            return Act("local", f"{verb} the socket {_text(address)!r}")
        return Act("network", f"{verb} {address!r}")

    return read


def _database(args: tuple[Any, ...]) -> Act | None:
    text = _text(args[0])
    return None if text in ("", ":memory:") else Act("changes", f"opens the database {text!r}", text)


def _fixed(sort: Sort, what: str) -> Callable[[tuple[Any, ...]], Act | None]:
    return lambda args: Act(sort, what if not args else f"{what} {_text(args[0])!r}")


ACTS: Final[Mapping[str, Callable[[tuple[Any, ...]], Act | None]]] = {
    "open": _open,
    "os.listdir": _on_path("reads", "lists"),
    "os.scandir": _on_path("reads", "lists"),
    "os.chflags": _on_path("changes", "changes the flags of"),
    "os.chmod": _on_path("changes", "changes the mode of"),
    "os.chown": _on_path("changes", "changes the owner of"),
    "os.link": _onto("links"),
    "os.mkdir": _on_path("changes", "makes"),
    "os.remove": _on_path("changes", "deletes"),
    "os.removexattr": _on_path("changes", "changes an attribute of"),
    "os.rename": _onto("moves"),
    "os.rmdir": _on_path("changes", "deletes"),
    "os.setxattr": _on_path("changes", "changes an attribute of"),
    "os.symlink": _onto("links"),
    "os.truncate": _on_path("changes", "cuts off"),
    "os.utime": _on_path("changes", "changes the times of"),
    "sqlite3.connect": _database,
    "os.exec": _program,
    "os.fork": _program,
    "os.forkpty": _program,
    "os.posix_spawn": _program,
    "os.spawn": _program,
    "os.startfile": _program,
    "os.system": _program,
    "pty.spawn": _program,
    "subprocess.Popen": _popen,
    "os.kill": _fixed("signals", "sends a signal to process"),
    "os.killpg": _fixed("signals", "sends a signal to process group"),
    "socket.bind": _address("listens on"),
    "socket.connect": _address("connects to"),
    "socket.sendmsg": _address("sends to"),
    "socket.sendto": _address("sends to"),
    "socket.getaddrinfo": _fixed("network", "looks up"),
    "socket.gethostbyaddr": _fixed("network", "looks up"),
    "socket.gethostbyname": _fixed("network", "looks up"),
    "os.chdir": _fixed("process", "changes the directory of the whole process to"),
    "os.fchdir": _fixed("process", "changes the directory of the whole process to"),
    "os.putenv": _fixed("process", "changes the environment of the whole process:"),
    "os.unsetenv": _fixed("process", "changes the environment of the whole process:"),
}
"""For each event that is looked at, what reads its arguments; None for what means nothing."""

THREADS: Final = frozenset(("_thread.start_new_thread", "_thread.start_joinable_thread"))
"""Events whose first argument is the function that a new thread begins with."""
