"""Write the snippet that tells an MCP client how to reach `wink serve`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from wink.dataclass import dataclass, field
from wink_mcp._errors import ClientSettingRefused

__all__ = ["CLIENTS", "ClientConfig", "Endpoint", "Program", "client_config", "quoted"]

Json: TypeAlias = dict[str, Any]
PATIENCE: Final = 600
"""So many seconds may a call take before a client gives up, where it would otherwise do so within seconds."""


@dataclass(frozen=True, slots=True)
class Program:
    """A server that the client starts itself, and speaks to over its standard input and output."""

    command: str
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict[str, str])
    """Variables that the server needs, and that a client would keep from it."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server that runs already, at a URL; `headers` go with every request."""

    url: str
    headers: dict[str, str] = field(default_factory=dict[str, str])


Reached: TypeAlias = Program | Endpoint


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """A snippet for one client, and where it belongs; `file` is the path in the project, "" where the client reads none of JSON there."""

    text: str
    place: str
    file: str = ""


@dataclass(frozen=True, slots=True)
class _Client:
    title: str
    place: str
    write: Callable[[str, Reached], str]
    file: str = ""
    """The JSON file of a project that the client reads."""
    replaces: str = ""
    """What the client replaces in the snippet's values (a regular expression); it cannot be written there as it stands."""


def client_config(client: str, reached: Reached, *, name: str = "wink") -> ClientConfig:
    """The snippet for one of `CLIENTS`; `name` is what the client calls the server.

    Raises `ClientSettingRefused` for a value that the client would not take as it stands.

    >>> print(client_config("codex", Program("/usr/bin/wink", ("serve", "--workspace", "/src/it"))).text, end="")
    [mcp_servers.wink]
    command = "/usr/bin/wink"
    args = ["serve", "--workspace", "/src/it"]
    required = true
    startup_timeout_sec = 60
    tool_timeout_sec = 600
    """
    known = CLIENTS[client]
    for value in _values(reached):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ClientSettingRefused(known.title, value, "it is no Unicode text, which the file has to be") from None
        found = re.search(known.replaces, value) if known.replaces else None
        if found:
            raise ClientSettingRefused(known.title, value, f"{known.title} would replace {found[0]!r} in it")
    return ClientConfig(known.write(name, reached), known.place, known.file)


def _values(reached: Reached) -> tuple[str, ...]:
    if isinstance(reached, Program):
        return (reached.command, *reached.arguments, *reached.environment.values())
    return (reached.url, *reached.headers.values())


def _in_json(key: str, entry: Callable[[Reached], Json], **beside: Any) -> Callable[[str, Reached], str]:
    """A writer of a JSON file that has servers by name under `key`."""

    def write(name: str, reached: Reached) -> str:
        return _escaped(json.dumps({**beside, key: {name: entry(reached)}}, indent=2, ensure_ascii=False)) + "\n"

    return write


def _program_or_url(reached: Reached) -> Json:
    """What Claude Code began, and most others took over."""
    if isinstance(reached, Program):
        return {"type": "stdio", **_for_gemini(reached)}
    return {"type": "http", "url": reached.url} | ({"headers": reached.headers} if reached.headers else {})


def _for_opencode(reached: Reached) -> Json:
    patience: Json = {"enabled": True, "timeout": PATIENCE * 1000}
    if isinstance(reached, Program):
        variables = {"environment": reached.environment} if reached.environment else {}
        return {"type": "local", "command": [reached.command, *reached.arguments], **variables, **patience}
    headers = {"headers": reached.headers} if reached.headers else {}
    return {"type": "remote", "url": reached.url, "oauth": False, **headers, **patience}


def _for_gemini(reached: Reached) -> Json:
    if isinstance(reached, Program):
        variables = {"env": reached.environment} if reached.environment else {}
        return {"command": reached.command, "args": [*reached.arguments], **variables}
    return {"httpUrl": reached.url} | ({"headers": reached.headers} if reached.headers else {})


def _for_qwen(reached: Reached) -> Json:
    return {**_for_gemini(reached), "alwaysLoadTools": True}


def _for_codex(name: str, reached: Reached) -> str:
    lines = [f"[mcp_servers.{_bare_or_quoted(name)}]"]
    if isinstance(reached, Program):
        lines += [f"command = {quoted(reached.command)}", f"args = {_list(reached.arguments)}"]
        lines += [f"env = {_table(reached.environment)}"] if reached.environment else []
    else:
        lines.append(f"url = {quoted(reached.url)}")
        lines += [f"http_headers = {_table(reached.headers)}"] if reached.headers else []
    # Unless a server is required, Codex begins without those that need more than an instant to start.
    patience = ["required = true", f"startup_timeout_sec = {PATIENCE // 10}", f"tool_timeout_sec = {PATIENCE}"]
    return "\n".join([*lines, *patience, ""])


def _for_goose(name: str, reached: Reached) -> str:
    variables: dict[str, str] = {}
    lines = ["extensions:", f"  {_bare_or_quoted(name)}:", "    enabled: true", f"    name: {quoted(name)}"]
    if isinstance(reached, Program):
        lines += ["    type: stdio", f"    cmd: {quoted(reached.command)}", f"    args: {_list(reached.arguments)}"]
        variables = reached.environment
    else:
        lines += ["    type: streamable_http", f"    uri: {quoted(reached.url)}"]
        lines += _mapping("headers", reached.headers) if reached.headers else []
    return "\n".join([*lines, *_mapping("envs", variables), f"    timeout: {PATIENCE}", ""])


def _mapping(key: str, pairs: dict[str, str]) -> list[str]:
    """A mapping of YAML, a line for each pair."""
    if not pairs:
        return [f"    {key}: {{}}"]
    return [f"    {key}:", *(f"      {quoted(name)}: {quoted(value)}" for name, value in pairs.items())]


def _table(pairs: dict[str, str]) -> str:
    """A table of TOML in one line."""
    return f"{{ {', '.join(f'{quoted(key)} = {quoted(value)}' for key, value in pairs.items())} }}"


def _list(values: tuple[str, ...]) -> str:
    return f"[{', '.join(map(quoted, values))}]"


def _bare_or_quoted(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name) else quoted(name)


def quoted(text: str) -> str:
    r"""A text in double quotes, as TOML and YAML both read it.

    >>> print(quoted('a "b" \\ c\x7f'))
    "a \"b\" \\ c\u007f"
    """
    return _escaped(json.dumps(text, ensure_ascii=False))


def _escaped(text: str) -> str:
    """JSON may hold these as they are; a terminal obeys some, TOML and YAML take some for the end of a line."""
    return re.sub(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", lambda found: f"\\u{ord(found[0]):04x}", text)


_VARIABLE: Final = r"\$\{"
CLIENTS: Final[dict[str, _Client]] = {
    "claude-code": _Client(
        "Claude Code",
        "save it as .mcp.json in the directory where you start claude, or start `claude --mcp-config FILE` with it",
        _in_json("mcpServers", _program_or_url),
        ".mcp.json",
        _VARIABLE,
    ),
    "codex": _Client("Codex", "append it to ~/.codex/config.toml", _for_codex),
    "opencode": _Client(
        "OpenCode",
        "save it as opencode.json in the directory where you start opencode, or merge it into that file or into "
        "~/.config/opencode/opencode.json",
        _in_json("mcp", _for_opencode, **{"$schema": "https://opencode.ai/config.json"}),
        "opencode.json",
        r"\{(?:env|file):",
    ),
    "gemini": _Client(
        "Gemini CLI",
        "merge it into .gemini/settings.json in the directory where you start gemini, or into ~/.gemini/settings.json",
        _in_json("mcpServers", _for_gemini),
        ".gemini/settings.json",
        r"\$\{|\$\w",
    ),
    "qwen": _Client(
        "Qwen Code",
        "merge it into .qwen/settings.json in the directory where you start qwen, or into ~/.qwen/settings.json",
        _in_json("mcpServers", _for_qwen),
        ".qwen/settings.json",
        r"\$\{|\$\w",
    ),
    "goose": _Client(
        "goose",
        "put the entry under the `extensions:` that ~/.config/goose/config.yaml has; without one, append it whole",
        _for_goose,
    ),
    "vscode": _Client(
        "VS Code",
        "save it as .vscode/mcp.json in the directory that you open, or merge it into that file",
        _in_json("servers", _program_or_url),
        ".vscode/mcp.json",
        _VARIABLE,
    ),
    "cursor": _Client(
        "Cursor",
        "save it as .cursor/mcp.json in the directory that you open, or merge it into that file or ~/.cursor/mcp.json",
        _in_json("mcpServers", _program_or_url),
        ".cursor/mcp.json",
        _VARIABLE,
    ),
}
"""Every client that there is a snippet for, by the name that `--print-config` takes."""
