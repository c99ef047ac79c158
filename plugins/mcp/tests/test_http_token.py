"""The token of a server at an address: who has none is told how to get one, and it is nowhere that others look."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import stat
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from plugins.mcp.tests.serving import Server, started
from plugins.mcp.tests.wire import SECONDS

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
MINE = "a-token-of-my-own-0123456789"


def snippet(command: list[str], environment: dict[str, str], *options: str) -> dict[str, str]:
    """What `--print-config` prints for Claude Code, with the options of the server."""
    done = subprocess.run(
        [*command, *options, "--print-config", "claude-code"],
        env=environment, capture_output=True, text=True, timeout=SECONDS, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)["mcpServers"]["wink"]


async def tools(url: str, **options: object) -> list[str]:
    """The names of the tools that the official client finds."""
    async with httpx2.AsyncClient(timeout=SECONDS, **options) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            return [tool.name for tool in (await client.list_tools()).tools]


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A file with a token, for its owner alone."""
    file = tmp_path / "token"
    file.touch(0o600)
    file.write_text(f"{MINE}\n")
    return file


@pytest.mark.parametrize(
    ("given", "challenge"),
    [
        (None, 'Bearer realm="wink"'),
        ("Bearer", 'Bearer realm="wink", error="invalid_token"'),
        ("Bearer wrong", 'Bearer realm="wink", error="invalid_token"'),
        ("Bearer {token}x", 'Bearer realm="wink", error="invalid_token"'),
        ("Basic {token}", 'Bearer realm="wink", error="invalid_token"'),
        ("{token}", 'Bearer realm="wink", error="invalid_token"'),
        ("Bearer \xff", 'Bearer realm="wink", error="invalid_token"'),
    ],
)
def test_a_request_without_the_token_is_told_how_to_get_in(server: Server, given: str | None, challenge: str) -> None:
    """Another user of the machine can reach the address as well."""
    headers = {} if given is None else {"authorization": given.format(token=server.token)}

    answer = server.answer("POST", "/mcp", PING, **headers)

    assert (answer.status, answer.headers["www-authenticate"]) == (401, challenge)
    assert b"--print-config" in answer.content


def test_no_method_and_no_path_does_without_it(server: Server) -> None:
    """And with it none of these is a matter of rights."""
    for method in ("GET", "POST", "DELETE", "PUT", "OPTIONS", "HEAD"):
        for path in ("/mcp", "/mcp/", "/mcp/default"):
            assert server.answer(method, path).status == 401
            assert server.request(method, path)[0] != 401


def test_the_official_client_needs_it(server: Server) -> None:
    """A real client, that knows nothing of wink."""
    with pytest.raises(BaseExceptionGroup):
        asyncio.run(tools(server.url))
    assert "read_file" in asyncio.run(tools(server.url, headers={"authorization": f"bearer {server.token}"}))


def test_what_is_printed_for_a_client_gets_it_in(
    server: Server, command: list[str], environment: dict[str, str]
) -> None:
    """Also after the server was started anew: the token is kept."""
    entry = snippet(command, environment, "--port", str(server.port))
    assert entry["url"] == server.url
    assert "read_file" in asyncio.run(tools(entry["url"], headers=entry["headers"]))
    server.end(15)
    with started([*command, "--port", "0"], environment) as again:
        assert "read_file" in asyncio.run(tools(again.url, headers=entry["headers"]))


def test_the_token_is_in_a_file_of_its_owner_and_nowhere_else(server: Server, environment: dict[str, str]) -> None:
    """Command lines, environments and logs are read by others."""
    kept = Path(os.environ["XDG_STATE_HOME"], "wink", "tokens")
    (file,) = (one for one in kept.iterdir() if one.read_text().strip() == server.token)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    process = Path(f"/proc/{server.process.pid}")
    if process.exists():
        assert server.token.encode() not in (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
    server.answer("POST", "/mcp", PING, authorization="Bearer wrong")
    server.end(15)
    assert server.process.stderr is not None
    assert server.token.encode() not in server.process.stderr.read()


def test_each_workspace_has_a_token_of_its_own(
    server: Server, command: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    """What was written into one project's files opens no other project."""
    (tmp_path / "other").mkdir()
    entry = snippet([*command, "--workspace", str(tmp_path / "other")], environment, "--port", "80")
    assert server.token not in entry["headers"]["Authorization"]


def test_a_file_can_give_the_token(command: list[str], environment: dict[str, str], mine: Path) -> None:
    """One that something else has made, such as a deployment."""
    options = ["--token-file", str(mine)]
    with started([*command, "--port", "0", *options], environment) as server:
        assert server.token == MINE
        assert server.request("POST", "/mcp", b"{")[0] == 400
    entry = snippet(command, environment, "--port", "80", *options)
    assert entry["headers"] == {"Authorization": f"Bearer {MINE}"}


def test_without_a_token_everybody_of_this_machine_may_come(command: list[str], environment: dict[str, str]) -> None:
    """Who asks for that is told what it means, and gets a snippet without a header."""
    with started([*command, "--port", "0", "--no-token"], environment) as server:
        assert "read_file" in asyncio.run(tools(server.url))
    assert "headers" not in snippet(command, environment, "--port", "80", "--no-token")


def write(path: Path, text: str, mode: int = 0o600) -> Path:
    """A file with this mode."""
    path.touch()
    path.chmod(mode)
    path.write_text(text)
    return path


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    """A directory with files that hold no token, or one that others can read."""
    made = tmp_path / "bad"
    made.mkdir()
    write(made / "open", MINE, 0o644)
    write(made / "short", "hunter2")
    write(made / "none", "")
    write(made / "odd", "a token with ${SPACES} in it")
    write(made / "key", "no key")
    write(made / "fine", MINE)
    return made


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--port", "0", "--token-file", "open"], "chmod 600"),
        (["--port", "0", "--token-file", "short"], "fewer than 16 characters"),
        (["--port", "0", "--token-file", "none"], "fewer than 16 characters"),
        (["--port", "0", "--token-file", "odd"], "other characters"),
        (["--port", "0", "--token-file", "nowhere"], "cannot read the token's file"),
        (["--port", "0", "--token-file", "fine", "--no-token"], "not both"),
        (["--token-file", "fine"], "give it with --http or --port"),
        (["--no-token"], "give it with --http or --port"),
        (["--http", "0.0.0.0:0"], "--tls-cert and --tls-key, or --behind-proxy"),
        (["--http", "192.0.2.1:0", "--allow-host", "a.example"], "--tls-cert and --tls-key, or --behind-proxy"),
        (["--http", "[::]:0"], "--tls-cert and --tls-key, or --behind-proxy"),
        (["--http", "0.0.0.0:0", "--no-token"], "leave --no-token away"),
        (["--http", "0.0.0.0:0", "--no-token", "--behind-proxy", "--allow-host", "a.example"], "leave --no-token away"),
        (["--port", "0", "--no-token", "--allow-host", "a.example"], "leave --no-token away"),
        (["--http", "0.0.0.0:0", "--behind-proxy"], "--allow-host"),
        (["--port", "0", "--behind-proxy"], "--allow-host"),
        (["--port", "0", "--allow-host", "https://a.example/"], "is no host's name"),
        (["--port", "0", "--allow-host", "a.example:80"], "is no host's name"),
        (["--port", "0", "--tls-key", "key"], "give that with --tls-cert"),
        (["--port", "0", "--tls-cert", "key"], "no certificate and key"),
        (["--port", "0", "--tls-cert", "nowhere", "--tls-key", "key"], "No such file"),
    ],
)
def test_what_would_not_be_safe_is_one_line(
    command: list[str], environment: dict[str, str], bad: Path, options: list[str], told: str
) -> None:
    """Before anything is opened; nothing of a file that holds no token is shown."""
    done = subprocess.run(
        [*command, *options], cwd=bad, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("wink: ")
    assert done.stderr.count("\n") == 1
    assert told in done.stderr
    assert "hunter2" not in done.stderr


def test_a_proxy_passes_requests_on_under_its_own_name(command: list[str], environment: dict[str, str]) -> None:
    """And under no other; the page of that name may ask too."""
    options = ["--port", "0", "--behind-proxy", "--allow-host", "wink.example"]
    run = subprocess.Popen([*command, *options], env=environment, stderr=subprocess.PIPE, text=True)
    try:
        assert run.stderr is not None
        said = [run.stderr.readline() for _ in range(3)]
        assert said[0] == "wink: serving at https://wink.example/mcp\n"
        token = Path(said[2].partition(" in ")[2].partition(";")[0]).read_text().strip()
        server = Server(run, f"http://{said[1].split()[-1]}/mcp", token)  # type: ignore[arg-type]
        accepted = {"host": "wink.example", "origin": "https://wink.example"}
        assert server.request("POST", "/mcp", b"{", **accepted)[0] == 400
        assert server.answer("POST", "/mcp", b"{", **accepted).status == 401
        assert server.request("POST", "/mcp", b"{", host="evil.example")[0] == 421
        assert server.request("POST", "/mcp", b"{", origin="https://evil.example")[0] == 403
    finally:
        run.kill()
        run.communicate()
    entry = snippet(command, environment, "--http", "0.0.0.0:80", *options[2:])
    assert entry["url"] == "https://wink.example/mcp"
    assert entry["headers"] == {"Authorization": f"Bearer {token}"}


def test_https_with_a_certificate(command: list[str], environment: dict[str, str], tmp_path: Path) -> None:
    """Where others can reach it: the official client checks who answers, and shows the token only then."""
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    make += ["-addext", "subjectAltName=DNS:localhost", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(make, cwd=tmp_path, check=True, capture_output=True, timeout=SECONDS)
    tls = ["--tls-cert", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "key.pem")]
    with started([*command, "--http", "0.0.0.0:0", "--allow-host", "localhost", *tls], environment) as server:
        assert server.url.startswith("https://localhost:")
        trusting = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        found = asyncio.run(tools(server.url, verify=trusting, headers={"authorization": f"Bearer {server.token}"}))
        assert "read_file" in found
        plain = server.url.replace("https:", "http:")
        with pytest.raises(httpx2.HTTPError):
            httpx2.get(plain, timeout=SECONDS)


def test_the_command_line_that_serves_nothing_over_http_loads_no_server() -> None:
    """A command that prints a snippet needs neither uvicorn nor the SDK's server."""
    program = "import sys, wink_mcp.commands._http_options; print([n for n in ('uvicorn', 'h11', 'ssl', 'mcp') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=SECONDS, check=True)
    assert done.stdout == "[]\n"
