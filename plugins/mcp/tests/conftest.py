"""A workspace, a plugin whose tools misbehave, and `wink serve` as a real process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from plugins.mcp.tests.serving import Server, started

from wink.testing import fake_distribution

ODD = Path(__file__).parent / "odd.py"
"""The plugin's source; what its tools do is written there."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The directory that is served."""
    directory = tmp_path / "place"
    directory.mkdir()
    (directory / "a.txt").write_text("one\ntwo\n")
    return directory


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of a server that finds the plugin `odd.odd`, and no settings of a user."""
    sections = {f"odd.{name}": f"odd:{name}" for name in ("dying", "folded", "long")}
    points = {"wink.sections": {"odd.odd": "odd:section", **sections}, "wink.policies": {"odd.asks": "odd:asks"}}
    modules = {"odd": ODD.read_text()}
    with fake_distribution("odd", entry_points=points, modules=modules, directory=tmp_path / "odd") as odd:
        path = [str(odd.path), *filter(None, [os.environ.get("PYTHONPATH")])]
    kept = {key: value for key, value in os.environ.items() if not key.startswith("WINK_")}
    own = {"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": "", "ODD_FLAG": str(tmp_path / "flag")}
    return {**kept, "PYTHONPATH": os.pathsep.join(path), **own}


@pytest.fixture
def command(place: Path) -> list[str]:
    """`wink serve` over the place, with the plugin."""
    return [sys.executable, "-m", "wink", "serve", "--workspace", str(place), "--section", "odd.odd"]


@pytest.fixture
def said(tmp_path: Path) -> Iterator[TextIO]:
    """What servers write on standard error."""
    with (tmp_path / "stderr").open("a+") as file:
        yield file


@pytest.fixture
def client(command: list[str], environment: dict[str, str], said: TextIO) -> Callable[..., Client]:
    """The official client, connected to a server of its own."""

    def connect(mode: str = "auto", *options: str, **more: Any) -> Client:
        program, *arguments = command
        parameters = StdioServerParameters(command=program, args=[*arguments, *options], env=environment)
        return Client(stdio_client(parameters, errlog=said), mode=mode, **more)

    return connect


@pytest.fixture
def server(command: list[str], environment: dict[str, str]) -> Iterator[Server]:
    """The same over HTTP."""
    with started([*command, "--port", "0"], environment) as running:
        yield running
