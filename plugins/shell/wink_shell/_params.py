"""What `run_command` is called with."""

from __future__ import annotations

from wink.dataclass import dataclass, field


@dataclass(frozen=True, slots=True)
class RunCommandParams:
    """One command."""

    command: str = field(
        metadata={"description": "What to run, as one would type it at a shell prompt (sh).", "min_length": 1}
    )
    cwd: str = field(
        default="",
        metadata={"description": "Directory to run it in, relative to the workspace's root; leave out for the root."},
    )
    env: dict[str, str] = field(
        default_factory=dict[str, str], metadata={"description": "Further environment variables."}
    )
    stdin: str = field(default="", metadata={"description": "Text that the command reads from its standard input."})
    timeout_seconds: float | None = field(
        default=None,
        metadata={"description": "Seconds after which the command is ended and its changes are dropped.", "gt": 0},
    )
