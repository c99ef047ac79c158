"""What the containers are made of, and how much they may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from wink.dataclass import dataclass, field
from wink.errors import PromptValidationError

WORKSPACE = "/workspace"
"""Where the workspace lies in a container."""


@dataclass(frozen=True, slots=True)
class PodmanConfig:
    """The image that commands run in, and their limits.

    A container is made for each command and is gone after it; what stays is what the command did to the workspace.
    `network` opens all of the network, and no list of hosts is taken; without it a command has none. `runtime` is `crun`, `runc` or another OCI runtime; left alone, Podman's own, or `runc` where that is known not to work
    (`crun` on a host with hybrid control groups). `pull` says what to do about an image that this machine does not have.
    `memory` is as Podman takes it, `512m` say, `scratch` names directories of the workspace that stay out of it: what commands
    put there is kept for the next command, and never becomes part of the workspace.
    """

    image: str = field(default="", metadata={"description": "The image that commands run in; there is no usual one."})
    network: bool = field(default=False, metadata={"description": "Let commands reach the network, all of it."})
    memory: str = field(
        default="512m",
        metadata={"description": "Most memory of a command, as Podman takes it.", "regex": r"^\d+[bkmgBKMG]?$"},
    )
    processes: int = field(default=256, metadata={"description": "Most processes of a command.", "ge": 1})
    open_files: int = field(default=1024, metadata={"description": "Most open files of a process.", "ge": 16})
    cpus: float | None = field(
        default=None, metadata={"description": "How many processors a command may use.", "gt": 0}
    )
    timeout_seconds: float = field(
        default=120.0, metadata={"description": "How long a command may run unless it says otherwise.", "gt": 0}
    )
    max_timeout_seconds: float = field(
        default=1800.0, metadata={"description": "How long a command may ask to run.", "gt": 0}
    )
    max_output_bytes: int = field(
        default=32_768,
        metadata={
            "description": "How much of each output stream is kept, half from its beginning and half from its end.",
            "ge": 256,
        },
    )
    user: str = field(
        default="65534:65534", metadata={"description": "User and group of commands.", "regex": r"^\d+:\d+$"}
    )
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    scratch: tuple[str, ...] = ()
    runtime: str | None = None
    pull: Literal["never", "missing"] = "never"
    python: str = field(default="python3", metadata={"description": "The interpreter in the image.", "min_length": 1})
    shell: str = field(default="/bin/sh", metadata={"description": "The shell in the image.", "min_length": 1})

    def __post_init__(self) -> None:
        if self.network not in (True, False):
            raise PromptValidationError(
                "network is all or nothing in a container, true or false; the hosts of a list are held for run_command"
            )
