"""Hold a program as a whole to its limits with a control group, where the host lets us make one."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from typing import Final

from wink.dataclass import dataclass
from wink_sandbox.programs._settings import Limits

_FILES: Final = {
    # controller   version 2             version 1
    "memory": ("memory.max", "memory.limit_in_bytes"),
    "pids": ("pids.max", "pids.max"),
}  # fmt: skip


_UNLIMITED: Final = {"memory": ("max", "-1"), "pids": ("max", "max")}
_PREFIX: Final = "wink-"


@dataclass(frozen=True, slots=True)
class Place:
    """A group in which groups can be made; `version` is 1 or 2."""

    path: str
    version: int


@cache
def found() -> Mapping[str, Place]:
    """For each controller the group that is ours; empty where none is."""
    places: dict[str, Place] = {}
    try:
        with open("/proc/self/cgroup") as lines:
            groups = [line.rstrip("\n").split(":", 2) for line in lines]
    except OSError:
        return {}
    mounts = _mounts()
    for _, controllers, path in groups:
        for controller in _FILES:
            if controller in controllers.split(",") and controller in mounts:
                place = Place(mounts[controller] + path.rstrip("/"), 1)
                if os.access(place.path, os.W_OK):
                    places[controller] = place
        if not controllers and "" in mounts:
            base = mounts[""] + path.rstrip("/")
            for controller in _FILES:
                if controller not in places and _is_delegated(base, controller):
                    places[controller] = Place(base, 2)
    return places


class Group:
    """The groups of one launcher and of all its programs, which share what they allow together.

    To put a process into a group takes the kernel up to tens of milliseconds, so that it is done once for the launcher,
    and programs are born in them.
    """

    def __init__(self) -> None:
        self._made: dict[str, str] = {}
        self._said: dict[str, str] = {}
        self._limits: dict[object, Limits] = {}
        self._lock = threading.Lock()

    def join(self, pid: int) -> None:
        """Make the groups for a launcher, and put it into them; where that fails there are none."""
        self.leave()
        for controller, place in found().items():
            _sweep(place.path)
            path = f"{place.path}/{_PREFIX}{os.getpid()}"
            with suppress(OSError):
                with suppress(FileExistsError):
                    os.mkdir(path)
                if path not in self._made.values():
                    _write(f"{path}/cgroup.procs", str(pid))
                self._made[controller] = path
        with self._lock:
            self._allow()

    def leave(self) -> None:
        """Remove them, when the launcher has ended."""
        for path in set(self._made.values()):
            with suppress(OSError):
                os.rmdir(path)
        self._made.clear()
        self._said.clear()

    @property
    def held(self) -> frozenset[str]:
        """Which limits are held for programs as a whole."""
        return frozenset(self._made)

    @contextmanager
    def limited(self, limits: Limits) -> Generator[None]:
        """Allow what one more program may use, while it runs."""
        mine = object()
        self._set(mine, limits)
        try:
            yield
        finally:
            self._set(mine, None)

    def _set(self, program: object, limits: Limits | None) -> None:
        with self._lock:
            if limits is None:
                self._limits.pop(program, None)
            else:
                self._limits[program] = limits
            self._allow()

    def _allow(self) -> None:
        allowed = self._limits.values()
        if not allowed:
            return  # what held for the last program will often hold for the next one, and needs not be said again
        for controller, path in self._made.items():
            each = [one.memory_bytes if controller == "memory" else one.processes for one in allowed]
            # One more process is the launcher, two are each program's sandbox.
            more = 1 + 2 * len(each) if controller == "pids" else 0
            total = sum(value for value in each if value is not None) + more
            version = 2 if os.path.exists(f"{path}/cgroup.controllers") else 1
            value = str(total) if each and None not in each else _UNLIMITED[controller][2 - version]
            if self._said.get(controller) != value:
                with suppress(OSError):
                    _write(f"{path}/{_FILES[controller][2 - version]}", value)
                    self._said[controller] = value


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _sweep(place: str) -> None:
    """Remove the groups of processes that have died; one with a process in it cannot be removed."""
    with suppress(OSError):
        for name in os.listdir(place):
            if name.startswith(_PREFIX) and not os.path.exists(f"/proc/{name.removeprefix(_PREFIX)}"):
                with suppress(OSError):
                    os.rmdir(f"{place}/{name}")


def _is_delegated(base: str, controller: str) -> bool:
    try:
        with open(f"{base}/cgroup.subtree_control") as enabled:
            return controller in enabled.read().split() and os.access(base, os.W_OK)
    except OSError:
        return False


def _mounts() -> dict[str, str]:
    """Where each controller of version 1 is mounted, and under an empty name version 2."""
    mounts: dict[str, str] = {}
    try:
        with open("/proc/self/mountinfo") as lines:
            for line in lines:
                before, _, after = line.partition(" - ")
                kind, _, options = after.rstrip("\n").split(" ")[:3]
                point = before.split(" ")[4]
                if kind == "cgroup2":
                    mounts.setdefault("", point)
                elif kind == "cgroup":
                    for controller in options.split(","):
                        mounts.setdefault(controller, point)
    except OSError:
        return {}
    return mounts
