"""A `wink serve --http` of its own for a test, ended as a person would end it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

WINK = os.path.join(os.path.dirname(sys.executable), "wink")


@contextmanager
def served(workspace: Path, *options: str, environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """The URL of a server on a free port; it has to end by itself when it is asked to, and without a traceback."""
    command = [WINK, "serve", *options, "--http", "127.0.0.1:0"]
    env = {**os.environ, **(environment or {})}
    with subprocess.Popen(command, cwd=workspace, env=env, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        said = server.stderr.readline()
        try:
            assert "serving at http://" in said, said + server.stderr.read()
            yield said.split()[-1]
        finally:
            server.terminate()
            _, rest = server.communicate(timeout=10)
        assert "Traceback" not in rest, rest
