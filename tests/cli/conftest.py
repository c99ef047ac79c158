"""A workspace of its own for each test, and wink in this process."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from wink.cli._main import run
from wink.testing import fake_distribution


@dataclass(frozen=True)
class Done:
    """How a command ended and what it wrote."""

    status: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The output of `--json`, line by line."""
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with one file, which is the current one; no settings of the user have a say."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "WINK_PLUGINS", "WINK_DISABLE_PLUGINS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    directory = tmp_path / "place"
    directory.mkdir()
    (directory / "a.txt").write_text("one\ntwo\n")
    monkeypatch.chdir(directory)
    return directory


@pytest.fixture
def cli(place: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Run wink in this process."""

    def call(*arguments: str) -> Done:
        status = run(arguments)
        return Done(status, *capsys.readouterr())

    return call


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], str]:
    """Write a script; its path."""

    def write(text: str) -> str:
        path = tmp_path / "turns.toml"
        path.write_text(text)
        return str(path)

    return write


@pytest.fixture
def section_of(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """Install a plugin `odd.odd` with this source for processes; the environment in which they find it."""

    def install(source: str) -> dict[str, str]:
        points = {"wink.sections": {"odd.odd": "odd:section"}}
        with fake_distribution("odd", entry_points=points, modules={"odd": source}, directory=tmp_path / "odd") as odd:
            path = [str(odd.path), *filter(None, [os.environ.get("PYTHONPATH")])]
        return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}

    return install


@pytest.fixture
def process() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command as a process of its own, with these variables besides those of the tests; None takes one away."""

    def process(command: list[str], cwd: Path, more: Mapping[str, str | None]) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in {**os.environ, **more}.items() if value is not None}
        return subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=60
        )

    return process
