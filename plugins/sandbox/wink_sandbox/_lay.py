"""Look whether an overlay can show all of a workspace, and whether programs can change all of it, before one starts."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import islice
from typing import Final

from wink.errors import SandboxUnavailable
from wink_sandbox._deep import remove_tree
from wink_sandbox.programs import Mount, Request, launcher, mapped

_LOOKED_AT: Final = 500
"""How many entries of the workspace's root are looked at: this is about a look at every start, not about a proof."""

FOREIGN: Final = "belongs to a user or group that is not yours: programs can read it here, and not change it"


def check_mounts(root: str) -> None:
    """Raise `SandboxUnavailable` where something is mounted inside the workspace: an overlay would not show it."""
    inside = mounted_in(root)
    if inside:
        names = ", ".join(map(repr, inside))
        raise SandboxUnavailable(
            "overlay",
            (f"other filesystems are mounted in the workspace, at {names}; unmount them, or move the workspace",),
        )


def mounted_in(directory: str) -> tuple[str, ...]:
    """Where in a directory, given by its real path, something else is mounted, relative to it."""
    within = directory.rstrip("/") + "/"
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
        points = [_unescaped(line.split(" ", 5)[4]) for line in lines]
    return tuple(sorted({point[len(within) :] for point in points if point.startswith(within)}))


def objection(directory: str, lower: str = "", *, writable: bool = True) -> str:
    """Why an overlay, over `lower`, cannot have what it needs in a directory; that may depend on either filesystem. Empty if it can.

    One that is not `writable` needs nothing there.
    """
    place = f"{directory}/wink-probe-{os.urandom(4).hex()}"
    target, upper, work = (f"{place}/{name}" for name in ("target", "upper", "work"))
    for path in (place, target, upper, work):
        os.mkdir(path)
    try:
        with open(os.devnull, "r+b") as null:
            streams = (null.fileno(), null.fileno(), null.fileno())
            layers = (upper, work) if writable else ("", "")
            mount = Mount(target, (lower or target,), *layers)
            channel = launcher.launch(Request("/bin/false", ("true",), (), (mount,), {}), streams)
        try:
            while (news := channel.read()) is not None:
                for said in news:
                    if "failed" in said and said["failed"] != "/bin/false":
                        return f"{said['text']}, in {directory if writable else lower}"
                    if "ended" in said:
                        return ""
        finally:
            channel.close()
        return "the launcher ended"
    finally:
        remove_tree(place)


def foreign(root: str) -> tuple[tuple[str, str], ...]:
    """What of the workspace's root programs cannot change, each with the reason; empty for root, who maps all ids.

    The kernel copies a file with its owner when it is first changed, and cannot where it has no number for that owner in
    the program's namespace (`EOVERFLOW`, "Value too large for defined data type").
    """
    if os.getuid() == 0:
        return ()
    with os.scandir(root) as entries:
        found = [(entry.name, entry.stat(follow_symlinks=False)) for entry in islice(entries, _LOOKED_AT)]
    users, groups = mapped("uid"), mapped("gid")
    return tuple(
        (name, FOREIGN)
        for name, status in sorted(found, key=lambda pair: pair[0])
        if not (_has(users, status.st_uid) and _has(groups, status.st_gid))
    )


def _has(ranges: Iterable[range], number: int) -> bool:
    return any(number in one for one in ranges)


def _unescaped(point: str) -> str:
    for code, letter in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        point = point.replace(code, letter)
    return point
