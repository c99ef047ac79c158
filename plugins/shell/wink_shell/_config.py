"""What commands may see and use, and how they are confined."""

from __future__ import annotations

from typing import Any, Literal

from wink.dataclass import dataclass, field
from wink.errors import PromptValidationError
from wink_sandbox import ENVIRONMENT, MIB, SCRATCH, Limits

SandboxKind = Literal["bubblewrap", "none"]


def _at_most(default: Any, text: str, least: int = 1) -> Any:
    return field(default=default, metadata={"description": text, "ge": least, "tighten": "lower"})


@dataclass(frozen=True, slots=True)
class ShellConfig:
    """The settings of `run_command`; a workspace's own files can only tighten them.

    `sandbox="none"` runs commands unconfined: they see and change everything that you can. Only a program, or the user's
    own settings, can say so. `readable` are files and directories of the host, besides the system's, that commands may
    read. `network` true lets commands reach all of it; a list, such as `["example.org", "*.github.com:443"]`, these hosts through a
    proxy of wink's; without a port an entry is for 80 and 443. `network_default="ask"` asks a person about hosts that are not listed. `scratch` are names of directories that stay out of the transaction and are kept for the next command
    (`node_modules`), or paths from the root where they begin with `/`. `environment` names the variables that are handed
    on, where a name may end in `*`. `accepted` are the exit statuses that keep what a command changed.
    """

    sandbox: SandboxKind = "bubblewrap"
    network: bool | tuple[str, ...] = field(default=False, metadata={"tighten": "fewer"})
    network_default: Literal["deny", "ask"] = "deny"
    readable: tuple[str, ...] = field(default=(), metadata={"tighten": "fewer"})
    scratch: tuple[str, ...] = SCRATCH
    environment: tuple[str, ...] = field(default=ENVIRONMENT, metadata={"tighten": "fewer"})
    accepted: tuple[int, ...] = field(default=(0,), metadata={"tighten": "fewer"})
    timeout_seconds: float = _at_most(120.0, "Seconds after which a command is ended, unless it asks for others.")
    max_timeout_seconds: float = _at_most(1800.0, "Most seconds that a command may ask for.")
    cpu_seconds: int | None = field(default=None, metadata={"ge": 1})
    memory_bytes: int = _at_most(4096 * MIB, "Memory that a command may use.", MIB)
    processes: int = _at_most(1024, "Most processes at a time.")
    file_bytes: int = _at_most(2048 * MIB, "Most bytes by which a command may make one file larger.")
    written_bytes: int = _at_most(4096 * MIB, "Most bytes that a command may add to the workspace in all.")
    temporary_bytes: int = _at_most(1024 * MIB, "Size of /tmp, and of the home directory.", 4096)
    output_bytes: int = _at_most(32 * 1024, "Most bytes of each of stdout and stderr that are kept.", 256)
    max_changes: int = _at_most(50, "Most changed paths that a reply lists.")

    def __post_init__(self) -> None:
        if self.network_default == "ask" and self.sandbox == "none":
            raise PromptValidationError("network_default can ask only where there is a sandbox")
        if not isinstance(self.network, bool):
            if self.network and self.sandbox == "none":
                raise PromptValidationError("network can list hosts only where there is a sandbox")
            from wink_sandbox import Listed  # which few settings need

            try:
                Listed(self.network)
            except ValueError as error:
                raise PromptValidationError(f"network: {error}") from None
        if self.timeout_seconds > self.max_timeout_seconds:
            raise PromptValidationError("timeout_seconds must not be more than max_timeout_seconds")

    def limits(self, seconds: float) -> Limits:
        """The same for one command."""
        return Limits(
            wall_seconds=seconds,
            cpu_seconds=self.cpu_seconds,
            memory_bytes=self.memory_bytes,
            processes=self.processes,
            file_bytes=self.file_bytes,
            written_bytes=self.written_bytes,
            temporary_bytes=self.temporary_bytes,
            output_bytes=self.output_bytes,
        )
