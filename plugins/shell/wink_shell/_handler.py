"""One call of `run_command`, step by step."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Mapping
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
from wink.trust import allowed
from wink_sandbox import (
    Command,
    Guard,
    OnOutput,
    Outcome,
    People,
    Profile,
    Sandbox,
    Unguarded,
    people_in_call,
    run_in_call,
    words_of,
)
from wink_shell._config import ShellConfig
from wink_shell._params import RunCommandParams
from wink_shell._results import CommandResult, FileNote, listed

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LEFT_OUT: Final = 20


class Shell:
    """Runs commands within the call that is active, bounded by one configuration."""

    __slots__ = ("_config", "_guard", "_remembered")

    def __init__(self, config: ShellConfig) -> None:
        self._config = config
        self._guard: Guard | None = Unguarded() if config.sandbox == "none" else None
        self._remembered: dict[tuple[str, str], set[tuple[str, int]]] = {}
        """The hosts that a person has let be reached, by workspace and session, as long as this process runs."""

    def run_command(self, params: RunCommandParams, *, context: ToolContext) -> ToolResult[CommandResult]:
        """Run, and keep what was changed only if the command says that all went well."""
        if "\0" in params.command:
            raise ToolValidationError("command has a NUL character in it")
        return self.run(
            words_of(params.command),
            context=context,
            cwd=params.cwd,
            env=params.env,
            stdin=params.stdin.encode("utf-8", "surrogateescape"),
            seconds=self._seconds(params, context),
        )

    def run(
        self,
        argv: tuple[str, ...],
        *,
        context: ToolContext,
        cwd: str = "",
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        seconds: float | None = None,
        on_output: OnOutput | None = None,
    ) -> ToolResult[CommandResult]:
        """Run a program and its arguments, for `seconds` or as long as any may; raises `ToolValidationError`.

        `on_output` hears of all that it says, on another thread than the one that calls.
        """
        config = self._config
        said = deque[str]()
        command = Command(argv, cwd=_directory(cwd, context), env=self._environment(env or {}), stdin=stdin)
        sandbox = Sandbox(
            Profile(
                network=config.network,
                readable=config.readable,
                home=os.path.expanduser("~"),
                limits=config.limits(config.max_timeout_seconds if seconds is None else seconds),
            ),
            scratch=config.scratch,
            people=self._people(context, said) if config.network_default == "ask" else None,
        )

        def beat() -> None:
            while said:  # by the proxy's thread, which is not this call's
                context.progress(said.popleft())
            context.beat()

        try:
            outcome = run_in_call(
                command,
                sandbox,
                accepted=config.accepted,
                guard=self._guard,
                on_output=on_output,
                beat=beat,
            )
        except (SandboxUnavailable, ProgramNotStarted, MergeConflict, MergeRefused) as error:
            return ToolResult[Any].error(str(error))
        if context.deadline is not None and outcome.ended.reason == "timed out":
            context.deadline.check()
        value = self._value(outcome)
        if outcome.kept:
            return ToolResult.ok(value, "Done.")
        what = "nothing was changed" if outcome.guard != "none" else "what it changed stays, as there is no sandbox"
        return ToolResult(message=f"The command failed; {what}.", value=value, success=False)

    def _people(self, context: ToolContext, said: deque[str]) -> People:
        """Who is asked about hosts that are not listed."""
        key = context.filesystem.root, context.session.name
        remembered = self._remembered.setdefault(key, set())
        return people_in_call(
            said.append, hint="a person can list {} as `network` in the settings of this tool", remembered=remembered
        )

    def _environment(self, given: Mapping[str, str]) -> dict[str, str]:
        for name, value in given.items():
            if _VARIABLE.fullmatch(name) is None:
                raise ToolValidationError(
                    f"env: {name!r} cannot be the name of a variable; use letters, digits and '_'"
                )
            if "\0" in value:
                raise ToolValidationError(f"env: the value of {name} has a NUL character in it")
        return {**allowed(os.environ, self._config.environment), **given}

    def _seconds(self, params: RunCommandParams, context: ToolContext) -> float:
        config = self._config
        seconds = config.timeout_seconds if params.timeout_seconds is None else params.timeout_seconds
        if seconds > config.max_timeout_seconds:
            raise ToolValidationError(f"timeout_seconds can be {config.max_timeout_seconds:g} at most")
        if context.deadline is not None:
            seconds = min(seconds, max(context.deadline.remaining().total_seconds(), 0.0))
        return seconds

    def _value(self, outcome: Outcome) -> CommandResult:
        ended = outcome.ended
        assert ended.reason != "cancelled", "whoever cancelled it does not wait for what it said"
        return CommandResult(
            ended.status,
            ended.reason,
            round(ended.duration, 3),
            ended.stdout.text(),
            ended.stderr.text(),
            outcome.kept,
            len(outcome.changes),
            listed(outcome.changes, self._config.max_changes),
            tuple(FileNote(quoted_path(path) or ".", "left out", reason) for path, reason in outcome.notes[:_LEFT_OUT]),
            outcome.guard,
            outcome.hidden,
            ended.traffic,
        )


def _directory(path: str, context: ToolContext) -> str:
    """Where to run, as a normalised path."""
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
