"""Hold a program as a whole to its limits with a control group, where the host lets us make one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Final

from wink.sandbox._settings import Limits

_FILES: Final = {
    # controller   version 2             version 1
    "memory": ("memory.max", "memory.limit_in_bytes"),
    "pids": ("pids.max", "pids.max"),
}  # fmt: skip


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
    """The groups of one program, gone when it is closed; `procs` are the files that a process joins them by."""

    def __init__(self, limits: Limits, name: str) -> None:
        self._made: list[str] = []
        self.procs: tuple[str, ...] = ()
        self.held: set[str] = set()
        for controller, value in (("memory", limits.memory_bytes), ("pids", limits.processes)):
            place = found().get(controller) if value is not None else None
            if place is not None and self._make(place, controller, f"wink-{name}", str(value)):
                self.held.add(controller)
        self.procs = tuple(f"{path}/cgroup.procs" for path in self._made)

    def close(self) -> None:
        """Remove them; no process is in them any more."""
        for path in self._made:
            with suppress(OSError):
                os.rmdir(path)

    def _make(self, place: Place, controller: str, name: str, value: str) -> bool:
        path = f"{place.path}/{name}"
        try:
            if path not in self._made:
                os.mkdir(path)
                self._made.append(path)
            with open(f"{path}/{_FILES[controller][0 if place.version == 2 else 1]}", "w") as limit:
                limit.write(value)
        except OSError:
            return False
        return True


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
