"""The guards that a program runs in: what is held of it has to be held in each of them, so tables of attacks are run in all.

Each runs a line for the shell in a workspace, and gives all that was said. `policies` are for calls, whose tools have them from their prompt; tries
have theirs from the workspace's `wink.toml`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest

from wink import tool
from wink.filesystem import Filesystem
from wink.prompt import Prompt, PromptTemplate, ToolsSection
from wink.runtime import ToolCall, ToolExecutor
from wink.tools import Isolation
from wink.workspace import Workspace
from wink_sandbox import CopyGuard, OverlayIsolation, remove_tree
from wink_shell import ShellConfig, ShellSection

Network = bool | tuple[str, ...] | None


class Project:
    """A workspace, and a home."""

    def __init__(self, base: Path) -> None:
        self.base, self.root, self.home = base, base / "project", base / "home"
        self.root.mkdir()
        self.home.mkdir()

    def wink(self, *words: str) -> str:
        """A command in the workspace, and all that it said."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        done = subprocess.run(
            [sys.executable, "-m", "wink", *words], cwd=self.root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env={**kept, "HOME": str(self.home)}, check=False, text=True, timeout=200,
        )  # fmt: skip
        return done.stdout


@contextmanager
def directory() -> Iterator[Path]:
    """One that is not in /tmp: of that a try shows what is in it otherwise."""
    above = "/var/lib" if os.getuid() == 0 else os.path.expanduser("~")
    base = Path(tempfile.mkdtemp(prefix="wink-guards-", dir=above))
    yield base
    remove_tree(str(base))


class Guard(Protocol):
    """A way to run a line; `network` is all of it, none, or the hosts that the program may reach, and None what is usual."""

    def __call__(
        self, project: Project, line: str, *, policies: Sequence[Any] = (), network: Network = None
    ) -> str: ...


def by_run_command(project: Project, line: str, *, policies: Sequence[Any] = (), network: Network = None) -> str:
    """What a model is answered."""
    readable = (sys.prefix, sys.base_prefix)
    config = ShellConfig(readable=readable, network=network or False, timeout_seconds=200, output_bytes=1 << 16)
    return _answered(project, ShellSection(config=config), policies, ToolCall("run_command", {"command": line}), {})


def by_run_command_on_copy(
    project: Project, line: str, *, policies: Sequence[Any] = (), network: Network = None
) -> str:
    """On a host where no overlay can be mounted."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("wink_sandbox._call.usual_guard", lambda part=None: CopyGuard())
        return by_run_command(project, line, policies=policies, network=network)


def ran(line: str) -> str:
    """An isolated function."""
    return subprocess.run(
        ["sh", "-c", line], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True
    ).stdout


def by_isolated_function(project: Project, line: str, *, policies: Sequence[Any] = (), network: Network = None) -> str:
    """What an ordinary function that a tool runs apart gives back."""
    section = ToolsSection("Run", tools=[tool(ran, isolated=True, effects="process")])
    bound = {Isolation: OverlayIsolation(network=network)} if network else {}
    return _answered(project, section, policies, ToolCall("ran", {"line": line}), bound)


def _answered(project: Project, section: Any, policies: Sequence[Any], call: ToolCall, bound: dict[Any, Any]) -> str:
    with Workspace.open(project.root) as workspace:
        session = workspace.session()
        prompt = Prompt(PromptTemplate(ns="tests", key="guards", sections=[section], policies=policies))
        prompt = prompt.bind(resources={Filesystem: workspace.filesystem, **bound})
        executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
        return executor.execute(call).text


def by_try(profile: str) -> Guard:
    """What a person sees."""

    def run(project: Project, line: str, *, policies: Sequence[Any] = (), network: Network = None) -> str:
        if network is None or isinstance(network, bool):
            options = {None: (), True: ("--network",), False: ("--no-network",)}[network]
        else:
            options = tuple(f"--network={host}" for host in network)
        return project.wink("try", "--profile", profile, *options, "--", "sh", "-c", line)

    return run


def by_try_on_copy(project: Project, line: str, *, policies: Sequence[Any] = (), network: Network = None) -> str:
    """Where a try works on a copy, as one that began so goes on doing."""
    if not list(project.root.glob(".wink/*/tries/default/copy")):
        project.wink("try", "--unconfined", "--", "mkdir", "begun")
    assert list(project.root.glob(".wink/*/tries/default/copy"))
    return by_try("agent")(project, line, network=network)


def by_check(project: Project, line: str, *, policies: Sequence[Any] = (), network: Network = None) -> str:
    """What is to pass before a try is accepted is a program as well; it has no network, whatever is asked for."""
    project.wink("try", "--", "sh", "-c", "echo > made")
    return project.wink("accept", "--check", line)


GUARDS: dict[str, Guard] = {
    "run_command": by_run_command,
    "run_command, on a copy": by_run_command_on_copy,
    "isolated function": by_isolated_function,
    "try, agent": by_try("agent"),
    "try, build": by_try("build"),
    "try, closed": by_try("closed"),
    "try, claude": by_try("claude"),
    "try, on a copy": by_try_on_copy,
    "accept --check": by_check,
}


def python_of(guard: str) -> str:
    """A Python that programs in this guard see."""
    return sys.executable if guard.startswith("try") and "closed" not in guard else "/usr/bin/python3"
