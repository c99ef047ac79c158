"""The pages for clients show what the command prints today."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wink_mcp.clients import CLIENTS, Endpoint, Program, client_config

PAGES = Path(__file__).parents[3] / "docs/guide/serve"
SHOWN = Program("/home/ada/.local/bin/wink", ("serve", "--workspace", "/home/ada/project"))


@pytest.mark.parametrize("client", CLIENTS)
def test_a_page_shows_the_snippet_that_is_printed(client: str) -> None:
    """Somebody who copies it from the page gets what the command gives, but for the paths."""
    text = (PAGES / f"{client}.md").read_text()
    assert client_config(client, SHOWN).text in re.findall(r"^```\w+\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert f"--print-config {client}" in text


def test_the_overview_shows_what_is_printed_for_a_server_at_an_address() -> None:
    """The one example with a URL; the other clients' differ from their pages in nothing else."""
    shown = client_config("codex", Endpoint("http://127.0.0.1:8765/mcp", {"Authorization": "Bearer mVx…"}))
    assert f"{shown.text}wink: {shown.place}\n" in (PAGES / "index.md").read_text()


@pytest.mark.parametrize("client", CLIENTS)
def test_a_page_shows_how_the_client_shows_a_token(client: str) -> None:
    """To a server that runs already, with the header in the client's own words."""
    lines = client_config(client, Endpoint("http://127.0.0.1:8765/mcp", {"Authorization": "Bearer mVx…"})).text
    assert lines in re.findall(r"^```\w+\n(.*?)^```$", (PAGES / f"{client}.md").read_text(), re.MULTILINE | re.DOTALL)


def test_there_is_a_page_for_each_client_and_the_overview_leads_to_it() -> None:
    """A page that nothing leads to is not read."""
    overview = (PAGES / "index.md").read_text()
    assert {page.stem for page in PAGES.glob("*.md")} == {*CLIENTS, "index"}
    assert all(f"]({client}.md)" in overview for client in CLIENTS)


@pytest.mark.parametrize("client", ["claude-code", "codex", "opencode", "gemini", "qwen"])
def test_a_page_names_the_version_that_the_tests_run(client: str) -> None:
    """What is said of a client was seen with that version."""
    from tests.agents.npm import PACKAGES

    version = PACKAGES[client][0].rpartition("@")[2]
    assert f"(seen with {version})" in (PAGES / f"{client}.md").read_text()
