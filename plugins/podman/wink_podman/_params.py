"""What the container tools are called with."""

from __future__ import annotations

from collections.abc import Mapping

from wink.dataclass import dataclass, field

_TIMEOUT = {"description": "How long it may run, in seconds; leave out for the usual.", "gt": 0}


@dataclass(frozen=True, slots=True)
class ShellExecuteParams:
    """A command for the shell of the container."""

    command: str = field(
        metadata={"description": "The command line, as /bin/sh takes it. It starts in the workspace.", "min_length": 1}
    )
    cwd: str = field(
        default="",
        metadata={"description": "Directory to start in, relative to the workspace's root; leave out for the root."},
    )
    env: Mapping[str, str] = field(
        default_factory=dict[str, str], metadata={"description": "Further environment variables."}
    )
    stdin: str = field(default="", metadata={"description": "Text for its standard input."})
    timeout_seconds: float | None = field(default=None, metadata=_TIMEOUT)
    capture_output: bool = field(
        default=True, metadata={"description": "Whether to show its output; false for commands that print much."}
    )


@dataclass(frozen=True, slots=True)
class EvaluatePythonParams:
    """A Python script for the container."""

    code: str = field(
        metadata={"description": "The script. It runs in the workspace; what it prints is shown.", "min_length": 1}
    )
    timeout_seconds: float | None = field(default=None, metadata=_TIMEOUT)
