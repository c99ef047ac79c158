"""Run a project's own tests: through the `shell` plugin where this machine can confine programs, otherwise directly."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from wink.cli._compose import compose
from wink.cli._opening import open_workspace
from wink.cli.work._story import TestsRan
from wink.errors import PluginError
from wink.plugins import Catalog, Settings
from wink.runtime import ToolCall, ToolExecutor
from wink.trust import inherited

_SHELL = "shell.commands"
_NOT_RUN = (126, 127)
"""What a shell says of a program that it cannot start: the interpreter lies where the sandbox does not show it."""
_QUIET = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHON_COLORS": "0", "PYTHONIOENCODING": "utf-8"}


def run_tests(python: str, directory: Path, *, seconds: float) -> TestsRan:
    """Whether a project's tests pass, their last word, and the names of those that failed."""
    return _confined(python, directory, seconds) or _unconfined(python, directory, seconds)


def _confined(python: str, directory: Path, seconds: float) -> TestsRan | None:
    """Through the tool that an agent would call: nothing that the tests do to the project is kept when they fail."""
    with open_workspace(str(directory)) as workspace:
        session = workspace.session("tests")
        try:
            prompt = compose(workspace, Catalog.installed(Settings()), sections=(_SHELL,), with_rules=False)
        except PluginError:
            return None
        executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
        with prompt.resources:
            call = {"command": f"{shlex.quote(python)} -m unittest", "env": _QUIET, "timeout_seconds": seconds}
            value = executor.execute(ToolCall("run_command", call)).result.value
    if value is None or not hasattr(value, "stderr") or value.exit_code in _NOT_RUN:
        return None
    if value.exit_code is None:
        return TestsRan(False, f"not done after {seconds:.0f} seconds")
    return _read(value.exit_code, value.stderr, "in the sandbox")


def _unconfined(python: str, directory: Path, seconds: float) -> TestsRan:
    try:
        done = subprocess.run(
            [python, "-m", "unittest"],
            cwd=directory,
            env={**inherited(os.environ), **_QUIET},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return TestsRan(False, f"not done after {seconds:.0f} seconds")
    return _read(done.returncode, done.stderr)


def _read(status: int, said: str, where: str = "") -> TestsRan:
    lines = said.splitlines()
    failures = tuple(line.partition(" (")[0] for line in lines if line.startswith(("FAIL: ", "ERROR: ")))
    ran = next((line.partition(" in ")[0] for line in lines if line.startswith("Ran ")), "")
    last = lines[-1] if lines else "no word from unittest"
    outcome = ": ".join(filter(None, (" ".join(filter(None, (ran, where))), last)))
    return TestsRan(status == 0, outcome, failures)
