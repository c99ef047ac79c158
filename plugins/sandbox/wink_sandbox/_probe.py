"""Find out what this host can do for programs, and say how to get what it lacks."""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import Final

from wink.dataclass import dataclass
from wink.trust import program

_SECONDS: Final = 10

_HOW: Final = {
    "bubblewrap": "apt-get install bubblewrap (Debian, Ubuntu), dnf install bubblewrap (Fedora)",
    "newuidmap": "apt-get install uidmap (Debian, Ubuntu), dnf install shadow-utils (Fedora)",
    "podman": "apt-get install podman (Debian, Ubuntu), dnf install podman (Fedora), brew install podman (macOS)",
    "namespaces": "allow them: sysctl -w user.max_user_namespaces=15000, and where these exist "
    "kernel.unprivileged_userns_clone=1 and kernel.apparmor_restrict_unprivileged_userns=0; in a container, "
    "run it with --security-opt seccomp=unconfined and --security-opt systempaths=unconfined",
    "overlay": "needs Linux 5.11 or later with overlayfs (modprobe overlay), and a state directory that is not itself "
    "on an overlay, as in a container; put the workspace on a volume",
    "cgroups": "memory and process limits hold for each process only; delegate a cgroup, as systemd-run --user --scope does",
    "macos": "programs are guarded by Linux's namespaces; on macOS run wink in a virtual machine, as podman machine makes",
}


@dataclass(frozen=True, slots=True)
class Feature:
    """One thing that a host has or lacks; `detail` is a version or a reason, `remedy` how to get it."""

    name: str
    has: bool
    detail: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        if self.has:
            return f"{self.name}: {self.detail or 'yes'}"
        return (
            f"{self.name}: missing ({self.detail}); {self.remedy}"
            if self.detail
            else f"{self.name}: missing; {self.remedy}"
        )


@dataclass(frozen=True, slots=True)
class Report:
    """What a host can do for programs."""

    features: tuple[Feature, ...]

    def __getitem__(self, name: str) -> Feature:
        return next(feature for feature in self.features if feature.name == name)

    def lacks(self, guard: str) -> tuple[str, ...]:
        """What is missing for a guard, in words."""
        needed = _NEEDED[guard]
        return tuple(str(feature) for feature in self.features if feature.name in needed and not feature.has)

    @property
    def guard(self) -> str | None:
        """The first guard of overlay, and those without an overlay, that this host can do."""
        return next((name for name in _NEEDED if not self.lacks(name)), None)


_NEEDED: Final = {
    # in the order in which they are taken
    "overlay": ("linux", "bubblewrap", "user namespaces", "overlayfs"),
    "scan": ("linux", "bubblewrap", "user namespaces"),
}


@cache
def probe() -> Report:
    """Look once, and remember; what needs a process to find out takes some ten milliseconds."""
    linux = sys.platform == "linux"
    system = Feature("linux", linux, os.uname().release if linux else sys.platform, _HOW["macos"])
    bwrap, version = _bubblewrap()
    spaces, overlay = _mounted() if linux else ("needs Linux", "needs Linux")
    return Report(
        (
            system,
            Feature("bubblewrap", bwrap, version, _HOW["bubblewrap"]),
            Feature("user namespaces", not spaces, spaces, _HOW["namespaces"]),
            Feature("overlayfs", not overlay, overlay, _HOW["overlay"]),
            _ids(),
            _cgroups(),
            _tool("podman"),
        )
    )


def _bubblewrap() -> tuple[bool, str]:
    import subprocess

    from wink.errors import SandboxUnavailable
    from wink_sandbox._sandbox import bubblewrap

    try:
        said = subprocess.run([bubblewrap(), "--version"], capture_output=True, text=True, timeout=_SECONDS, check=True)
    except SandboxUnavailable:
        return False, "not in /usr/bin, /bin or /usr/local/bin"
    except (OSError, subprocess.SubprocessError) as error:
        return False, str(error)
    version = said.stdout.strip().removeprefix("bubblewrap ")
    is_new = tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) >= (0, 8)
    return is_new, version if is_new else f"{version} is too old, 0.8 or later is needed"


def _mounted() -> tuple[str, str]:
    """Why a user namespace cannot be made, and why an overlay cannot be mounted in one; empty where they can."""
    import tempfile

    from wink.errors import SandboxUnavailable
    from wink_sandbox._lay import objection
    from wink_sandbox.programs import launcher

    try:
        launcher.start()
    except SandboxUnavailable as error:
        return error.missing[0].partition("; ")[0], "needs user namespaces"
    with tempfile.TemporaryDirectory(prefix="wink-probe-") as place:
        return "", objection(place)


def _ids() -> Feature:
    if os.getuid() == 0:
        return Feature("other users' files", True, "root maps all ids")
    path = program("newuidmap")
    return Feature("other users' files", path is not None, path or "programs cannot change them", _HOW["newuidmap"])


def _cgroups() -> Feature:
    from wink_sandbox.programs import found

    places = found()
    detail = ", ".join(sorted(places)) if places else "none is ours"
    return Feature("control groups", bool(places), detail, _HOW["cgroups"])


def _tool(name: str) -> Feature:
    path = program(name)
    return Feature(name, path is not None, path or "", _HOW[name])
