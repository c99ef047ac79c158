"""Put together what a program sees of the machine, as bubblewrap's options."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from wink_sandbox.programs._hidden import hidden, sockets
from wink_sandbox.programs._settings import Profile

SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu")
"""What every program may read of the machine, as far as it is there."""
_PRIVATE: Final = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - these are what the program gets of its own
_ROOT_MAY: Final = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETUID", "SETGID", "KILL")


def view(
    root: str,
    cwd: str,
    env: Mapping[str, str],
    profile: Profile,
    *,
    masked: Sequence[str] = (),
    interactive: bool = False,
) -> list[str]:
    """The options for a program in the workspace `root`, where that is shown or what takes its place.

    `masked` are directories, in it or elsewhere, that look empty.
    """
    workspace = _workspace(root, cwd, masked)
    return [*_apart(profile, interactive), *_system(profile), *workspace, *_environment(env)]


def listening(profile: Profile, root: str) -> tuple[str, ...]:
    """The sockets of other processes that a program would see."""
    return tuple(sockets((*SYSTEM, *profile.readable), (*_PRIVATE, "/run", "/var/run", *profile.writable, root)))


def toolchain(root: str, home: str | None) -> tuple[str, ...]:
    """Where the running Python lies, if programs would not see it otherwise."""
    places = dict.fromkeys(os.path.realpath(place) for place in (sys.prefix, sys.base_prefix, sys.base_exec_prefix))
    hidden = [place for place in places if not is_in(place, "/usr") and not is_in(place, root)]
    # Never a directory that the home or the workspace lies in: that would show all of it. A virtual environment is
    # shown all the same: it holds nothing but what programs need.
    return tuple(
        place
        for place in hidden
        if place != "/"
        and not (home and is_in(home, place))
        and (not is_in(root, place) or os.path.isfile(f"{place}/pyvenv.cfg"))
    )


def _apart(profile: Profile, interactive: bool) -> Iterator[str]:
    yield from ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--die-with-parent")
    if profile.network is not True:
        yield "--unshare-net"
    if not interactive:
        yield "--new-session"
    if os.getuid() == 0:
        yield from ("--cap-drop", "ALL")
        for name in _ROOT_MAY:
            yield from ("--cap-add", f"CAP_{name}")
    else:
        yield from ("--unshare-user", "--disable-userns")


def _system(profile: Profile) -> Iterator[str]:
    size = str(profile.limits.temporary_bytes)
    for place in SYSTEM:
        if os.path.islink(place):
            yield from ("--symlink", os.readlink(place), place)
        elif os.path.isdir(place):
            yield from ("--ro-bind", place, place)
    yield from ("--ro-bind-try", "/sys/devices/system", "/sys/devices/system", "--dev", "/dev", "--proc", "/proc")
    # The memory of the sandbox's own first process, which would otherwise do what a program writes into it.
    yield from ("--ro-bind", "/dev/null", "/proc/1/mem", "--tmpfs", "/proc/1/task", "--remount-ro", "/proc/1/task")
    yield from ("--perms", "0755", "--dir", "/run")
    for place in (*_PRIVATE, *((profile.home,) if profile.home else ())):
        yield from ("--perms", "1777" if place in _PRIVATE else "0700", "--size", size, "--tmpfs", place)
    if profile.network is True:
        # The names of hosts are often asked of a file that /etc only links to.
        resolver = os.path.realpath("/etc/resolv.conf")
        if not is_in(resolver, "/etc"):
            yield from ("--ro-bind-try", resolver, resolver)
    for place in profile.readable:
        yield from ("--ro-bind-try", place, place)
    yield from hidden()
    for place in profile.writable:
        yield from ("--bind", place, place)


def _workspace(root: str, cwd: str, masked: Sequence[str]) -> Iterator[str]:
    yield from ("--bind", root, root)
    for place in masked:
        yield from ("--tmpfs", place, "--remount-ro", place)
    yield from ("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", cwd)


def _environment(env: Mapping[str, str]) -> Iterator[str]:
    yield "--clearenv"
    for name, value in env.items():
        yield from ("--setenv", name, value)


def is_in(path: str, directory: str) -> bool:
    """Whether a path is a directory, or lies in it."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")
