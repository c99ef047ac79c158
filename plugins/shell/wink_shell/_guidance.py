"""What the model is told about running commands."""

from __future__ import annotations

from typing import Final

from wink_shell._config import ShellConfig

_GUIDANCE = """\
`run_command` runs a command with `sh` in the workspace and waits for its end. Paths are relative to the workspace's root; \
`cd` lasts for one command only, so pass `cwd` instead."""

_ATOMIC = """\
Each command is all or nothing: exit code 0 keeps every change that it made to files, anything else drops them all. Put steps \
that belong together into one command with `&&`, and end with `|| true` only where a failure does not matter. \
Processes that are still running when the command ends are killed, so nothing can be left in the background."""

_BARE = "Commands are not confined, and what they change stays, also when they fail: be careful."

_HOSTS: Final = 20


def guidance(config: ShellConfig) -> str:
    """How to use the tool under these settings."""
    parts = [_GUIDANCE, _BARE if config.sandbox == "none" else _ATOMIC]
    if config.sandbox != "none":
        reach = "reach the network" if config.network else "see only the workspace and the system: there is no network"
        if config.network_default == "ask" and not config.network:
            reach = "reach hosts that a person is asked about, through the proxy that HTTP_PROXY and HTTPS_PROXY name"
        elif not isinstance(config.network, bool) and config.network:
            hosts = ", ".join(f"`{host}`" for host in config.network[:_HOSTS])
            more = f" and {len(config.network) - _HOSTS} more" if len(config.network) > _HOSTS else ""
            others = "a person is asked about others" if config.network_default == "ask" else "no other hosts"
            reach = f"reach {hosts}{more} through the proxy that HTTP_PROXY and HTTPS_PROXY name, and {others}"
        parts.append(
            f"Commands {reach}, `/tmp` and the home directory are empty, and nothing outside of the workspace can be changed."
        )
    parts.append(
        f"A command may take {config.timeout_seconds:g} seconds, or as many as `timeout_seconds` says, up to "
        f"{config.max_timeout_seconds:g}. Of long output the beginning and the end are shown."
    )
    if config.scratch and config.sandbox != "none":
        names = ", ".join(f"`{name}`" for name in config.scratch)
        parts.append(
            f"Directories called {names} are scratch: they are kept between commands, and are not part of the workspace's files."
        )
    return "\n\n".join(parts)
