"""A workspace, a home, and wink as a process of its own: a program that is tried gets real streams."""

from __future__ import annotations

import http.server
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.states import paths_of

Wink = Callable[..., "subprocess.CompletedProcess[str]"]
GIT = {
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "init.defaultBranch",
    "GIT_CONFIG_VALUE_0": "main",
    "GIT_CONFIG_KEY_1": "protocol.file.allow",
    "GIT_CONFIG_VALUE_1": "always",
}
"""Of somebody who commits, also to submodules."""


@pytest.fixture(autouse=True, scope="session")
def sandbox_is_there() -> None:
    """A test that is skipped proves nothing."""
    assert shutil.which("bwrap"), "these tests run bubblewrap; install it: apt-get install bubblewrap"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A small project."""
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "a.txt").write_text("one\n")
    (root / "src/b.txt").write_text("b\n")
    (root / "run.sh").write_text("echo hi\n")
    (tmp_path / "home").mkdir()
    (tmp_path / "home/.profile").write_text("mine\n")
    return root


@pytest.fixture
def environment(place: Path) -> dict[str, str]:
    """The environment of a person without settings."""
    own = {"XDG_STATE_HOME": os.environ["XDG_STATE_HOME"]}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WINK_", "XDG_"))}
    return {**kept, "HOME": str(place.parent / "home"), "PYTHONWARNINGS": "error", **own}


@pytest.fixture
def wink(place: Path, environment: dict[str, str]) -> Wink:
    """Run a command in the project; what is hidden in the home that this machine's user really has is left out of what it says."""

    def call(*arguments: str, cwd: Path | None = None, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "wink", *arguments],
            cwd=cwd or place,
            env=environment,
            input=stdin or "",
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        done.stderr = re.sub(r"(?m)^wink: also hidden: /(?!.*~).*\n", "", done.stderr)
        return done

    return call


def tree(root: Path) -> dict[str, str]:
    """Every file of a project with its mode and content, and every directory; wink's own state left out."""
    found: dict[str, str] = {}
    for path in paths_of(root):
        name = str(path.relative_to(root))
        mode = f"{path.lstat().st_mode:o}"
        found[name] = f"{mode} {os.readlink(path) if path.is_symlink() else path.read_text() if path.is_file() else ''}"
    return found


class _Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"served\n")

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    """Of a server on loopback."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()
