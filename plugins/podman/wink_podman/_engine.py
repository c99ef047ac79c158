"""Find Podman, and say in its words what a container shall be."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Iterator, Sequence
from functools import cache

from wink.dataclass import dataclass
from wink.errors import ProgramNotStarted
from wink_podman._config import WORKSPACE, PodmanConfig

OWNER = "io.wink.owner"
"""The label that says which process a container belongs to."""

_ENOUGH_PROCESSES = 32_768
"""Of one user on the whole machine: what a container may have is what `--pids-limit` says."""

_TEMPORARY = "/tmp"  # noqa: S108  the container's own


@dataclass(frozen=True, slots=True)
class View:
    """The workspace as a container sees it: what it writes goes to `upper`; `masked` directories look like `empty`.

    So do those of `hidden`, and the files of it like `nothing`: paths in the workspace, each with whether it is a directory.
    `calls` is a file with a filter of system calls; without one Podman's own holds.
    """

    root: str
    upper: str
    work: str
    empty: str
    masked: Sequence[str] = ()
    nothing: str = ""
    hidden: Sequence[tuple[str, bool]] = ()
    calls: str = ""


def podman() -> str:
    """Where Podman is; raises `ProgramNotStarted` with how to get it."""
    found = shutil.which("podman")
    if found is None:
        raise ProgramNotStarted("podman", "Podman is not installed; apt-get install podman, or dnf install podman")
    return found


@cache
def runtime_for_host() -> str | None:
    """The OCI runtime to ask for, or None for Podman's own choice.

    crun refuses hosts that mount both kinds of control groups (hybrid mode); runc takes them.
    """
    try:
        with open("/proc/self/mountinfo") as mounts:
            kinds = {line.split(" - ")[1].split()[0] for line in mounts if " - cgroup" in line}
    except OSError:
        return None
    return shutil.which("runc") if {"cgroup", "cgroup2"} <= kinds else None


def arguments(
    config: PodmanConfig,
    view: View,
    *,
    name: str,
    owner: str,
    cwd: str,
    env: Sequence[tuple[str, str]],
    seconds: float,
    interactive: bool,
) -> Iterator[str]:
    """Everything of `podman run` before the image."""
    yield podman()
    runtime = config.runtime or runtime_for_host()
    if runtime is not None:
        yield from ("--runtime", runtime)
    yield from ("run", "--rm", "--name", name, "--label", f"{OWNER}={owner}", "--pull", config.pull)
    yield from ("--log-driver", "none", "--hostname", "wink", "--stop-timeout", "0")
    # Should nobody be left to end it, Podman does.
    yield from ("--timeout", str(int(seconds) + 30))
    yield from (
        "--network",
        "slirp4netns" if config.network and os.geteuid() else "bridge" if config.network else "none",
    )
    yield from _rights(config, view.root)
    if view.calls:
        yield from ("--security-opt", f"seccomp={view.calls}")
    yield from _limits(config)
    yield from ("--read-only", "--read-only-tmpfs=false")
    yield from ("--tmpfs", f"{_TEMPORARY}:rw,nosuid,nodev,mode=1777,size={config.memory}")
    yield from ("--volume", f"{view.root}:{WORKSPACE}:O,upperdir={view.upper},workdir={view.work}")
    for place in view.masked:
        yield from ("--volume", f"{view.empty}:{WORKSPACE}/{place}:ro")
    for place, is_directory in view.hidden:
        source = view.empty if is_directory else view.nothing
        yield from ("--mount", _fields("type=bind", f"source={source}", f"destination={WORKSPACE}/{place}", "readonly"))
    yield from ("--workdir", f"{WORKSPACE}/{cwd}".rstrip("/"))
    yield from ("--env", f"HOME={_TEMPORARY}")
    for variable, value in (*config.env.items(), *env):
        yield from ("--env", f"{variable}={value}")
    if interactive:
        yield "--interactive"


def _fields(*fields: str) -> str:
    """What Podman reads as comma-separated values."""
    return ",".join('"' + field.replace('"', '""') + '"' for field in fields)


def _rights(config: PodmanConfig, root: str) -> Iterator[str]:
    yield from ("--user", config.user, "--security-opt", "no-new-privileges", "--cap-drop", "all")
    uid, gid = config.user.split(":")
    if os.geteuid():
        # The container's user is the one who runs this: files that it makes belong to nobody else.
        yield f"--userns=keep-id:uid={uid},gid={gid}"
    elif os.stat(root).st_uid != int(uid):
        # Podman cannot give files another owner on an overlay here; so its user gets what owners may do with files,
        # in a container that has nothing but the workspace to do it to.
        yield from ("--cap-add", "dac_override", "--cap-add", "fowner", "--cap-add", "chown")


def _limits(config: PodmanConfig) -> Iterator[str]:
    yield from ("--memory", config.memory, "--memory-swap", config.memory, "--pids-limit", str(config.processes))
    if config.cpus is not None:
        yield from ("--cpus", str(config.cpus))
    # Given always: what Podman takes otherwise may be more than this process, or Podman itself, is allowed, and fails.
    for limit, kind, wanted in (
        ("nofile", resource.RLIMIT_NOFILE, config.open_files),
        ("nproc", resource.RLIMIT_NPROC, _ENOUGH_PROCESSES),
        ("core", resource.RLIMIT_CORE, 0),
    ):
        allowed = resource.getrlimit(kind)[1]
        most = wanted if allowed == resource.RLIM_INFINITY else min(wanted, max(allowed // 4, 1) if wanted else 0)
        yield from ("--ulimit", f"{limit}={most}:{most}")
