"""The handlers of the container tools."""

from __future__ import annotations

import re
from typing import Any, Final

from wink.errors import (
    MergeConflict,
    MergeRefused,
    PathRefused,
    ProgramNotStarted,
    SandboxUnavailable,
    ToolValidationError,
)
from wink.filesystem import quoted_path
from wink.tools import ToolContext, ToolResult
from wink_podman._config import PodmanConfig
from wink_podman._guard import PodmanGuard
from wink_podman._params import EvaluatePythonParams, ShellExecuteParams
from wink_podman._results import ShellExecuteResult
from wink_sandbox import Command, Limits, Outcome, Profile, Sandbox, run_in_call

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CHANGES_SHOWN: Final = 50
_LEFT_OUT_SHOWN: Final = 20


class ContainerTools:
    """Both handlers, bounded by one configuration."""

    __slots__ = ("_config", "_guard")

    def __init__(self, config: PodmanConfig) -> None:
        self._config, self._guard = config, PodmanGuard(config)

    def shell_execute(self, params: ShellExecuteParams, *, context: ToolContext) -> ToolResult[ShellExecuteResult]:
        """Run a command line, and keep what it changed only if it exits with 0."""
        for name, value in params.env.items():
            if _VARIABLE.fullmatch(name) is None:
                raise ToolValidationError(
                    f"env: {name!r} cannot be the name of a variable; use letters, digits and '_'"
                )
            if "\0" in value:
                raise ToolValidationError(f"env: the value of {name} has a NUL character in it")
        command = Command(
            (self._config.shell, "-c", _text("command", params.command)),
            cwd=_directory(params.cwd, context),
            env=dict(params.env),
            stdin=params.stdin.encode("utf-8", "surrogateescape"),
        )
        return self._run(command, params.timeout_seconds, context, show=params.capture_output)

    def evaluate_python(self, params: EvaluatePythonParams, *, context: ToolContext) -> ToolResult[ShellExecuteResult]:
        """Run a script, and keep what it changed only if it ends without an exception."""
        command = Command((self._config.python, "-c", _text("code", params.code)))
        return self._run(command, params.timeout_seconds, context)

    def _run(
        self, command: Command, seconds: float | None, context: ToolContext, *, show: bool = True
    ) -> ToolResult[ShellExecuteResult]:
        config = self._config
        limits = Limits(wall_seconds=self._seconds(seconds, context), output_bytes=config.max_output_bytes)
        sandbox = Sandbox(Profile(network=config.network, limits=limits), scratch=config.scratch)
        try:
            outcome = run_in_call(command, sandbox, guard=self._guard, beat=context.beat)
        except (SandboxUnavailable, ProgramNotStarted, MergeConflict, MergeRefused) as error:
            return ToolResult[Any].error(str(error))
        if context.deadline is not None and outcome.ended.reason == "timed out":
            context.deadline.check()
        value = _value(outcome, show=show)
        if outcome.kept:
            return ToolResult.ok(value, "Done.")
        return ToolResult(message="The command failed; nothing was changed.", value=value, success=False)

    def _seconds(self, wanted: float | None, context: ToolContext) -> float:
        config = self._config
        seconds = config.timeout_seconds if wanted is None else wanted
        if seconds > config.max_timeout_seconds:
            raise ToolValidationError(f"timeout_seconds can be {config.max_timeout_seconds:g} at most")
        if context.deadline is not None:
            seconds = min(seconds, max(context.deadline.remaining().total_seconds(), 0.0))
        return seconds


def _value(outcome: Outcome, *, show: bool) -> ShellExecuteResult:
    ended = outcome.ended
    return ShellExecuteResult(
        ended.status,
        "timed out" if ended.reason == "timed out" else "exited" if ended.reason == "exited" else "died",
        round(ended.duration, 3),
        ended.stdout.text() if show else "",
        ended.stderr.text() if show else "",
        outcome.kept,
        len(outcome.changes),
        tuple(f"{change.kind} {quoted_path(change.path)}" for change in outcome.changes[:_CHANGES_SHOWN]),
        tuple(f"{quoted_path(path)} {reason}" for path, reason in outcome.notes[:_LEFT_OUT_SHOWN]),
        outcome.hidden,
    )


def _text(name: str, text: str) -> str:
    if "\0" in text:
        raise ToolValidationError(f"{name} has a NUL character in it")
    return text


def _directory(path: str, context: ToolContext) -> str:
    """Where to start, as a normalised path."""
    files = context.filesystem
    try:
        name = files.normalize(path)
        if name and not files.stat(name).is_directory:
            raise ToolValidationError(f"cwd: {path!r} is not a directory")
    except PathRefused as error:
        raise ToolValidationError(f"cwd: {error}") from None
    except (FileNotFoundError, NotADirectoryError):
        raise ToolValidationError(f"cwd: {path!r} does not exist; it is relative to the workspace's root") from None
    return name
