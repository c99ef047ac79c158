"""Offer the MCP servers that the user's own settings name as sections; must stay light, since catalogs import it.

`[tool.wink.plugins.mcp.servers.time] command = ["mcp-server-time"]` in the user's settings offers the section `mcp.time`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from wink.dataclass import dataclass, field, fields
from wink.errors import PromptValidationError
from wink.plugins import SectionOffer, hookimpl

if TYPE_CHECKING:
    from wink_mcp.mount._section import McpSection

_REFERENCE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """One server; see `wink_mcp.McpSection` for what each key means.

    In `url` and the values of `env` and `headers`, `${NAME}` stands for the variable NAME, so that no secret has to be in a
    file.
    """

    command: tuple[str, ...] = ()
    url: str = ""
    title: str = ""
    prefix: str | None = None
    tools: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    rename: dict[str, str] = field(default_factory=dict[str, str])
    effects: dict[str, Literal["read", "external"]] | Literal["read", "external"] = "external"
    trust_hints: bool = False
    extra: Literal["forbid", "ignore", "allow"] = "forbid"
    timeout: float | None = None
    connect_timeout: float | None = None
    env: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    inherit: tuple[str, ...] | None = None
    cwd: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    instructions: bool = True


@dataclass(frozen=True, slots=True)
class McpSettings:
    """The user's MCP servers.

    Only the user's own settings name servers: a file of the workspace, which an agent can edit, may forbid more of their
    tools with `deny`, patterns of `server.tool`, and give them less `timeout`.
    """

    servers: dict[str, ServerSettings] = field(default_factory=dict[str, ServerSettings])
    deny: tuple[str, ...] = field(default=(), metadata={"tighten": "more"})
    timeout: float = field(default=60.0, metadata={"gt": 0, "tighten": "lower"})


@hookimpl
def wink_settings() -> type[McpSettings]:
    """The servers, and limits for all of them."""
    return McpSettings


@hookimpl
def wink_sections(settings: McpSettings) -> Iterable[SectionOffer]:
    """A section for each server that is not denied as a whole."""
    for name, server in settings.servers.items():
        summary = f"tools of the MCP server {' '.join(server.command) or server.url}"
        yield SectionOffer(f"mcp.{name}", _factory(name, server, settings), summary)


def _factory(name: str, server: ServerSettings, settings: McpSettings) -> Callable[..., McpSection]:
    def section(*, title: str | None = None, key: str | None = None) -> McpSection:
        """Make the section; nothing is started before a prompt is rendered."""
        from wink_mcp.mount._section import McpSection

        given = _given(server)
        if server.url:
            given["url"] = _filled(name, "url", {"url": server.url})["url"]
        for option in ("env", "headers"):
            if option in given:
                given[option] = _filled(name, option, given[option])
        given["timeout"] = min(settings.timeout, given.get("timeout", settings.timeout))
        given["deny"] = (*server.deny, *_denied(name, settings.deny))
        given["title"] = title or given.get("title")
        return McpSection(name, key=key, **given)

    return section


def _given(server: ServerSettings) -> dict[str, Any]:
    """The keys that say something; all others keep the section's own defaults."""
    values = {one.name: getattr(server, one.name) for one in fields(server)}
    return {name: value for name, value in values.items() if value not in (None, "", (), {})}


def _denied(name: str, patterns: Iterable[str]) -> Iterable[str]:
    """Of patterns of `server.tool`, what they forbid of this server's tools; a server's name alone forbids them all."""
    for pattern in patterns:
        server, dot, tool = pattern.partition(".")
        if fnmatchcase(name, server):
            yield tool if dot else "*"


def _filled(name: str, option: str, values: Mapping[str, str]) -> dict[str, str]:
    def value_of(reference: re.Match[str]) -> str:
        variable = cast("str", reference[1])
        found = os.environ.get(variable)  # the settings name it: a secret's place is not in a file
        if found is None:
            raise PromptValidationError(
                f"MCP server {name!r}: {option} in your settings needs the variable {variable}, which is not set; "
                f"set it, or take the server out of your settings"
            )
        return found

    return {key: _REFERENCE.sub(value_of, value) for key, value in values.items()}
