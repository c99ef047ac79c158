"""A `wink ui` of its own for a test, ended as a person would end it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WINK = (sys.executable, "-W", "error", "-m", "wink")


@contextmanager
def served(*places: Path) -> Iterator[str]:
    """The address that it prints, for one workspace or several; it has to end at once, without a traceback."""
    option = ["--workspace"] if len(places) == 1 else []
    command = [*WINK, "ui", "--no-open", *option, *map(os.fspath, places)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        url = server.stdout.readline().strip()
        try:
            assert url.startswith("http://127.0.0.1:"), url + server.stderr.read()
            yield url
        finally:
            server.send_signal(signal.SIGINT)
            _, said = server.communicate(timeout=30)
        assert "Traceback" not in said, said
        assert server.returncode == 130, said
