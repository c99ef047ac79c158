"""The snippets for clients: whatever the paths and options are, each format gives back exactly them."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from wink_mcp import ClientSettingRefused
from wink_mcp.clients import CLIENTS, Endpoint, Program, client_config

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0${"), max_size=30)
TABLES = st.dictionaries(TEXTS, TEXTS, max_size=2)
PROGRAMS = st.builds(Program, TEXTS, st.lists(TEXTS, max_size=4).map(tuple), TABLES)
ENDPOINTS = st.builds(Endpoint, TEXTS, TABLES)
AWKWARD = Program(
    "/home/Ada L\u00f6v \U0001f600/bin/wink", ("serve", "--workspace", 'C:\\new "it"\n\t#\x7f\x85\u2028 it\'s', "")
)


def entry(client: str, text: str) -> dict[str, Any]:
    """The server's entry, read as the client reads it."""
    if client == "codex":
        return tomllib.loads(text)["mcp_servers"]["wink"]
    if client == "goose":
        return yaml.safe_load(text)["extensions"]["wink"]
    key = {"opencode": "mcp", "vscode": "servers"}.get(client, "mcpServers")
    return json.loads(text)[key]["wink"]


def command_line(found: dict[str, Any]) -> tuple[str, ...]:
    """The program and its arguments, in any client's words."""
    if isinstance(found.get("command"), list):
        return tuple(found["command"])
    return (found.get("command", found.get("cmd")), *found["args"])


def variables(found: dict[str, Any]) -> dict[str, str]:
    """What the server's environment has besides, in any client's words."""
    return next((found[key] for key in ("env", "environment", "envs") if key in found), {})


@pytest.mark.parametrize("client", CLIENTS)
@given(program=PROGRAMS)
def test_a_program_is_read_back_as_it_was_given(client: str, program: Program) -> None:
    """A space, a quote, a line break or a character of another plane in a path must not change what is started."""
    found = entry(client, client_config(client, program).text)
    assert command_line(found) == (program.command, *program.arguments)
    assert variables(found) == program.environment


@pytest.mark.parametrize("client", CLIENTS)
@given(endpoint=ENDPOINTS)
def test_an_endpoint_is_read_back_as_it_was_given(client: str, endpoint: Endpoint) -> None:
    """The same for a server that runs already, with its headers."""
    found = entry(client, client_config(client, endpoint).text)
    assert next(found[key] for key in ("url", "httpUrl", "uri") if key in found) == endpoint.url
    assert found.get("headers", found.get("http_headers", {})) == endpoint.headers


@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_awkward_in_some_format_survives(client: str) -> None:
    """The property again, for the characters that TOML, YAML and JSON treat differently."""
    found = entry(client, client_config(client, AWKWARD).text)
    assert command_line(found) == (AWKWARD.command, *AWKWARD.arguments)


@pytest.mark.parametrize("client", ["codex", "goose"])
def test_a_name_that_is_no_bare_key_is_quoted(client: str) -> None:
    """TOML reads a dot in a bare key as a table inside a table."""
    text = client_config(client, Program("wink"), name="my.wink").text
    parsed = tomllib.loads(text)["mcp_servers"] if client == "codex" else yaml.safe_load(text)["extensions"]
    assert list(parsed) == ["my.wink"]


@pytest.mark.parametrize(
    ("client", "path"),
    [
        ("claude-code", "/a/${HOME}/b"),
        ("gemini", "/a/$HOME/b"),
        ("qwen", "/a/$HOME/b"),
        ("opencode", "/a/{env:HOME}/b"),
        ("vscode", "/a/${workspaceFolder}"),
        ("cursor", "/a/${userHome}"),
        ("codex", "/a/\udcff"),
    ],
)
def test_a_path_that_the_client_would_change_is_refused(client: str, path: str) -> None:
    """A snippet that starts the server somewhere else than asked is worse than none."""
    with pytest.raises(ClientSettingRefused, match="use another path"):
        client_config(client, Program("/bin/wink", ("serve", "--workspace", path)))


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_is_told_where_the_snippet_belongs(client: str) -> None:
    """It goes to standard error, so that standard output holds nothing but the snippet."""
    assert any(word in client_config(client, Program("wink")).place for word in ("save", "merge", "append", "put"))
