"""Help is for those who have not installed everything yet."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXTRAS = {
    "serve": ["mcp", "mcp_types", "starlette", "uvicorn"],
    "ui": ["starlette", "uvicorn", "jinja2", "pygments"],
    "batch": ["ray", "pyarrow"],
    "run": ["openai", "anthropic"],
}


def wink(missing: list[str], *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    code = f"import sys; sys.modules.update(dict.fromkeys({missing!r})); from wink.cli import main; main(sys.argv[1:])"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ},
    )


@pytest.mark.parametrize("command", EXTRAS)
def test_help_needs_no_extra(command: str, tmp_path: Path) -> None:
    """It tells what a command is for, and so what to install it for."""
    done = wink(EXTRAS[command], command, "--help", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Usage: ")


def test_serve_says_what_to_install(tmp_path: Path) -> None:
    """In one line, when it is to serve."""
    done = wink(EXTRAS["serve"], "serve", cwd=tmp_path)
    assert done.returncode != 0
    assert done.stderr == "wink: MCP needs the package 'mcp>=2.3'; install wink[mcp]\n"
