"""Show this process, and those that it starts, an attempt's overlay in the place of the files that it begins with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any


def mount(facts: Mapping[str, Any]) -> None:
    """Mount an overlay that only this process and its children see; raises `OSError` where the host does not let us.

    `facts` are the fields of a `wink_sandbox.Mount`. The process must have one thread. Root needs a namespace of mounts
    alone, everybody else one of users too, in which they stay who they are.
    """
    # The launcher of programs does the same before each of them; it is a script that imports nothing of wink.
    from wink_sandbox.programs import _launcher as launcher

    uid, gid = os.geteuid(), os.getegid()
    if uid == 0:
        launcher.check(launcher.libc.unshare(launcher.CLONE_NEWNS), "unshare mounts")
    else:
        launcher.check(launcher.libc.unshare(launcher.CLONE_NEWUSER | launcher.CLONE_NEWNS), "unshare user and mounts")
        launcher.write("/proc/self/setgroups", "deny")
        launcher.write("/proc/self/uid_map", f"{uid} {uid} 1")
        launcher.write("/proc/self/gid_map", f"{gid} {gid} 1")
    private = launcher.MS_REC | launcher.MS_PRIVATE
    launcher.check(launcher.libc.mount(None, b"/", None, private, None), "make mounts private")
    identity = facts["identity"]
    fds = launcher.layers(
        facts["target"],
        list(facts["lower"]),
        facts["upper"],
        facts["work"],
        None if identity is None else list(identity),
    )
    launcher.overlay(facts["target"], fds)
    # The way to the root by the current directory would still lead beneath the mount.
    os.chdir("/")
