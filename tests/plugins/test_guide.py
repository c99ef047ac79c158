"""The commands that the page about choosing plugins shows print what it says."""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from wink.cli import run
from wink.testing import fake_distribution

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "choose-plugins.md").read_text()
CONSOLE: list[tuple[str, str]] = re.findall(r"```console\n\$ (.*?)\n(.*?)```", PAGE, re.DOTALL)
SETTINGS: list[str] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
NOTES = """
from dataclasses import dataclass, field
from wink.plugins import hookimpl
from wink.policies import SequentialDependencyPolicy
from wink.prompt import ToolsSection
from wink.tools import Tool, ToolResult

@dataclass(frozen=True)
class NotesSettings:
    longest: int = field(default=500, metadata={"tighten": "lower"})

@hookimpl
def wink_settings():
    return NotesSettings

def add(params: None, *, context) -> ToolResult[None]:
    return ToolResult.ok(None)

def notebook_section(*, settings):
    '''Let the agent keep notes between steps.'''
    return ToolsSection("Notebook", [Tool[None, None]("notes_add", "Add a note.", add)])

def read_only_policy():
    '''Let nobody change notes.'''
    return SequentialDependencyPolicy({"notes_add": ["never"]}, name="read-only")
"""


@pytest.fixture
def wink(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[[str], tuple[int, str]]]:
    """Run a line of the page where its plugins are installed."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "WINK_PLUGINS", "WINK_DISABLE_PLUGINS"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    notes = {
        "wink.sections": {"notes.notebook": "wink_notes_of_the_page:notebook_section"},
        "wink.policies": {"notes.read-only": "wink_notes_of_the_page:read_only_policy"},
        "wink.hooks": {"notes": "wink_notes_of_the_page"},
    }
    deploy = {"wink.sections": {"acme-deploy.steps": "acme_deploy:steps"}}
    with ExitStack() as stack:
        stack.enter_context(
            fake_distribution(
                "wink-notes",
                "1.2.0",
                entry_points=notes,
                modules={"wink_notes_of_the_page": NOTES},
                summary="Keeps notes",
                directory=tmp_path / "notes",
            )
        )
        sdk = {"acme_deploy": "import no_such_sdk"}
        stack.enter_context(
            fake_distribution("acme-deploy", "0.9.0", entry_points=deploy, modules=sdk, directory=tmp_path / "acme")
        )

        def call(line: str) -> tuple[int, str]:
            words = shlex.split(line)
            while "=" in words[0]:
                name, _, value = words.pop(0).partition("=")
                monkeypatch.setenv(name, value)
            assert words.pop(0) == "wink"
            return run(words), capsys.readouterr().out

        yield call


@pytest.mark.parametrize(("command", "shown"), CONSOLE, ids=[command for command, _ in CONSOLE])
def test_the_output_is_what_is_printed(wink: Callable[[str], tuple[int, str]], command: str, shown: str) -> None:
    """Line for line; what is not the page's business stands as an ellipsis."""
    if " why " in command:
        Path("pyproject.toml").write_text(SETTINGS[0])
    status, printed = wink(command)
    lines = (
        "(?:.*\n)*" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + "\n" for line in shown.splitlines()
    )

    assert re.fullmatch("".join(lines), printed), printed
    assert status == (1 if command.endswith("check") else 0)


def test_the_settings_are_valid() -> None:
    """Somebody will copy them."""
    assert [list(tomllib.loads(text)) for text in SETTINGS] == [["tool"], ["plugins"]]


def test_every_key_is_on_the_page(wink: Callable[[str], tuple[int, str]]) -> None:
    """The keys are promised to stay, so they are told."""
    import json

    listing = json.loads(wink("wink plugins --json")[1])

    for key in (*listing, *listing["plugins"][0], *listing["plugins"][0]["offers"][0]):
        assert f"`{key}`" in PAGE
    assert os.getcwd().endswith("work")
