"""What the model is told about the container."""

from __future__ import annotations

from wink_podman._config import WORKSPACE, PodmanConfig

_GUIDANCE = """\
`shell_execute` runs a command with `sh`, `evaluate_python` a Python script, in a fresh container that sees the same files as the \
file tools, at `{workspace}`. Nothing but those files lasts from one command to the next: no installed package, no `cd`, no \
background process.

Each command is all or nothing: exit code 0 keeps every change that it made to files, anything else drops them all. Put steps \
that belong together into one command with `&&`, and end with `|| true` only where a failure does not matter."""


def guidance(config: PodmanConfig) -> str:
    """How to use the tools under these settings."""
    network = "They reach the network." if config.network else "There is no network."
    bounds = (
        f"{network} A command may take {config.timeout_seconds:g} seconds, or as many as `timeout_seconds` says, up to "
        f"{config.max_timeout_seconds:g}, and {config.memory} of memory. Of long output the beginning and the end are shown."
    )
    parts = [_GUIDANCE.format(workspace=WORKSPACE), bounds]
    if config.scratch:
        names = ", ".join(f"`{name}`" for name in config.scratch)
        parts.append(
            f"Directories called {names} are scratch: they are kept between commands, and are not part of the files."
        )
    return "\n\n".join(parts)
